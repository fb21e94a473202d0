// SPDX-License-Identifier: Apache-2.0
// Answers that chronyd 4.3 and ntpd (NTPsec 1.2.2) gave, and damaged ones. tests/cli/clock_test.py
// asks a running chronyd.
#include "tracesmith/capture/clocks/time_daemon.hpp"

#include <gmock/gmock.h>

#include <random>
#include <string>

namespace tracesmith {
namespace {

using ::testing::HasSubstr;

std::string bytesOf(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

/// chronyd 4.3 that follows 127.0.0.1; chronyc printed at the same moment: stratum 2, 2.424 µs fast
/// of NTP time, root delay 5.702 µs, root dispersion 8.216 µs (8.084 µs when this was asked).
constexpr uint32_t kChronyNumber = 0xd460e79d;
std::string chronyBytes() {
  return bytesOf(
             "06020000002100050000000000000000d460e79d0000000000000000"
             "7f0000017f0000010000000000000000000000000001000000020000"
             "000000006b0b41d306f19f14") +
         std::string(36, '\0');
}
void putFloat(std::string& bytes, size_t at, int exponent, int coefficient) {
  const uint32_t word = static_cast<uint32_t>(exponent & 0x7f) << 25 |
                        (static_cast<uint32_t>(coefficient) & 0x1ffffff);
  for (int i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(word >> (24 - 8 * i) & 0xff);
}

TEST(TimeDaemon, AnswerOfChrony) {
  std::string bytes = chronyBytes();
  putFloat(bytes, 68, 7, -(1 << 16));  // -2^-2 s: ahead of UTC
  putFloat(bytes, 92, 10, 1 << 10);    // 2^-5 s
  putFloat(bytes, 96, 9, 1 << 10);     // 2^-6 s
  const auto time = chronyAnswer(bytes, kChronyNumber);
  ASSERT_TRUE(time) << time.error().toString();
  EXPECT_EQ(time->daemon, "chrony");
  EXPECT_EQ(time->source, "127.0.0.1");
  EXPECT_EQ(time->stratum, 2u);
  EXPECT_EQ(time->behind_utc, -250'000'000);
  EXPECT_EQ(time->root_delay, 31'250'000);
  EXPECT_EQ(time->dispersion, 15'625'000);
  EXPECT_EQ(time->error, 31'250'001);
}

TEST(TimeDaemon, ChronyWithoutTime) {
  const auto refused = [](std::string bytes) {
    const auto time = chronyAnswer(bytes, kChronyNumber);
    EXPECT_FALSE(time);
    return time ? ErrorCode::kInternal : time.error().code;
  };
  std::string bytes = chronyBytes();
  bytes[55] = 3;
  EXPECT_EQ(refused(bytes), ErrorCode::kUnsupported) << "leap status";
  bytes = chronyBytes();
  bytes.replace(28, 4, "\x7f\x7f\x01\x01");
  EXPECT_EQ(refused(bytes), ErrorCode::kUnsupported) << "its own clock, by 'local'";
  bytes = chronyBytes();
  bytes[9] = 2;
  EXPECT_EQ(refused(bytes.substr(0, 28)), ErrorCode::kUnsupported) << "not authorised";
  EXPECT_EQ(refused(chronyBytes().substr(0, 103)), ErrorCode::kDamaged);
  bytes = chronyBytes();
  putFloat(bytes, 96, 9, -(1 << 10));
  EXPECT_EQ(refused(bytes), ErrorCode::kDamaged) << "less than no dispersion";
  putFloat(bytes, 96, 63, 1 << 20);
  EXPECT_EQ(refused(bytes), ErrorCode::kDamaged) << "for millions of years";
  EXPECT_FALSE(chronyAnswer(chronyBytes(), kChronyNumber + 1)) << "of another question";
}

constexpr uint16_t kNtpNumber = 77;
/// ntpd follows 10.9.8.7 but may not set the clock: then its `leap` says that it has no time.
std::string ntpdBytes(const std::string& leap, const std::string& offset) {
  const std::string text = "leap=" + leap +
                           ", stratum=2, rootdelay=0.120, rootdisp=62.687, refid=10.9.8.7,\r\n"
                           "reftime=0xeeb5cbde.a6ad3044, offset=" +
                           offset + "\r\n";
  std::string bytes = bytesOf("d682004dc016000000000000");
  bytes[11] = static_cast<char>(text.size());
  return bytes + text;
}
// 0xeeb5cbde s after 1900.
constexpr int64_t kUpdated = (int64_t{0xeeb5cbde} - 2'208'988'800) * 1'000'000'000;

TEST(TimeDaemon, AnswerOfNtpd) {
  const auto time = ntpdAnswer(ntpdBytes("0", "-1.500000"), kNtpNumber, kUpdated + 100'000'000'000);
  ASSERT_TRUE(time) << time.error().toString();
  EXPECT_EQ(time->source, "10.9.8.7");
  EXPECT_EQ(time->stratum, 2u);
  EXPECT_EQ(time->behind_utc, 0);
  EXPECT_EQ(time->root_delay, 120'000);
  EXPECT_EQ(time->dispersion, 62'687'000 + 1'500'000) << "100 s since its update";
  EXPECT_EQ(time->error, 60'000 + 64'187'000 + 1'500'000 + 1);
  const auto unset = ntpdAnswer(ntpdBytes("3", "0.000000"), kNtpNumber, kUpdated);
  ASSERT_FALSE(unset);
  EXPECT_THAT(unset.error().message, HasSubstr("is not synchronised"));
  EXPECT_FALSE(ntpdAnswer(ntpdBytes("0", "nan"), kNtpNumber, kUpdated));
  EXPECT_FALSE(ntpdAnswer(ntpdBytes("0", "0"), kNtpNumber + 1, kUpdated));
}

TEST(TimeDaemon, AnyBytesAreAnAnswerOrNone) {
  std::mt19937_64 random(5);
  const std::string ntpd = ntpdBytes("0", "1.5");
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = i % 2 == 0 ? chronyBytes() : ntpd;
    for (uint64_t n = random() % 4; n > 0; --n)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % 3 == 0 ? random() % bytes.size() : bytes.size());
    for (const auto& time :
         {chronyAnswer(bytes, kChronyNumber), ntpdAnswer(bytes, kNtpNumber, kUpdated)}) {
      if (!time) continue;
      EXPECT_GT(time->error, 0);
    }
  }
}

}  // namespace
}  // namespace tracesmith
