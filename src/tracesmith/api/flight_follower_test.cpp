// SPDX-License-Identifier: Apache-2.0
// A flight recorder over a simulated training run: what its window has, and that the
// summary of all parts is that of the whole recording.
#include "tracesmith/api/flight_follower.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tracesmith/analysis/timing/steps.hpp"
#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/temp_folder_test_util.hpp"
#include "tracesmith/capture/flight/flight_window.hpp"
#include "tracesmith/capture/in_process/synthetic_trace.hpp"
#include "tracesmith/fleet/summarize.hpp"
#include "tracesmith/fleet/summary_file.hpp"
#include "tracesmith/format/trace_check.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kWindowNs = 2 * kSecondNs;

/// Records a simulated run as a flight recorder, and beside that everything.
class FlightTest : public ::testing::Test {
 protected:
  FlightTest() : simulation_({.devices = 1}) {
    auto writer = TraceWriter::create(path());
    auto all = TraceWriter::create(whole());
    EXPECT_TRUE(writer && all);
    writer_ = std::make_unique<TraceWriter>(std::move(*writer));
    all_ = std::make_unique<TraceWriter>(std::move(*all));
    window_ = std::make_unique<FlightWindow>(path(), folder_.path("job"), options());
    begin_ns_ = monotonicNs();
  }
  FlightOptions options() {
    return {.window_ns = kWindowNs, .most_saved = 2, .observer = &follower_};
  }
  std::string path() const { return folder_.path("job.sbt"); }
  std::string whole() const { return folder_.path("whole.sbt"); }

  /// Records up to this time after the start, in commits of a quarter of a second.
  void recordUntil(double seconds) {
    const auto until_ns = static_cast<int64_t>(seconds * 1e9);
    while (at_ns_ < until_ns) {
      at_ns_ += kSecondNs / 4;
      simulation_.runUntil(kSecondNs + at_ns_);
      Trace delta = simulation_.take();
      LaunchShapeTable new_shapes;
      for (size_t i = shapes_; i < delta.launch_shape.size(); ++i) {
        new_shapes.push(delta.launch_shape.row(i));
      }
      shapes_ = delta.launch_shape.size();
      delta.launch_shape = new_shapes;
      ASSERT_TRUE(all_->write(delta));
      ASSERT_TRUE(writer_->write(delta));
      window_->note(delta);
      if (window_->isDue(begin_ns_ + at_ns_)) {
        ASSERT_TRUE(window_->rotate(writer_, begin_ns_ + at_ns_));
        window_->settle();  // this clock runs ahead of the other thread
      }
    }
  }
  Trace read(const std::string& file) {
    auto reader = TraceReader::open(file);
    EXPECT_TRUE(reader);
    auto trace = reader->read();
    EXPECT_TRUE(trace);
    EXPECT_THAT(reader->losses(), IsEmpty());
    return std::move(*trace);
  }
  static void expectIntact(const std::string& file) {
    const auto check = checkTrace(file);
    ASSERT_TRUE(check) << check.error().toString();
    EXPECT_TRUE(check->intact());
  }
  /// Each kernel of the whole recording that starts in the window is in this trace, as it was.
  static void expectWindow(const Trace& trace, const Trace& all, int64_t from_ns, int64_t to_ns) {
    std::map<uint64_t, size_t> rows;
    for (size_t i = 0; i < trace.kernel.size(); ++i) rows[trace.kernel.correlation_id[i]] = i;
    EXPECT_EQ(rows.size(), trace.kernel.size());
    size_t expected = 0;
    for (size_t i = 0; i < all.kernel.size(); ++i) {
      const KernelRow its = all.kernel.row(i);
      if (its.start_ns < from_ns || its.start_ns > to_ns) continue;
      ++expected;
      const auto found = rows.find(its.correlation_id);
      ASSERT_NE(found, rows.end()) << its.start_ns;
      const KernelRow row = trace.kernel.row(found->second);
      EXPECT_EQ(row.start_ns, its.start_ns);
      EXPECT_EQ(row.duration_ns, its.duration_ns);
      EXPECT_EQ(trace.text(row.name), all.text(its.name));
      EXPECT_EQ(trace.deviceOf(row.stream_id), all.deviceOf(its.stream_id));
      EXPECT_EQ(trace.launch_shape.row(indexOf(row.shape_id)).global_x,
                all.launch_shape.row(indexOf(its.shape_id)).global_x);
    }
    EXPECT_GT(expected, 100u);
  }
  size_t addPart(int64_t now, int64_t range_end_ns);
  void finishAndExpectWindow() {
    ASSERT_TRUE(window_->finish(*writer_));
    ASSERT_TRUE(all_->finish());
    expectIntact(path());
    const Trace all = read(whole());
    const int64_t end_ns = timeRange(all).end_ns;
    expectWindow(read(path()), all, end_ns - kWindowNs, end_ns);
  }
  /// A file that is being written has this name.
  std::string newFile() {
    Trace described;
    window_->describe(described);
    return path() + "." + std::string(described.metadataValue(kIdKey).substr(0, 16)) + ".new";
  }
  std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.folder())) {
      const std::string name = entry.path().filename().string();
      if (name != "whole.sbt") out.push_back(name);
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  uint64_t bytesOnDisk() const {
    uint64_t bytes = 0;
    for (const std::string& name : files()) bytes += std::filesystem::file_size(folder_.path(name));
    return bytes;
  }

  test::TempFolder folder_;
  Simulation simulation_;
  FlightFollower follower_{0};
  std::unique_ptr<TraceWriter> writer_, all_;
  std::unique_ptr<FlightWindow> window_;
  int64_t begin_ns_ = 0;
  int64_t at_ns_ = 0;
  size_t shapes_ = 0;
};

TEST_F(FlightTest, TheWindowHasTheLastSecondsAndTheSummaryHasEverything) {
  recordUntil(8);
  ASSERT_TRUE(window_->finish(*writer_));
  ASSERT_TRUE(all_->finish());
  expectIntact(path());
  const Trace all = read(whole());
  const Trace last = read(path());
  const int64_t end_ns = timeRange(all).end_ns;
  EXPECT_GE(timeRange(last).duration(), kWindowNs);
  EXPECT_LE(timeRange(last).duration(), kWindowNs + kWindowNs / kPartsOfWindow + kSecondNs);
  expectWindow(last, all, end_ns - kWindowNs, end_ns);

  ASSERT_TRUE(follower_.writeSummary(path()));
  const auto stored = readSummaryFile(path() + kSummaryEnding);
  ASSERT_TRUE(stored);
  auto scan = TraceScan::open(whole(), 1);
  ASSERT_TRUE(scan);
  auto expected = summarizeScan(*scan);
  ASSERT_TRUE(expected);
  expected->file_bytes = stored->summary.file_bytes;  // the parts say their definitions again
  EXPECT_TRUE(stored->summary == *expected);
  EXPECT_EQ(stored->summary.events, expected->events);
  EXPECT_EQ(stored->summary.devices, expected->devices);
  EXPECT_EQ(stored->summary.gaps, expected->gaps);
  EXPECT_EQ(stored->summary.kernels, expected->kernels);
  EXPECT_EQ(stored->summary.steps_ns, expected->steps_ns);
  EXPECT_EQ(stored->summary.without_launch, expected->without_launch);
  EXPECT_THAT(files(), ::testing::ElementsAre("job.sbt", "job.sbt.summary"));
}

TEST_F(FlightTest, DiskAndFilesStayBounded) {
  recordUntil(3);
  uint64_t most = 0;
  for (int i = 1; i <= 2; ++i) {
    recordUntil(3 + i);
    most = std::max(most, bytesOnDisk());
  }
  for (int i = 1; i <= 8; ++i) {
    recordUntil(5 + i);
    EXPECT_LE(bytesOnDisk(), most + most / 4);
    EXPECT_LE(files().size(), 2u + kPartsOfWindow + 2u);
  }
}

TEST_F(FlightTest, SavesTheWindowWhileTheRecordingGoesOn) {
  recordUntil(4);
  window_->want("a test wanted it");
  EXPECT_EQ(window_->save(*writer_), 1u);
  recordUntil(7);
  window_->want("again");
  EXPECT_EQ(window_->save(*writer_), 2u);
  window_->want("too often");
  EXPECT_EQ(window_->save(*writer_), 0u);
  ASSERT_TRUE(window_->finish(*writer_));
  ASSERT_TRUE(all_->finish());
  const std::vector<SavedWindow> saved = window_->saved();
  ASSERT_THAT(saved, SizeIs(2));
  EXPECT_EQ(window_->ignoredReasons(), 1u);
  const Trace all = read(whole());
  for (const SavedWindow& each : saved) {
    ASSERT_TRUE(each.status) << each.status.error().toString();
    expectIntact(each.path);
    const Trace trace = read(each.path);
    EXPECT_EQ(trace.metadataValue("flight_recorder.reason"), each.reason);
    const int64_t saved_ns = kSecondNs + (each.number == 1 ? 4 : 7) * kSecondNs;
    const int64_t end_ns = timeRange(trace).end_ns;
    EXPECT_NEAR(static_cast<double>(end_ns), static_cast<double>(saved_ns), kSecondNs / 10);
    expectWindow(trace, all, end_ns - kWindowNs, saved_ns);
  }
  EXPECT_EQ(saved[0].path, folder_.path("job.trigger-1.sbt"));
}

TEST_F(FlightTest, ContinuesAfterARecorderThatDied) {
  recordUntil(4);
  window_.reset();
  writer_.reset();
  auto reader = TraceReader::open(path());
  ASSERT_TRUE(reader);
  Trace newest, earlier;
  for (size_t i = 0; i < reader->blocks().size(); ++i) ASSERT_TRUE(reader->readBlock(i, newest));
  window_ = std::make_unique<FlightWindow>(path(), folder_.path("job"), options());
  ASSERT_TRUE(window_->takeParts(newest.metadataValue(kIdKey), &earlier));
  EXPECT_GT(earlier.kernel.size(), newest.kernel.size());
  EXPECT_TRUE(earlier.thread.empty()) << "definitions are in the newest part";
  window_->keep(newest);
  auto writer =
      TraceWriter::resume(path(), UINT64_MAX, static_cast<uint32_t>(newest.strings.size()));
  ASSERT_TRUE(writer) << writer.error().toString();
  writer_ = std::make_unique<TraceWriter>(std::move(*writer));
  ASSERT_TRUE(window_->rotate(writer_, begin_ns_ + at_ns_));  // the newest part had events
  finishAndExpectWindow();
  EXPECT_THAT(files(), ::testing::ElementsAre("job.sbt"));
}

TEST_F(FlightTest, APartThatCannotBeginIsTriedAgain) {
  recordUntil(3);
  const std::string blocker = newFile();
  std::filesystem::create_directory(blocker);
  int64_t now = begin_ns_ + at_ns_ + kSecondNs;
  EXPECT_FALSE(window_->rotate(writer_, now));
  EXPECT_FALSE(window_->isDue(now)) << "not at once";
  EXPECT_THAT(window_->problem(), ::testing::HasSubstr("longer than asked for"));
  std::filesystem::remove(blocker);
  now += kSecondNs;
  EXPECT_TRUE(window_->isDue(now));
  ASSERT_TRUE(window_->rotate(writer_, now));
  recordUntil(5);
  finishAndExpectWindow();
}

TEST_F(FlightTest, AProgramThatHangsKeepsItsLastEvents) {
  recordUntil(4);
  const size_t before = files().size();
  Trace nothing = simulation_.take();
  nothing.launch_shape.clear();
  for (int i = 0; i < 1000; ++i) {  // more parts than names are remembered for
    nothing.clock_snapshot.clear();
    nothing.clock_snapshot.push({.host_ns = at_ns_, .clock_value = at_ns_});
    ASSERT_TRUE(writer_->write(nothing));
    window_->note(nothing);
    at_ns_ += kSecondNs / 4;
    if (!window_->isDue(begin_ns_ + at_ns_)) continue;
    ASSERT_TRUE(window_->rotate(writer_, begin_ns_ + at_ns_));
    window_->settle();
  }
  EXPECT_THAT(files(), SizeIs(::testing::Le(before + 1)));
  finishAndExpectWindow();
}

TEST_F(FlightTest, EventsThatAreWrittenLateMakeTheWindowNoShorter) {
  recordUntil(4);
  begin_ns_ += 5 * kSecondNs;  // the recorder was stopped for more than two windows
  recordUntil(4.5);
  finishAndExpectWindow();
}

TEST_F(FlightTest, TimesOfADeviceDoNotCount) {
  recordUntil(4);
  Trace of_device;
  of_device.kernel.push({.start_ns = INT64_MAX / 2,
                         .duration_ns = 10,
                         .correlation_id = 1,
                         .flags = op_flags::kDeviceClock | op_flags::kNoDeviceTime});
  window_->note(of_device);
  begin_ns_ += kSecondNs;
  recordUntil(4.5);
  finishAndExpectWindow();
}

/// Adds a part with one range, which ends at this time. Returns the number of files then.
size_t FlightTest::addPart(int64_t now, int64_t range_end_ns) {
  Trace delta;
  delta.range.push({.start_ns = range_end_ns - 10, .duration_ns = 10});
  EXPECT_TRUE(writer_->write(delta));
  window_->note(delta);
  EXPECT_TRUE(window_->rotate(writer_, now));
  window_->settle();
  return files().size();
}

TEST_F(FlightTest, EventsOfWrongTimesKeepNoMoreThanTwoWindows) {
  int64_t now = begin_ns_;
  size_t most = 0;
  for (int i = 0; i < 100; ++i) {
    most = std::max(most, addPart(now += kWindowNs / kPartsOfWindow, 1000));
  }
  EXPECT_GE(most, static_cast<size_t>(2 * kPartsOfWindow));
  EXPECT_LE(most, static_cast<size_t>(2 * kPartsOfWindow + 2));
}

TEST_F(FlightTest, AnEventOfTheFutureRemovesNothing) {
  int64_t now = begin_ns_;
  size_t files = 0;
  for (int64_t i = 0; i < 2 * kPartsOfWindow; ++i) {
    now += kWindowNs / kPartsOfWindow;
    files = addPart(now, now);
  }
  now += kWindowNs / kPartsOfWindow;
  EXPECT_EQ(addPart(now, INT64_MAX - 1), files);
  now += kWindowNs / kPartsOfWindow;
  EXPECT_EQ(addPart(now, now), files);
}

TEST_F(FlightTest, AFailedWriteLeavesTheParts) {
  recordUntil(4);
  const std::string blocker = newFile();  // where the finished trace is written
  std::filesystem::create_directory(blocker);
  EXPECT_FALSE(window_->finish(*writer_));
  EXPECT_THAT(files(), SizeIs(::testing::Gt(5u)));
  std::filesystem::remove(blocker);
  ASSERT_TRUE(window_->finish(*writer_));
  expectIntact(path());
}

/// A range with an attribute, as NVTX payloads are.
void addRange(Trace& delta, uint64_t row, int64_t start_ns, const std::string& value) {
  delta.range.push({.start_ns = start_ns, .duration_ns = 10, .name = delta.strings.intern(value)});
  delta.attribute.push({.table = static_cast<uint32_t>(TableId::kRange),
                        .row_number = row,
                        .key = delta.strings.intern("value"),
                        .value = delta.strings.intern(value)});
}

TEST_F(FlightTest, AttributesStayWithTheirRows) {
  Trace delta;
  int64_t now = begin_ns_;
  uint64_t row = 0;
  for (int i = 0; i < 100; ++i) {
    for (int k = 0; k < 3; ++k) addRange(delta, row++, i * 1000 + k, fmt::format("{}.{}", i, k));
    ASSERT_TRUE(writer_->write(delta));
    window_->note(delta);
    delta.range.clear();
    delta.attribute.clear();
    now += kSecondNs / 8;
    if (!window_->isDue(now)) continue;
    ASSERT_TRUE(window_->rotate(writer_, now));
    row = 0;
  }
  ASSERT_TRUE(window_->finish(*writer_));
  const Trace last = read(path());
  ASSERT_GE(last.range.size(), 40u);
  ASSERT_EQ(last.attribute.size(), last.range.size());
  for (size_t i = 0; i < last.attribute.size(); ++i) {
    const AttributeRow its = last.attribute.row(i);
    EXPECT_EQ(last.text(its.value), last.text(last.range.name[its.row_number]));
  }
}

TEST_F(FlightTest, NamesOfLongAgoAreForgottenAndMayComeBack) {
  Trace delta;
  int64_t now = begin_ns_;
  const auto write = [&] {
    window_->prepare(delta);
    ASSERT_TRUE(writer_->write(delta));
    window_->note(delta);
    delta.range.clear();
    delta.kernel.clear();
    delta.thread.clear();
    now += kSecondNs / 8;
    if (!window_->isDue(now)) return;
    ASSERT_TRUE(window_->rotate(writer_, now));
    window_->settle();
  };
  const auto addKernel = [&](const char* name) {
    delta.kernel.push({.start_ns = now, .duration_ns = 5, .name = delta.strings.intern(name)});
  };
  addKernel("rare");
  delta.thread.push({.id = idAt<ThreadId>(0), .name = delta.strings.intern("main")});
  uint64_t first_bytes = 0, most_bytes = 0;
  constexpr int kCommits = 700;
  for (int i = 0; i < kCommits; ++i) {
    for (int k = 0; k < 60; ++k) {
      delta.range.push(
          {.start_ns = now + k,
           .duration_ns = 10,
           .name = delta.strings.intern(fmt::format("a step with a long name, number {}.{}", i, k)),
           .thread_id = idAt<ThreadId>(0)});
    }
    addKernel("often");
    if (i == kCommits / 2 || i == kCommits - 5) addKernel("rare");
    write();
    const uint64_t bytes = bytesOnDisk();
    uint64_t& most = i < kCommits / 2 ? first_bytes : most_bytes;
    most = std::max(most, bytes);
  }
  EXPECT_LT(most_bytes, first_bytes * 3 / 2) << "it grows with the names of all time";
  ASSERT_TRUE(window_->finish(*writer_));
  const Trace last = read(path());
  ASSERT_GE(last.range.size(), 100u);
  for (size_t i = 0; i < last.range.size(); ++i) {
    EXPECT_THAT(std::string(last.text(last.range.name[i])), ::testing::StartsWith("a step with"));
  }
  std::map<std::string, int> kernels;
  for (const StringId name : last.kernel.name) ++kernels[std::string(last.text(name))];
  EXPECT_EQ(kernels["rare"], 1);
  EXPECT_EQ(kernels.size(), 2u);
  ASSERT_TRUE(follower_.writeSummary(path()));
  const auto stored = readSummaryFile(path() + kSummaryEnding);
  ASSERT_TRUE(stored);
  ASSERT_EQ(stored->summary.kernels.size(), 2u);
  EXPECT_EQ(stored->summary.kernels.at("rare").count, 3u);
  EXPECT_EQ(stored->summary.kernels.at("often").count, static_cast<uint64_t>(kCommits));
  EXPECT_EQ(last.text(last.thread.name[0]), "main");
}

/// A range of one thread.
void addStep(Trace& rows, const std::string& name, uint32_t thread, int64_t start_ns,
             const char* category = "") {
  rows.range.push({.start_ns = start_ns,
                   .duration_ns = 80,
                   .name = rows.strings.intern(name),
                   .category = rows.strings.intern(category),
                   .process_id = idAt<ProcessId>(0),
                   .thread_id = idAt<ThreadId>(thread)});
}

TEST(StepWatchTest, ChoosesStepsAsTheAnalysisDoes) {
  for (const bool has_pytorch : {false, true}) {
    Trace rows;
    for (int i = 0; i < 50; ++i) {
      addStep(rows, fmt::format("step {}", i), 0, 100 * i);
      addStep(rows, fmt::format("step {}", i), 1, 100 * i);            // another thread's
      addStep(rows, fmt::format("inner batch {}", i), 2, 10'000 * i);  // a small part of the time
      addStep(rows, fmt::format("iter {}", i), 3, 50 * i);             // overlap
      addStep(rows, "train_step", 4, 100 * i, "XRay function");
      if (has_pytorch) addStep(rows, fmt::format("ProfilerStep#{}", i), i % 2, 100 * i);
    }
    StepWatch watch(0);
    watch.add(rows);
    EXPECT_EQ(watch.steps().count, 50u);
    EXPECT_EQ(watch.steps().count, stepsOf(rows, DeviceOps()).all.size());
  }
}

TEST(StepWatchTest, NamesTheFirstSlowStep) {
  StepWatch watch(3);
  Trace rows;
  int64_t start_ns = 0;
  const auto step = [&](int number, int64_t duration_ns) {
    rows.range.clear();
    rows.range.push({.start_ns = start_ns,
                     .duration_ns = duration_ns,
                     .name = rows.strings.intern(fmt::format("step {}", number)),
                     .thread_id = idAt<ThreadId>(0)});
    start_ns += duration_ns;
    return watch.add(rows);
  };
  EXPECT_EQ(step(0, 50'000'000), "") << "nothing is known yet";
  for (int i = 1; i < 20; ++i) EXPECT_EQ(step(i, 10'000'000 + i), "");
  EXPECT_EQ(step(20, 29'000'000), "");
  EXPECT_EQ(step(21, 45'000'000), "step 21 took 45 ms, 4.5 times the median of 10 ms");
  EXPECT_EQ(step(22, 10'000'000), "");
  EXPECT_EQ(watch.steps().count, 23u);
}

}  // namespace
}  // namespace tracesmith
