// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/counter_tracks.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tracesmith/capture/system/system_pressure.hpp"

namespace tracesmith {
namespace {

using Texts = std::vector<std::string>;
namespace fs = std::filesystem;

/// "track time value" of each value.
Texts valuesOf(const SystemEvents& events) {
  Texts out;
  for (const SystemEvents::Count& count : events.counters) {
    const SystemEvents::Track& track = events.tracks.at(count.track);
    out.push_back(track.name + (track.tid == 0 ? "" : " of " + std::to_string(track.tid)) + " " +
                  std::to_string(count.time_ns / 1'000'000) + " " +
                  std::to_string(static_cast<int64_t>(count.value)));
  }
  return out;
}

TEST(ThreadCountersTest, EachProcessorCountsByItself) {
  SystemEvents out;
  CounterTracks tracks(out);
  ThreadCounters counters(tracks, {{"faults", "faults"}, {"migrations", "migrations"}});
  const auto sample = [&](int64_t ms, uint32_t tid, uint32_t cpu, uint64_t faults,
                          uint64_t migrations) {
    PerfSample taken;
    taken.counter_count = 2;
    taken.counters = {faults, migrations};
    counters.take(0, {.time_ns = ms * 1'000'000, .pid = 1, .tid = tid, .cpu = cpu}, taken);
  };
  sample(0, 7, 0, 5, 0);
  sample(1, 7, 0, 6, 0);    // too soon
  sample(20, 7, 1, 10, 1);  // moved
  sample(40, 7, 1, 10, 1);  // nothing new
  sample(60, 7, 0, 8, 1);
  sample(61, 8, 0, 3, 0);
  counters.endThread(0, 8);
  sample(62, 7, 0, 9, 1);
  counters.finish();
  EXPECT_EQ(valuesOf(out),
            (Texts{"faults of 7 20 16", "migrations of 7 20 1", "faults of 7 60 18",
                   "migrations of 7 60 2", "faults of 8 61 3", "faults of 7 62 19"}));
  EXPECT_EQ(out.tracks.size(), 3u);
}

TEST(ThreadCountersTest, SamplesWithoutCountersGiveNothing) {
  SystemEvents out;
  CounterTracks tracks(out);
  ThreadCounters counters(tracks, {});
  counters.take(0, {.time_ns = 1, .pid = 1, .tid = 1}, {});
  counters.finish();
  EXPECT_TRUE(out.tracks.empty());
}

/// A folder like /proc, with a process in cgroups of both versions.
class SystemPressureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tracesmith-pressure-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
    ASSERT_TRUE(processes_.begin(getpid()));
    write("proc/self/mountinfo",
          "30 25 0:27 / " + root_ + "/unified rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n" +
              "31 25 0:28 / " + root_ + "/memory rw - cgroup cgroup rw,memory\n" + "32 25 0:29 / " +
              root_ + "/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
    write("proc/" + std::to_string(getpid()) + "/cgroup",
          "4:cpu,cpuacct:/jobs/one\n3:memory:/jobs\n0::/user/two\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    const fs::path file = fs::path(root_) / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  std::string root_;
  SampledProcesses processes_;
};

TEST_F(SystemPressureTest, ValuesBeginWithTheRecording) {
  write("cpu/jobs/one/cpu.stat", "nr_periods 9\nnr_throttled 2\nthrottled_time 5000\n");
  write("cpu/jobs/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
  write("unified/user/two/cpu.stat", "usage_usec 3\nnr_throttled 1\nthrottled_usec 7\n");
  write("unified/user/cpu.stat", "usage_usec 3\n");  // no such controller
  write("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 total=100\nfull avg10=0.00 total=7\n");
  write("proc/pressure/io", "nonsense");
  SystemEvents out;
  CounterTracks tracks(out);
  SystemPressure pressure(tracks, root_ + "/proc");
  pressure.poll(1'000'000'000, processes_);
  write("cpu/jobs/one/cpu.stat", "nr_periods 9\nnr_throttled 2\nthrottled_time 6000\n");
  write("unified/user/two/cpu.stat", "usage_usec 3\nnr_throttled 1\nthrottled_usec 10\n");
  write("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 total=150\nfull avg10=0.00 total=7\n");
  pressure.poll(1'050'000'000, processes_);  // too soon
  EXPECT_TRUE(out.counters.empty());
  pressure.poll(1'200'000'000, processes_);
  EXPECT_EQ(valuesOf(out), (Texts{"system: some thread waited for a processor 1000 0",
                                  "system: some thread waited for a processor 1200 50000",
                                  "cgroup /jobs/one: held back by its limit 1000 0",
                                  "cgroup /jobs/one: held back by its limit 1200 1000",
                                  "cgroup /user/two: held back by its limit 1000 0",
                                  "cgroup /user/two: held back by its limit 1200 3000"}));
  out.counters.clear();
  pressure.poll(1'300'000'000, processes_);
  pressure.poll(1'400'000'000, processes_);
  write("cpu/jobs/one/cpu.stat", "throttled_time 7500\n");
  write("unified/user/two/cpu.stat", "throttled_usec 1\n");  // another one with this name
  pressure.poll(1'500'000'000, processes_);
  write("unified/user/two/cpu.stat", "throttled_usec 2\n");
  pressure.poll(1'600'000'000, processes_);
  EXPECT_EQ(valuesOf(out), (Texts{"cgroup /jobs/one: held back by its limit 1400 1000",
                                  "cgroup /jobs/one: held back by its limit 1500 2500",
                                  "cgroup /user/two: held back by its limit 1400 3000",
                                  "cgroup /user/two: held back by its limit 1500 4000",
                                  "cgroup /user/two: held back by its limit 1600 5000"}))
      << "it grew after the last time at which it had not";
}

TEST_F(SystemPressureTest, WithoutSuchFilesThereIsNothing) {
  SystemEvents out;
  CounterTracks tracks(out);
  SystemPressure pressure(tracks, root_ + "/nowhere");
  pressure.poll(1'000'000'000, processes_);
  pressure.poll(3'000'000'000, processes_);
  EXPECT_TRUE(out.tracks.empty());
}

}  // namespace
}  // namespace tracesmith
