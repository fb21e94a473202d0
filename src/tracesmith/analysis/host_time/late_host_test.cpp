// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/host_time/late_host.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace tracesmith {
namespace {

constexpr auto kProcess = static_cast<ProcessId>(1);
constexpr auto kThread = static_cast<ThreadId>(1);

class LateHostTest : public ::testing::Test {
 protected:
  /// A path of frames, each "module:function", the outermost first.
  CallPathId path(const std::vector<std::string>& frames) {
    CallPathId at{};
    for (const std::string& frame : frames) {
      const size_t colon = frame.find(':');
      trace_.frame.push({.function = trace_.strings.intern(frame.substr(colon + 1)),
                         .module = trace_.strings.intern(frame.substr(0, colon))});
      trace_.call_path.push({.parent = at, .frame = idAt<FrameId>(trace_.frame.size() - 1)});
      at = idAt<CallPathId>(trace_.call_path.size() - 1);
    }
    return at;
  }
  void state(int64_t begin_ns, int64_t end_ns, RunState state, std::string_view instead = {}) {
    trace_.thread_state.push({.start_ns = begin_ns,
                              .duration_ns = end_ns - begin_ns,
                              .state = state,
                              .process_id = kProcess,
                              .thread_id = kThread,
                              .instead = trace_.strings.intern(instead)});
  }
  void sample(int64_t time_ns, CallPathId path, CpuMode mode = CpuMode::kUser) {
    trace_.cpu_sample.push({.time_ns = time_ns,
                            .process_id = kProcess,
                            .thread_id = kThread,
                            .call_path_id = path,
                            .mode = mode});
  }
  static std::map<std::string, int64_t> byCause(const LateHost& late) {
    std::map<std::string, int64_t> out;
    for (const LateCause& cause : late.causes) {
      std::string name(toString(cause.cause));
      if (!cause.detail.empty()) name += " " + cause.detail;
      out[name] += cause.ns;
    }
    return out;
  }

  Trace trace_;
};

using Causes = std::map<std::string, int64_t>;

TEST_F(LateHostTest, StatesAreDividedExactlyAndSumUp) {
  state(0, 100, RunState::kRunning);
  state(100, 160, RunState::kSleeping);
  state(160, 200, RunState::kRunnable, "hog");
  state(230, 300, RunState::kStopped);  // from 200 to 230 nothing is known
  state(300, 400, RunState::kRunning);
  const HostActivity activity(trace_);
  const LateHost late = activity.explain({{50, 350, 380, kThread}, {390, 395, 400, kThread}});
  EXPECT_EQ(late.total_ns, 340);
  EXPECT_EQ(byCause(late), (Causes{{"running (no sample)", 50 + 50 + 5},
                                   {"waiting", 60},
                                   {"without a processor hog", 40},
                                   {"not recorded", 30},
                                   {"stopped", 70},
                                   {"launching", 30 + 5}}));
  EXPECT_EQ(late.causes.front().cause, HostCause::kRunning);
}

TEST_F(LateHostTest, TheLimitOfACgroupHasItsShareOfTheTimeWithoutAProcessor) {
  state(0, 100, RunState::kRunnable, "hog");
  state(100, 200, RunState::kRunning);
  state(200, 260, RunState::kRunnable, "hog");
  const auto track = [&](const char* name) {
    trace_.counter_track.push({.name = trace_.strings.intern(name)});
    return idAt<CounterTrackId>(trace_.counter_track.size() - 1);
  };
  const CounterTrackId other = track("cgroup /jobs: held back by its limit");
  const CounterTrackId limit = track("cgroup /jobs/one: held back by its limit");
  for (const auto& [time_ns, value] : {std::pair{-50, 0.0}, {50, 40.0}, {150, 40.0}, {250, 90.0}}) {
    trace_.counter.push({.time_ns = time_ns, .track_id = limit, .value = value});
    trace_.counter.push({.time_ns = time_ns, .track_id = other, .value = value / 2});
  }
  const HostActivity activity(trace_);
  // 40 of the 50 until 50; nothing until 150; all 50 until 250; nothing is known after that.
  const LateHost late = activity.explain({{0, 260, 260, kThread}});
  EXPECT_EQ(byCause(late), (Causes{{"without a processor limit of cgroup /jobs/one", 40 + 50},
                                   {"without a processor hog", 10 + 50 + 10},
                                   {"running (no sample)", 100}}));
  // Of half of it, half.
  const LateHost half = activity.explain({{0, 25, 25, kThread}});
  EXPECT_EQ(byCause(half), (Causes{{"without a processor limit of cgroup /jobs/one", 20},
                                   {"without a processor hog", 5}}));
}

TEST_F(LateHostTest, PythonFunctionsComeBeforeTheInterpretersOwn) {
  state(0, 1'000, RunState::kRunning);
  sample(100, path({"/usr/bin/python3.11:main", "Python:load"}));
  sample(200, path({"/usr/bin/python3.11:main", "Python:load", "/usr/bin/python3.11:dict_get"}));
  sample(300, path({"/usr/bin/python3.11:main", "Python:load", "/opt/numpy.so:add"}));
  const HostActivity activity(trace_);
  const LateHost late = activity.explain({{0, 300, 300, kThread}, {300, 600, 600, kThread}});
  EXPECT_EQ(byCause(late), (Causes{{"in the Python interpreter", 400}, {"computing", 200}}));
  EXPECT_EQ(timeByFunction(trace_, late),
            (std::map<std::string, int64_t>{{"load", 400}, {"add", 200}}));
}

TEST_F(LateHostTest, RunningTimeIsDividedAsTheSamplesOfAllGapsAre) {
  const CallPathId compute = path({"a.out:main", "a.out:work"});
  const CallPathId python = path({"/usr/bin/python3.11:main", "/usr/bin/python3.11:_PyEval"});
  const CallPathId reads = path({"a.out:main", "libc.so.6:read", "[kernel]:do_syscall_64",
                                 "[kernel]:ksys_read", "[kernel]:vfs_read"});
  const CallPathId faults =
      path({"a.out:main", "[kernel]:asm_exc_page_fault", "[kernel]:clear_page"});
  const CallPathId interrupted = path({"a.out:main", "[kernel]:asm_sysvec_apic_timer_interrupt"});
  state(0, 1'000, RunState::kRunning);
  sample(100, compute);
  sample(150, compute);
  sample(210, python);
  sample(310, reads, CpuMode::kKernel);
  sample(350, faults, CpuMode::kKernel);
  sample(390, interrupted, CpuMode::kKernel);
  sample(700, compute);  // in no gap
  const HostActivity activity(trace_);
  const LateHost late = activity.explain(
      {{100, 200, 200, kThread}, {200, 201, 201, kThread}, {205, 404, 404, kThread}});
  EXPECT_EQ(late.total_ns, 300);
  EXPECT_EQ(byCause(late), (Causes{{"computing", 100},
                                   {"in the Python interpreter", 50},
                                   {"in a system call read", 50},
                                   {"handling page faults", 50},
                                   {"in the kernel", 50}}));
  EXPECT_EQ(late.causes.front().samples, 2u);
  EXPECT_EQ(timeByFunction(trace_, late),
            (std::map<std::string, int64_t>{{"work", 100}, {"_PyEval", 50}, {"main", 150}}));
  for (const LateStack& stack : late.stacks) {
    EXPECT_EQ(userPath(trace_, stack.path), stack.path) << "no frames of the kernel";
  }
}

TEST_F(LateHostTest, WithoutRightsForTheKernelSamplesStandForTheirOwnTime) {
  trace_.setMetadata("system_rights", "user");
  state(0, 1'000, RunState::kRunning);
  sample(100, path({"a.out:main"}));
  trace_.cpu_sample.weight_ns[0] = 300;
  EXPECT_EQ(byCause(HostActivity(trace_).explain({{0, 1'000, 1'000, kThread}})),
            (Causes{{"computing", 300}, {"in the kernel no rights to see what", 700}}));
  EXPECT_EQ(byCause(HostActivity(trace_).explain({{0, 200, 200, kThread}})),
            (Causes{{"computing", 200}}));
}

TEST_F(LateHostTest, CodeOfTheKernelIsKnownByItsModulesAndEntries) {
  const auto codeOf = [&](const std::vector<std::string>& frames) {
    const SampledCode code = sampledCode(trace_, path(frames), CpuMode::kKernel);
    return std::string(toString(code.cause)) + " " + code.detail;
  };
  EXPECT_EQ(codeOf({"a:main", "[kernel]:do_syscall_64", "[kernel]:x64_sys_call",
                    "[kernel]:__x64_sys_ioctl", "[nvidia]:nvidia_ioctl"}),
            "in a system call ioctl");
  EXPECT_EQ(codeOf({"a:main", "[kernel]:el0t_64_sync", "[kernel]:el0_svc", "[kernel]:do_el0_svc",
                    "[kernel]:el0_svc_common.constprop.0", "[kernel]:invoke_syscall.constprop.0",
                    "[kernel]:__arm64_sys_read", "[kernel]:ksys_read"}),
            "in a system call read");
  EXPECT_EQ(codeOf({"a:main", "[kernel]:[unknown]"}), "in the kernel names unknown");
  const CallPathId in_driver = path({"a:main", "[kernel]:do_syscall_64", "[nvidia]:nvidia_ioctl"});
  EXPECT_EQ(trace_.text(trace_.frame.function[indexOf(
                trace_.call_path.frame[indexOf(userPath(trace_, in_driver))])]),
            "main");
  EXPECT_FALSE(isKernelModule("[vdso]"));
  EXPECT_FALSE(isKernelModule("/usr/lib/[odd].so"));
}

TEST_F(LateHostTest, NoShareIsLostToRounding) {
  state(0, 1'000'003, RunState::kRunning);
  for (int i = 0; i < 7; ++i) sample(i, path({"a.out:f" + std::to_string(i)}));
  const LateHost late = HostActivity(trace_).explain({{0, 1'000'003, 1'000'003, kThread}});
  int64_t of_causes = 0, of_stacks = 0;
  for (const LateCause& cause : late.causes) of_causes += cause.ns;
  for (const LateStack& stack : late.stacks) of_stacks += stack.ns;
  EXPECT_EQ(of_causes, 1'000'003);
  EXPECT_EQ(of_stacks, 1'000'003);
}

TEST_F(LateHostTest, AWaitIsInItsSystemCall) {
  state(0, 100, RunState::kSleeping);
  trace_.thread_state.call_path_id[0] = path({"a.out:main", "libc.so.6:futex"});
  state(100, 150, RunState::kDiskWait);
  state(200, 300, RunState::kSleeping);
  trace_.thread.push({.id = kThread, .tid = 7, .name = trace_.strings.intern("main")});
  trace_.thread.push(
      {.id = static_cast<ThreadId>(2), .tid = 8, .name = trace_.strings.intern("loader")});
  trace_.system_call.push({.start_ns = -5,
                           .duration_ns = 110,
                           .name = trace_.strings.intern("futex"),
                           .thread_id = kThread,
                           .owner_thread_id = static_cast<ThreadId>(2)});
  trace_.system_call.push({.start_ns = 190,
                           .duration_ns = 120,
                           .name = trace_.strings.intern("read"),
                           .thread_id = kThread,
                           .subject = trace_.strings.intern("/data/x")});
  const LateHost late = HostActivity(trace_).explain({{0, 300, 300, kThread}});
  EXPECT_EQ(byCause(late), (Causes{{"waiting futex, held by loader (8)", 100 + 50},
                                   {"waiting read of /data/x", 100},
                                   {"not recorded", 50}}));
  ASSERT_EQ(late.stacks.size(), 1u);
  EXPECT_EQ(late.stacks[0].ns, 100);
  EXPECT_EQ(timeByFunction(trace_, late), (std::map<std::string, int64_t>{{"main", 100}}));
}

TEST_F(LateHostTest, WhatIsNotRecordedIsSaidToBe) {
  EXPECT_TRUE(HostActivity(trace_).empty());
  state(0, 100, RunState::kRunning);
  const HostActivity activity(trace_);
  EXPECT_FALSE(activity.empty());
  const LateHost late = activity.explain({{0, 50, 60, static_cast<ThreadId>(2)},
                                          {500, 400, 600, kThread},    // launched before it began
                                          {700, 900, 800, kThread},    // launched after it ended
                                          {900, 900, 850, kThread}});  // ends before it begins
  EXPECT_EQ(late.total_ns, 60 + 100 + 100);
  EXPECT_EQ(byCause(late), (Causes{{"not recorded", 50 + 100}, {"launching", 10 + 100}}));
}

TEST_F(LateHostTest, DamagedPathsEnd) {
  trace_.frame.push({.module = trace_.strings.intern("[kernel]")});
  trace_.call_path.push({.parent = static_cast<CallPathId>(2), .frame = static_cast<FrameId>(1)});
  trace_.call_path.push({.parent = static_cast<CallPathId>(1), .frame = static_cast<FrameId>(9)});
  state(0, 10, RunState::kRunning);
  sample(1, static_cast<CallPathId>(1), CpuMode::kKernel);
  sample(2, static_cast<CallPathId>(2), CpuMode::kKernel);
  sample(3, static_cast<CallPathId>(77));
  sample(4, CallPathId::kNone);
  const LateHost late = HostActivity(trace_).explain({{0, 10, 10, kThread}});
  int64_t sum = 0;
  for (const LateCause& cause : late.causes) sum += cause.ns;
  EXPECT_EQ(sum, 10);
  timeByFunction(trace_, late);
}

}  // namespace
}  // namespace tracesmith
