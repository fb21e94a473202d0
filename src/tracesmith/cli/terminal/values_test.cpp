// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/terminal/values.hpp"

#include <gtest/gtest.h>

namespace tracesmith::cli {
namespace {

TEST(ParseTime, ReadsEveryUnit) {
  const struct {
    const char* text;
    int64_t ns;
  } cases[] = {{"1.2s", 1'200'000'000},  {"300ms", 300'000'000},
               {"5us", 5'000},           {"5\u00b5s", 5'000},
               {"5\u03bcs", 5'000},      {"100ns", 100},
               {"2", 2'000'000'000},     {"0", 0},
               {".5s", 500'000'000},     {"2m", 120'000'000'000},
               {"1h", 3'600'000'000'000}};
  for (const auto& c : cases) {
    const Result<int64_t> ns = parseTimeNs(c.text);
    ASSERT_TRUE(ns) << c.text;
    EXPECT_EQ(*ns, c.ns) << c.text;
  }
}

TEST(ParseTime, RefusesWhatIsNoTimeAndNamesIt) {
  for (const char* text : {"", "s", "-1s", "1 s", "1.2.3s", "nan", "inf", "1e3s", "5parsecs",
                           "0x10", "99999999999999999999999999999h", "1s "}) {
    const Result<int64_t> ns = parseTimeNs(text);
    ASSERT_FALSE(ns) << text;
    EXPECT_EQ(ns.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(ns.error().message.find(text), std::string::npos);
  }
}

TEST(ParseSize, ReadsPowersOf1024) {
  EXPECT_EQ(parseSizeBytes("65536").value(), 65536u);
  EXPECT_EQ(parseSizeBytes("64K").value(), 65536u);
  EXPECT_EQ(parseSizeBytes("4M").value(), 4u << 20);
  EXPECT_EQ(parseSizeBytes("4MiB").value(), 4u << 20);
  EXPECT_EQ(parseSizeBytes("4mb").value(), 4u << 20);
  EXPECT_EQ(parseSizeBytes("1.5g").value(), 3ull << 29);
}

TEST(ParseSize, RefusesWhatIsNoSize) {
  for (const char* text : {"", "M", "-4M", "4X", "4 M", "1e6", "99999999999999999G"}) {
    EXPECT_FALSE(parseSizeBytes(text)) << text;
  }
}

TEST(ParseCount, TakesDigitsOnlyUpToTheLimit) {
  EXPECT_EQ(parseCount("0").value(), 0u);
  EXPECT_EQ(parseCount("18446744073709551615").value(), UINT64_MAX);
  for (const char* text : {"", "-1", "+1", "abc", "1.5", "12x", " 1", "18446744073709551616"}) {
    EXPECT_FALSE(parseCount(text)) << text;
  }
  EXPECT_FALSE(parseCount("11", 10));
  EXPECT_TRUE(parseCount("10", 10));
}

TEST(JoinChoices, ReadsLikeASentence) {
  EXPECT_EQ(joinChoices({"text"}), "text");
  EXPECT_EQ(joinChoices({"text", "json"}), "text or json");
  EXPECT_EQ(joinChoices({"text", "json", "csv"}), "text, json or csv");
}

}  // namespace
}  // namespace tracesmith::cli
