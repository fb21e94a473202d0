// SPDX-License-Identifier: Apache-2.0
// Adapters without a clock, and clocks of this host in place of an adapter's: tests run where no
// adapter has one.
#include "tracesmith/capture/clocks/hardware_clock.hpp"

#include <errno.h>
#include <gmock/gmock.h>

#include "tracesmith/capture/clocks/clock_reading.hpp"

namespace tracesmith {
namespace {

using ::testing::HasSubstr;

TEST(ClockReading, BoundHoldsForAnyClock) {
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_TAI, CLOCK_BOOTTIME, CLOCK_MONOTONIC}) {
    const int64_t from = monotonicNs();
    const int64_t earliest = clockNs(clock) - monotonicNs();
    const auto offset = readClockOffset(clock, 16);
    const int64_t to = monotonicNs();
    ASSERT_TRUE(offset);
    EXPECT_LE(offset->low, offset->high);
    EXPECT_GE(offset->at, from);
    EXPECT_LE(offset->at, to);
    EXPECT_LT(offset->halfWidth(), 10'000'000);
    EXPECT_LE(earliest, offset->high);
  }
  const auto own = readClockOffset(CLOCK_MONOTONIC, 16);
  EXPECT_LE(own->low, 0);
  EXPECT_GE(own->high, 0);
}

TEST(ClockReading, ClockThatCannotBeRead) {
  errno = 0;
  EXPECT_FALSE(readClockOffset(9999, 16));
  EXPECT_EQ(errno, EINVAL);
}

TEST(HardwareClock, AdaptersWithoutOneSayWhatIsMissing) {
  for (const std::string name :
       {"", "tracesmith-none", "a-name-that-is-too-long-for-one", "../net/lo", "."}) {
    const auto offset = askHardwareClock(name);
    ASSERT_FALSE(offset);
    EXPECT_EQ(offset.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(offset.error().toString(), HasSubstr("'" + name + "': there is no such network"));
  }
  const auto loopback = askHardwareClock("lo");
  ASSERT_FALSE(loopback);
  EXPECT_EQ(loopback.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(loopback.error().toString(), HasSubstr("lo: has no hardware clock"));
}

TEST(HardwareClock, DevicesThatAreNone) {
  const auto missing = readHardwareClock("/dev/ptp-tracesmith-none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("--device /dev/ptp-tracesmith-none"));
  const auto other = readHardwareClock("/dev/null");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(other.error().toString(), HasSubstr("/dev/null: is no clock that can be read"));
}

}  // namespace
}  // namespace tracesmith
