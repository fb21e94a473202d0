// SPDX-License-Identifier: Apache-2.0
// Functions that process events end when cancelled, and give correct results when called again.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "tracesmith/api/memory_profiler.hpp"
#include "tracesmith/api/perfetto_exporter.hpp"
#include "tracesmith/base/cancellation_test_util.hpp"
#include "tracesmith/capture/in_process/synthetic_trace.hpp"
#include "tracesmith/format/sbt_file.hpp"
#include "tracesmith/import/xray/xray_importer.hpp"
#include "tracesmith/import/xray/xray_test_util.hpp"
#include "tracesmith/state/gpu_state_machine.hpp"
#include "tracesmith/state/instruction_stream.hpp"
#include "tracesmith/state/timeline_builder.hpp"

namespace tracesmith {
namespace {

using test::ended;

class CancellationOfEvents : public testing::Test {
 protected:
  const std::vector<TraceEvent> events_ = toEvents(simulateTrace({.duration_s = 0.5}));
};

TEST_F(CancellationOfEvents, Timelines) {
  ASSERT_GT(events_.size(), 8'192u);
  TimelineBuilder builder;
  builder.addEvents(events_);
  const Timeline whole = builder.build();
  const auto isWhole = [&](const Timeline& t) {
    return t.spans.size() == whole.spans.size() && t.gpu_utilization == whole.gpu_utilization;
  };
  Timeline made;
  EXPECT_GT(ended([&] { made = builder.build(); },
                  [&] {
                    EXPECT_TRUE(made.spans.empty() || isWhole(made));
                    EXPECT_TRUE(isWhole(builder.build()));
                  }),
            3);
  const Trace trace = simulateTrace({.duration_s = 0.5});
  EXPECT_GT(ended([&] { made = timelineOf(trace); },
                  [&] { EXPECT_TRUE(made.spans.empty() || isWhole(made)); }),
            3);
}

TEST_F(CancellationOfEvents, Dependencies) {
  InstructionStreamBuilder once;
  once.addEvents(events_);
  once.analyze();
  const size_t dependencies = once.getStatistics().total_dependencies;
  InstructionStreamBuilder builder;
  EXPECT_GT(ended(
                [&] {
                  builder.clear();
                  builder.addEvents(events_);
                  builder.analyze();
                },
                [&] {
                  EXPECT_TRUE(builder.getNodes().empty() ||
                              builder.getStatistics().total_dependencies == dependencies);
                  builder.analyze();
                  EXPECT_EQ(builder.getStatistics().total_dependencies, dependencies);
                  EXPECT_EQ(builder.getStatistics().total_operations,
                            once.getStatistics().total_operations);
                }),
            5);
}

TEST_F(CancellationOfEvents, States) {
  GPUStateMachine once;
  once.processEvents(events_);
  const size_t transitions = once.getStatistics().total_transitions;
  GPUStateMachine machine;
  EXPECT_GT(ended(
                [&] {
                  machine.reset();
                  machine.processEvents(events_);
                  (void)machine.getAllStreams();
                },
                [&] { EXPECT_EQ(machine.getStatistics().total_transitions, transitions); }),
            5);
}

TEST_F(CancellationOfEvents, FilesExportsAndMemory) {
  const std::string path = testing::TempDir() + "cancelled_events";
  SBTWriter writer(path + ".sbt");
  EXPECT_GT(ended([&] { writer.writeEvents(events_); }, [] {}), 1);
  EXPECT_TRUE(writer.finalize());
  {
    SBTWriter again(path + ".sbt");
    ASSERT_TRUE(again.writeEvents(events_));
  }
  SBTReader reader(path + ".sbt");
  std::vector<TraceEvent> read;
  EXPECT_GT(ended(
                [&] {
                  reader = SBTReader(path + ".sbt");
                  (void)reader.readEvents(read);
                },
                [&] {
                  TraceRecord record;
                  ASSERT_TRUE(reader.readAll(record));
                  EXPECT_EQ(record.events().size(), events_.size());
                }),
            5);
  for (const auto format :
       {PerfettoProtoExporter::Format::JSON, PerfettoProtoExporter::Format::PROTOBUF}) {
    PerfettoProtoExporter exporter(format);
    const std::string to = path + ".export";
    bool done = false;
    EXPECT_GT(ended(
                  [&] {
                    std::remove(to.c_str());
                    done = exporter.exportToFile(events_, to);
                  },
                  [&] {
                    EXPECT_EQ(std::filesystem::exists(to), done);
                    EXPECT_EQ(exporter.lastError(), done ? "" : "interrupted");
                  }),
              3);
  }
  std::vector<MemoryEvent> memory(20'000);
  for (size_t i = 0; i < memory.size(); ++i) memory[i].ptr = memory[i].timestamp = i + 1;
  EXPECT_GT(ended([&] { (void)MemoryProfiler::of(memory, {}); }, [] {}), 2);
  EXPECT_GT(ended([&] { (void)MemoryProfiler::of(simulateTrace({.duration_s = 2})); }, [] {}), 0);
}

TEST_F(CancellationOfEvents, LogsOfXRay) {
  test::XRayLogBuilder log(3, import::XRayMode::kBasic, 2'000'000'000);
  for (uint64_t i = 0; i < 10'000; ++i) log.basic(0, 1, 2000 + 20 * i).basic(1, 1, 2010 + 20 * i);
  XRayImporter importer;
  std::vector<TraceEvent> calls;
  const auto import = [&] { calls = importer.importBuffer(log.bytes.data(), log.bytes.size()); };
  EXPECT_GT(ended(import,
                  [&] {
                    EXPECT_EQ(calls.empty(), !importer.lastStatus());
                    EXPECT_EQ(importer.lastError(), calls.empty() ? "interrupted" : "");
                  }),
            3);
  EXPECT_EQ(calls.size(), 10'000u);
}

}  // namespace
}  // namespace tracesmith
