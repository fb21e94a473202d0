// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/linux/clock_identity.hpp"

#include <gtest/gtest.h>

namespace tracesmith {
namespace {

constexpr const char* kBoot = "7c1f0c9e-58a4-4b1e-9d7a-0123456789ab";

TEST(ClockIdentity, IsTheBootAndTheShiftOfTheNamespace) {
  const ClockIdentity plain = clockIdentity(kBoot, "");
  EXPECT_EQ(plain.text(), "7c1f0c9e-58a4-4b1e-9d7a-0123456789ab");
  const ClockIdentity same =
      clockIdentity(kBoot, "monotonic           0         0\nboottime      7  5\n");
  EXPECT_EQ(same, plain);
  const ClockIdentity ahead =
      clockIdentity(kBoot, "monotonic        5000         7\nboottime      5000         0\n");
  EXPECT_EQ(ahead.text(), plain.text() + "+5000.000000007 s");
  EXPECT_NE(ahead, plain);
  // As the kernel has it: the nanoseconds are never negative.
  EXPECT_EQ(clockIdentity(kBoot, "monotonic -3 999999999\n").text(),
            plain.text() + "-2.000000001 s");
}

TEST(ClockIdentity, IsUnknownWithoutABootId) {
  for (const char* text : {"", "7c1f", "zz1f0c9e-58a4-4b1e-9d7a-0123456789ab",
                           "7c1f0c9e-58a4-4b1e-9d7a-0123456789abcd"}) {
    EXPECT_FALSE(clockIdentity(text, "").isKnown()) << text;
    EXPECT_EQ(clockIdentity(text, "monotonic 1 0\n").text(), "");
  }
  EXPECT_TRUE(ownClock().isKnown());
}

}  // namespace
}  // namespace tracesmith
