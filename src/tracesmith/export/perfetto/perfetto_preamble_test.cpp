// SPDX-License-Identifier: Apache-2.0
// Tests of a file's metadata: clocks, processes, devices, losses.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>

#include "tracesmith/export/perfetto/perfetto_reading_test_util.hpp"
#include "tracesmith/export/perfetto/perfetto_test_util.hpp"
#include "tracesmith/export/perfetto/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

TEST(PerfettoPreamble, clocksOfAFileLeadToThoseOfItsHost) {
  using Clocks = std::map<uint64_t, uint64_t>;
  constexpr uint64_t kReal = 1, kMono = 3, kBoot = 6, kOwn = 11;
  const auto clocksOf = [](const Trace& trace) {
    reading::File file = readBack(trace);
    // The clock of the first packet; clocks of sequences follow.
    const uint64_t own = file.clocks[file.primary_clock];
    file.clocks[file.primary_clock] = 0;
    return std::tuple(file.primary_clock, own, file.clocks);
  };
  Trace trace = sample::makeTrace({.kernels = 20, .names = 2});
  EXPECT_EQ(std::get<0>(clocksOf(trace)), kOwn) << "nobody says which clock its times are in";
  EXPECT_EQ(std::get<2>(clocksOf(trace)), (Clocks{{kOwn, 0}}));
  EXPECT_EQ(std::get<0>(clocksOf(Trace{})), kOwn);

  trace.setMetadata("start_realtime_ns", "1700000000000000000");
  trace.setMetadata("start_monotonic_ns", "5000");
  EXPECT_EQ(std::get<0>(clocksOf(trace)), kOwn) << "it was recorded before CLOCK_BOOTTIME was";
  EXPECT_EQ(std::get<2>(clocksOf(trace)),
            (Clocks{{kOwn, 0}, {kMono, 5000}, {kReal, 1700000000000000000}}));
  trace.setMetadata("start_boottime_ns", "905000");
  EXPECT_EQ(std::get<0>(clocksOf(trace)), kMono);
  EXPECT_EQ(std::get<2>(clocksOf(trace)),
            (Clocks{{kMono, 0}, {kBoot, 905000}, {kReal, 1700000000000000000}}));

  trace.setMetadata("imported_format", "Chrome JSON");
  EXPECT_EQ(std::get<0>(clocksOf(trace)), kOwn);
  EXPECT_EQ(std::get<2>(clocksOf(trace)), (Clocks{{kOwn, 0}}));
  trace.clock_domain.push({ClockDomainId(1), ClockKind::kHostRealtime, StringId::kNone, 0, 0});
  trace.clock_snapshot.push({ClockDomainId(1), 7000, 1700000000000000007, 0});
  EXPECT_EQ(std::get<2>(clocksOf(trace)), (Clocks{{kOwn, 0}, {kReal, 1700000000000000007}}));

  Trace shifted = sample::makeTrace({.kernels = 20, .names = 2});
  shifted.setMetadata("start_monotonic_ns", "5000");
  shifted.setMetadata("start_boottime_ns", "905000");
  shifted.kernel.start_ns[0] = -100;
  EXPECT_EQ(std::get<0>(clocksOf(shifted)), kOwn) << "0 is another moment in the file";
}

TEST(PerfettoPreamble, processesThreadsAndDevicesAreDescribed) {
  const Trace trace = sample::makeTrace({.kernels = 50, .names = 4});
  const reading::File file = readBack(trace);
  ASSERT_EQ(file.gpus.size(), 2u);
  EXPECT_EQ(file.gpus[1].at("name"), "Sample device 1");
  EXPECT_EQ(file.gpus[0].at("uuid").size(), 16u);
  EXPECT_EQ(file.gpus[0].at("compute_units"), "16");
  size_t processes = 0;
  size_t threads = 0;
  for (const auto& [uuid, track] : file.tracks) {
    processes += track.process;
    threads += track.thread;
    EXPECT_TRUE(!track.process || track.name == "train") << track.name;
    EXPECT_TRUE(!track.thread || (track.pid == track.tid && track.name == "main"));
  }
  EXPECT_EQ(processes, 2u);
  EXPECT_EQ(threads, 2u);
}

TEST(PerfettoPreamble, theLastPacketTellsWhatBelongsToTheFileAndWhatWasLost) {
  const Trace trace = sample::makeTrace({.kernels = 500, .names = 12});
  const std::string bytes = encoded(trace);
  const reading::File whole(bytes);
  EXPECT_TRUE(whole.attributes_last);
  EXPECT_EQ(whole.attributes.at("tracesmith.packets"), std::to_string(whole.packets));
  EXPECT_EQ(whole.attributes.at("tracesmith.dropped"), "7");
  EXPECT_EQ(whole.attributes.at("tracesmith.loss.4000.OpenCL calls.reason"), "ring full");
  EXPECT_EQ(whole.attributes.at("metadata.application"), "sample \"quoted\"");
  const size_t events = whole.works.size() + whole.slices.size() + whole.samples.size();
  EXPECT_EQ(whole.attributes.at("tracesmith.events"), std::to_string(events));
  // A file truncated anywhere no longer ends with it.
  sample::Random random(3);
  for (int i = 0; i < 200; ++i) {
    EXPECT_FALSE(reading::File(bytes.substr(0, random.below(bytes.size()))).attributes_last);
  }
}

TEST(PerfettoPreamble, anEmptyTraceIsAValidFile) {
  const reading::File file = readBack(Trace{});
  EXPECT_TRUE(file.attributes_last);
  EXPECT_EQ(file.attributes.at("tracesmith.events"), "0");
}

}  // namespace
}  // namespace tracesmith
