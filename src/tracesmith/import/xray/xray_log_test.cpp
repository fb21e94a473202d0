// SPDX-License-Identifier: Apache-2.0
// The sample logs were written by clang 14's runtime and their .yaml files by llvm-xray. Older
// versions of the formats, and custom and typed events, are handwritten here.
#include "tracesmith/import/xray/xray_log.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <regex>

#include "tracesmith/import/xray/xray_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::KeptRecord;
using test::ReadLog;
using test::readLog;
using test::XRayLogBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> kKinds = {"function-enter", "function-exit", "function-tail-exit",
                                         "function-enter-arg"};

/// A record in the form of a line of LLVM's YAML.
std::string lineOf(const KeptRecord& k) {
  std::string args;
  for (const uint64_t a : k.arguments) args += " " + std::to_string(a);
  return kKinds.at(static_cast<size_t>(k.r.kind)) + " f" + std::to_string(k.r.function) + " c" +
         std::to_string(k.r.cpu) + " t" + std::to_string(k.r.thread) + " p" +
         std::to_string(k.r.process) + " @" + std::to_string(k.r.tsc) + args;
}

std::vector<std::string> yamlRecords(const std::string& path) {
  const std::regex record(
      R"(func-id: (\d+),.*?(?:args: \[ ([^\]]*) \], )?cpu: (\d+), thread: (\d+), process: (\d+), kind: ([a-z-]+), tsc: (\d+))");
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::smatch m;
    if (!std::regex_search(line, m, record)) continue;
    std::string args = m[2].matched ? " " + m[2].str() : "";
    lines.push_back(m[6].str() + " f" + m[1].str() + " c" + m[3].str() + " t" + m[4].str() + " p" +
                    m[5].str() + " @" + m[7].str() + args);
  }
  return lines;
}

TEST(XRayLog, RealLogsAreWhatLlvmSaysTheyAre) {
  for (const std::string name : {"sample.basic", "sample.fdr"}) {
    const std::string log = test::xraySample(name + ".xray");
    if (log.empty()) GTEST_SKIP() << "no real logs (TRACESMITH_TEST_DATA)";
    const ReadLog got = readLog(test::contentOf(log));
    ASSERT_TRUE(got.ok);
    EXPECT_TRUE(got.damage.empty());
    EXPECT_EQ(got.header.cycle_frequency, 1'000'000'000U);
    std::vector<std::string> mine;
    for (const KeptRecord& k : got.records) mine.push_back(lineOf(k));
    std::vector<std::string> theirs = yamlRecords(test::xraySample(name + ".yaml"));
    ASSERT_GT(theirs.size(), 1000U);
    // llvm-xray sorts by time over all threads.
    std::sort(mine.begin(), mine.end());
    std::sort(theirs.begin(), theirs.end());
    EXPECT_EQ(mine, theirs) << name;
  }
}

TEST(XRayLog, BasicRecordsTakeTheirArguments) {
  XRayLogBuilder log(3, XRayMode::kBasic, 2'000'000'000);
  log.basic(3, 5, 100).basicArgument(5, 42).basicArgument(5, 43).basic(1, 5, 200);
  const ReadLog got = readLog(log.string());
  ASSERT_TRUE(got.ok);
  EXPECT_EQ(got.header.cycle_frequency, 2'000'000'000U);
  ASSERT_EQ(got.records.size(), 2U);
  EXPECT_THAT(got.records[0].arguments, ElementsAre(42, 43));
  EXPECT_EQ(got.records[0].r.process, 6U);
  EXPECT_EQ(got.records[1].r.tsc, 200U);
}

TEST(XRayLog, OlderBasicLogsDoNotNameTheProcess) {
  XRayLogBuilder log(1, XRayMode::kBasic);
  log.basic(0, 1, 100).basic(1, 1, 200);
  const ReadLog got = readLog(log.string());
  ASSERT_EQ(got.records.size(), 2U);
  EXPECT_EQ(got.records[0].r.process, 0U);
}

TEST(XRayLog, AnArgumentOfAnotherCallIsDamage) {
  XRayLogBuilder log(3, XRayMode::kBasic);
  log.basic(3, 5, 100).basicArgument(6, 42).basic(1, 5, 200).basic(9, 5, 1);
  const ReadLog got = readLog(log.string() + "cut");
  EXPECT_EQ(got.records.size(), 2U);
  ASSERT_EQ(got.damage.places().size(), 3U);
  EXPECT_THAT(got.damage.places()[0].reason, HasSubstr("argument without"));
  EXPECT_THAT(got.damage.places()[1].reason, HasSubstr("of an unknown kind"));
  EXPECT_THAT(got.damage.places()[2].reason, HasSubstr("within a record"));
}

XRayLogBuilder fdr5(uint64_t bytes) {
  XRayLogBuilder log(5, XRayMode::kFdr, 1'000'000'000, 4096);
  log.metadata(7, bytes)
      .metadata(0, int32_t{11})
      .metadata(4, uint64_t{12}, uint32_t{34})
      .metadata(9, int32_t{10})
      .metadata(2, uint16_t{3}, uint64_t{1000});
  return log;
}
constexpr uint64_t kPreface = 64;

TEST(XRayLog, FdrTimesAreDifferences) {
  XRayLogBuilder log = fdr5(kPreface + 8 * 3 + 16 * 4 + 5 + 3);
  log.function(3, 1, 5)
      .metadata(6, uint64_t{77})
      .metadata(5, int32_t{5}, int32_t{10})
      .text("hello")
      .metadata(8, int32_t{3}, int32_t{20}, uint16_t{9})
      .text("abc")
      .function(1, 1, 30)
      .metadata(3, uint64_t{5000})
      .function(2, 2, 1);
  const ReadLog got = readLog(log.string());
  ASSERT_TRUE(got.ok);
  EXPECT_TRUE(got.damage.empty()) << got.damage.summary();
  ASSERT_EQ(got.buffers.size(), 1U);
  EXPECT_EQ(got.buffers[0].wall_seconds, 12U);
  EXPECT_EQ(got.buffers[0].wall_micros, 34U);
  EXPECT_EQ(got.buffers[0].first_tsc, 1000U);
  ASSERT_EQ(got.records.size(), 5U);
  EXPECT_EQ(got.records[0].r.tsc, 1005U);
  EXPECT_EQ(got.records[0].r.cpu, 3U);
  EXPECT_EQ(got.records[0].r.thread, 11U);
  EXPECT_EQ(got.records[0].r.process, 10U);
  EXPECT_THAT(got.records[0].arguments, ElementsAre(77));
  EXPECT_EQ(got.records[1].r.kind, XRayKind::kCustomEvent);
  EXPECT_EQ(got.records[1].r.tsc, 1015U);
  EXPECT_EQ(got.records[1].data, "hello");
  EXPECT_EQ(got.records[2].r.event_type, 9U);
  EXPECT_EQ(got.records[2].data, "abc");
  EXPECT_EQ(got.records[3].r.tsc, 1065U);
  EXPECT_EQ(got.records[4].r.tsc, 5001U);
  EXPECT_EQ(got.records[4].r.kind, XRayKind::kTailExit);
}

TEST(XRayLog, BuffersOfAThreadComeInTheOrderOfTheirWallClock) {
  XRayLogBuilder log(5, XRayMode::kFdr);
  for (const uint32_t micros : {900U, 100U, 500U}) {
    log.metadata(7, kPreface + 8)
        .metadata(0, int32_t{11})
        .metadata(4, uint64_t{12}, micros)
        .metadata(9, int32_t{10})
        .metadata(2, uint16_t{3}, uint64_t{micros})
        .function(0, 1, 1);
  }
  const ReadLog got = readLog(log.string());
  ASSERT_EQ(got.records.size(), 3U);
  EXPECT_EQ(got.records[0].r.tsc, 101U);
  EXPECT_EQ(got.records[1].r.tsc, 501U);
  EXPECT_EQ(got.records[2].r.tsc, 901U);
}

TEST(XRayLog, CustomEventsBeforeVersion5HaveTimesOfTheirOwn) {
  XRayLogBuilder log(4, XRayMode::kFdr);
  log.metadata(7, uint64_t{16 * 4 + 2 + 8})
      .metadata(0, int32_t{11})
      .metadata(9, int32_t{10})
      .metadata(2, uint16_t{3}, uint64_t{1000})
      .metadata(5, int32_t{2}, uint64_t{1500}, uint16_t{8})
      .text("hi")
      .function(0, 1, 7);
  const ReadLog got = readLog(log.string());
  ASSERT_EQ(got.records.size(), 2U);
  EXPECT_EQ(got.records[0].r.tsc, 1500U);
  EXPECT_EQ(got.records[0].r.cpu, 8U);
  EXPECT_EQ(got.records[1].r.tsc, 1007U);  // differences continue from the last function record
}

TEST(XRayLog, OldFdrBuffersHaveOneSizeAndStaleEnds) {
  XRayLogBuilder log(2, XRayMode::kFdr, 1'000'000'000, 96);
  for (int i = 0; i < 2; ++i) {
    log.metadata(0, int32_t{20 + i})
        .metadata(4, uint64_t{1}, uint32_t{0})
        .metadata(2, uint16_t{0}, uint64_t{100})
        .function(0, 1, 1)
        .function(1, 1, 1)
        .metadata(1)
        .function(0, 99, 1)  // stale record in a reused buffer
        .function(0, 99, 1);
  }
  const ReadLog got = readLog(log.string());
  EXPECT_TRUE(got.damage.empty()) << got.damage.summary();
  ASSERT_EQ(got.records.size(), 4U);
  EXPECT_EQ(got.records[0].r.thread, 20U);
  EXPECT_EQ(got.records[2].r.thread, 21U);
  EXPECT_EQ(got.records[3].r.function, 1);
}

TEST(XRayLog, WhatIsBetweenBuffersIsPassedOver) {
  XRayLogBuilder log = fdr5(kPreface + 8);
  log.function(0, 1, 5).text(std::string(13, '\0'));
  const std::string second = fdr5(kPreface + 8).function(1, 1, 9).string().substr(32);
  const ReadLog got = readLog(log.string() + second);
  EXPECT_EQ(got.records.size(), 2U);
  ASSERT_EQ(got.damage.places().size(), 1U);
  EXPECT_EQ(got.damage.places()[0].bytes, 13U);
}

TEST(XRayLog, SizesThatCanNotBeAreDamage) {
  const ReadLog cut = readLog(fdr5(~uint64_t{0}).function(0, 1, 5).string());
  EXPECT_EQ(cut.records.size(), 1U);
  EXPECT_THAT(cut.damage.places()[0].reason, HasSubstr("cut"));
  for (const int32_t size : {-1, INT32_MAX, 17}) {
    const ReadLog got = readLog(
        fdr5(kPreface + 32).metadata(5, size, int32_t{0}).text(std::string(16, 'x')).string());
    EXPECT_EQ(got.records.size(), 0U);
    EXPECT_FALSE(got.damage.empty());
  }
}

TEST(XRayLog, EveryCutAndEveryFlipEnds) {
  XRayLogBuilder log = fdr5(kPreface + 8 * 2 + 16 * 2 + 5);
  log.function(3, 1, 5).metadata(6, uint64_t{77}).metadata(5, int32_t{5}, int32_t{10});
  log.text("hello").function(1, 1, 30);
  XRayLogBuilder basic(3, XRayMode::kBasic);
  basic.basic(3, 5, 100).basicArgument(5, 42).basic(1, 5, 200);
  for (const std::string& whole : {log.string(), basic.string()}) {
    for (size_t n = 0; n < whole.size(); ++n) {
      const ReadLog cut = readLog(whole.substr(0, n));
      EXPECT_LE(cut.records.size(), 4U);
      for (const int bit : {0, 1, 4, 7}) {
        std::string flipped = whole;
        flipped[n] = static_cast<char>(flipped[n] ^ (1 << bit));
        EXPECT_LE(readLog(flipped).records.size(), 20U);
      }
    }
  }
}

TEST(XRayLog, OtherFilesAreNotTaken) {
  EXPECT_TRUE(looksLikeXRay(asBytes(fdr5(8).string())));
  EXPECT_TRUE(looksLikeXRay(asBytes(XRayLogBuilder(3, XRayMode::kBasic).string())));
  EXPECT_FALSE(looksLikeXRay(asBytes(XRayLogBuilder(4, XRayMode::kBasic).string())));
  EXPECT_FALSE(looksLikeXRay(asBytes(XRayLogBuilder(6, XRayMode::kFdr).string())));
  EXPECT_FALSE(looksLikeXRay(asBytes(std::string(64, '\0'))));
  EXPECT_FALSE(looksLikeXRay(asBytes(std::string_view(R"({"traceEvents": []})"))));
  EXPECT_FALSE(looksLikeXRay({}));
}

}  // namespace
}  // namespace tracesmith::import
