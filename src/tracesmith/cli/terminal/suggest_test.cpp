// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/terminal/suggest.hpp"

#include <gtest/gtest.h>

namespace tracesmith::cli {
namespace {

TEST(EditDistance, CountsTheFourKindsOfSlipAsOne) {
  EXPECT_EQ(editDistance("export", "export"), 0u);
  EXPECT_EQ(editDistance("exprt", "export"), 1u);
  EXPECT_EQ(editDistance("exxport", "export"), 1u);
  EXPECT_EQ(editDistance("exqort", "export"), 1u);
  EXPECT_EQ(editDistance("exprot", "export"), 1u);
  EXPECT_EQ(editDistance("", "abc"), 3u);
  EXPECT_EQ(editDistance("abc", ""), 3u);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
}

TEST(Closest, FindsTheWordThatWasMeantAndOnlyThat) {
  const std::vector<std::string> commands = {"profile", "record", "view", "info", "export"};
  EXPECT_EQ(closest("proflie", commands), "profile");
  EXPECT_EQ(closest("viwe", commands), "view");
  EXPECT_EQ(closest("exp", commands), "export");
  EXPECT_EQ(closest("xyzzy", commands), "");
  EXPECT_EQ(closest("", commands), "");
  EXPECT_EQ(closest(std::string(5000, 'v'), commands), "");
}

TEST(Closest, DoesNotOfferAnUnrelatedShortWord) { EXPECT_EQ(closest("z", {"n", "o"}), ""); }

}  // namespace
}  // namespace tracesmith::cli
