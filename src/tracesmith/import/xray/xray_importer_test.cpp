// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/xray/xray_importer.hpp"

#include <gmock/gmock.h>

#include "tracesmith/import/xray/xray_test_util.hpp"

namespace tracesmith {
namespace {

using test::XRayLogBuilder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(XRayImporter, CallsAreEventsWithADuration) {
  XRayLogBuilder log(3, import::XRayMode::kBasic, 2'000'000'000);
  log.basic(3, 1, 2000).basicArgument(1, 5).basic(0, 2, 2200).basic(2, 2, 2400).basic(1, 1, 3000);
  XRayImporter importer;
  const std::vector<TraceEvent> events = importer.importBuffer(log.bytes.data(), log.bytes.size());
  ASSERT_EQ(events.size(), 2U) << importer.lastError();
  EXPECT_EQ(events[0].name, "function #1");
  EXPECT_EQ(events[0].timestamp, 1000U);
  EXPECT_EQ(events[0].duration, 500U);
  EXPECT_EQ(events[0].thread_id, 7U);
  EXPECT_EQ(events[0].metadata.at("args.0"), "5");
  EXPECT_EQ(events[1].duration, 100U);
  EXPECT_EQ(importer.getHeader().version, 3);
  EXPECT_EQ(importer.getHeader().cycle_frequency, 2'000'000'000U);
  EXPECT_EQ(importer.getHeader().num_records, 4U);
  EXPECT_EQ(importer.getStatistics().records_converted, 4U);
  EXPECT_DOUBLE_EQ(importer.getStatistics().total_duration_ms, 0.0005);
  ASSERT_EQ(importer.getRawRecords().size(), 4U);
  EXPECT_EQ(importer.getRawRecords()[2].type, XRayEntryType::TailExit);
  EXPECT_EQ(importer.getRawRecords()[2].timestamp, 1200U);
}

TEST(XRayImporter, ShortCallsAndEventsCanBeLeftOut) {
  XRayLogBuilder log(5, import::XRayMode::kFdr);
  log.metadata(7, uint64_t{32 + 32 + 16 + 2})
      .metadata(0, int32_t{11})
      .metadata(2, uint16_t{3}, uint64_t{1000})
      .function(0, 1, 0)
      .function(0, 2, 10)
      .function(1, 2, 10)
      .metadata(5, int32_t{2}, int32_t{5})
      .text("hi")
      .function(1, 1, 500);
  XRayImporter importer(XRayImporter::Config{});
  EXPECT_EQ(importer.importBuffer(log.bytes.data(), log.bytes.size()).size(), 3U);
  EXPECT_EQ(importer.getStatistics().custom_events, 1U);
  XRayImporter::Config config;
  config.filter_short_calls = true;
  config.min_duration_ns = 100;
  config.include_custom_events = false;
  importer.setConfig(config);
  const auto events = importer.importBuffer(log.bytes.data(), log.bytes.size());
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].duration, 525U);
  EXPECT_EQ(importer.getStatistics().records_filtered, 3U);
}

TEST(XRayImporter, WhatIsNoLogSaysSo) {
  XRayImporter importer;
  EXPECT_TRUE(XRayImporter::isAvailable());
  const Bytes nothing(64, 0);
  EXPECT_THAT(importer.importBuffer(nothing.data(), nothing.size()), IsEmpty());
  EXPECT_THAT(importer.lastError(), HasSubstr("not a log of LLVM's XRay"));
  EXPECT_THAT(importer.importFile("/nonexistent/log"), IsEmpty());
  EXPECT_FALSE(importer.lastError().empty());
  const XRayLogBuilder log(3, import::XRayMode::kBasic);
  importer.setSymbolFile("/nonexistent/program");
  EXPECT_THAT(importer.importBuffer(log.bytes.data(), log.bytes.size()), IsEmpty());
  EXPECT_THAT(importer.lastError(), HasSubstr("/nonexistent/program"));
}

TEST(XRayImporter, ARealLog) {
  const std::string log = test::xraySample("sample.basic.xray");
  if (log.empty()) GTEST_SKIP() << "no real logs (TRACESMITH_TEST_DATA)";
  XRayImporter importer;
  // Counted with llvm-xray account.
  EXPECT_EQ(importer.importFile(log).size(), 1932U) << importer.lastError();
  EXPECT_EQ(importer.getStatistics().records_read, 3864U);
}

}  // namespace
}  // namespace tracesmith
