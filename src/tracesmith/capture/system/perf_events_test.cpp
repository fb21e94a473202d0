// SPDX-License-Identifier: Apache-2.0
// Children of the test whose behaviour is known, as perf events show them.
#include "tracesmith/capture/system/perf_events.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/system/sampled_processes.hpp"
#include "tracesmith/stacks/sampled/copied_stack.hpp"

namespace tracesmith {
namespace {

int64_t processorNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

volatile uint64_t g_sink = 0;

// Two functions that differ, so that the linker does not make one of them.
[[gnu::noinline]] void computeThis(int64_t until_ns) {
  while (processorNs() < until_ns) {
    for (int i = 0; i < 20'000; ++i) g_sink = g_sink * 3 + 1;
  }
}
[[gnu::noinline]] void computeThat(int64_t until_ns) {
  while (processorNs() < until_ns) {
    for (int i = 0; i < 20'000; ++i) g_sink = g_sink * 5 + 7;
  }
}

/// Calls of the thread for which it gave the processor up.
int64_t voluntarySwitches() {
  std::array<char, 8192> text{};
  FILE* const in = fopen("/proc/thread-self/status", "r");
  const size_t size = in == nullptr ? 0 : fread(text.data(), 1, text.size() - 1, in);
  if (in != nullptr) fclose(in);
  const char* const at = size == 0 ? nullptr : strstr(text.data(), "\nvoluntary_ctxt_switches:");
  return at == nullptr ? -1 : atoll(at + strlen("\nvoluntary_ctxt_switches:"));
}

constexpr int64_t kPatienceNs = 120'000'000'000;

/// What the threads of a process wait for, for the log of a test that hangs.
std::string stateOf(pid_t pid) {
  std::string out;
  const std::string folder = "/proc/" + std::to_string(pid) + "/task";
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(folder, error)) {
    for (const char* const name : {"/stat", "/wchan", "/syscall"}) {
      std::ifstream in(thread.path().string() + name);
      std::string line;
      std::getline(in, line);
      out += line + "\n";
    }
  }
  return out;
}

class PerfEventsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (perfRights() == PerfRights::kNothing) GTEST_SKIP() << howToAllowPerf();
    if (!stacks::kUnwinds) GTEST_SKIP() << "no unwinder for this machine";
  }

  /// Runs `body` in a child, and `visit` for all that is recorded of it. Returns what `body` does.
  std::array<int64_t, 4> record(const PerfOptions& options,
                                const std::function<std::array<int64_t, 4>()>& body,
                                const std::function<void(const PerfRecord&)>& visit) {
    int to_child[2], from_child[2];
    EXPECT_EQ(pipe2(to_child, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(from_child, O_CLOEXEC), 0);
    child_ = fork();
    if (child_ == 0) {
      char go = 0;
      close(to_child[1]);
      if (read(to_child[0], &go, 1) != 1) _exit(1);
      const std::array<int64_t, 4> result = body();
      _exit(write(from_child[1], &result, sizeof result) == sizeof result ? 0 : 1);
    }
    close(to_child[0]);
    close(from_child[1]);
    auto events = PerfEvents::forProgram(child_, options);
    EXPECT_TRUE(events) << events.error().toString();
    has_kernel_stacks_ = events && events->hasKernelStacks();
    EXPECT_TRUE(processes_.begin(child_));
    EXPECT_EQ(write(to_child[1], "g", 1), 1);
    std::array<int64_t, 4> result{};
    const auto take = [&](const PerfRecord& record) {
      processes_.take(record);
      visit(record);
    };
    pollfd readable{.fd = from_child[0], .events = POLLIN, .revents = 0};
    const int64_t deadline = monotonicNs() + kPatienceNs;
    while (poll(&readable, 1, 5) == 0) {
      if (events && drains_) events->drain(monotonicNs(), take);
      if (monotonicNs() < deadline) continue;
      ADD_FAILURE() << "the child does not end: " << stateOf(child_);
      kill(child_, SIGKILL);
      break;
    }
    EXPECT_GE(read(from_child[0], &result, sizeof result), 0);  // some have none
    int status = 0;
    EXPECT_EQ(waitpid(child_, &status, 0), child_);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    if (events) {
      events->drain(INT64_MAX, take);
      lost_ = events->lost();
      if (drains_) {
        EXPECT_EQ(lost_, 0u);
      }
    }
    close(to_child[1]);
    close(from_child[0]);
    return result;
  }

  /// The beginning of the function at an address of the test program; 0: unknown.
  uint64_t functionAt(uint64_t address) {
    stacks::CfiEntry entry;
    uint64_t place = 0;
    stacks::ProcessCode& code = processes_.at(static_cast<uint32_t>(child_)).code;
    return code.find(address, entry, place) ? address - (place - entry.begin) : 0;
  }
  template <class Function>
  static uint64_t addressOf(Function* function) {
    return reinterpret_cast<uint64_t>(function);
  }
  /// The functions of the frames, innermost first.
  std::vector<uint64_t> functionsOf(const stacks::CopiedStackWalker::Walk& walk) {
    std::vector<uint64_t> out;
    for (const uint64_t word : walk.words) {
      const uint64_t address = word & stacks::kFrameAddressMask;
      out.push_back(functionAt((word & stacks::kExactFrame) != 0 ? address : address - 1));
    }
    return out;
  }
  std::optional<stacks::CopiedStackWalker::Walk> walk(uint32_t pid, const PerfSample& sample) {
    if (!sample.has_user_registers) return std::nullopt;
    return walker_.walk({sample.registers, sample.stack}, processes_.at(pid).code);
  }
  static bool has(const std::vector<uint64_t>& functions, uint64_t function) {
    return std::find(functions.begin(), functions.end(), function) != functions.end();
  }

  pid_t child_ = 0;
  bool has_kernel_stacks_ = false;
  bool drains_ = true;  // while the child runs
  uint64_t lost_ = 0;
  SampledProcesses processes_;
  stacks::CopiedStackWalker walker_{128};
};

TEST_F(PerfEventsTest, SamplesAreDividedAsTheTimeIs) {
  uint64_t all = 0, in_this = 0, in_that = 0, outermost = 0;
  const auto body = [] {
    int64_t spent[2] = {};
    uint32_t random = 1;
    while (spent[0] + spent[1] < 600'000'000) {
      random = random * 1664525 + 1013904223;  // lengths that are no multiple of the rate
      const int64_t begin = processorNs();
      const int64_t length = 1'000'000 + (random >> 8) % 3'000'000;
      const bool is_this = random >> 28 < 11;
      (is_this ? computeThis : computeThat)(begin + length);
      spent[is_this ? 0 : 1] += processorNs() - begin;
    }
    return std::array<int64_t, 4>{spent[0], spent[1], 0, 0};
  };
  const auto spent = record({.starts_at_exec = false}, body, [&](const PerfRecord& record) {
    const auto* const sample = std::get_if<PerfSample>(&record.what);
    if (sample == nullptr) return;
    const auto stack = walk(record.place.pid, *sample);
    ASSERT_TRUE(stack);
    ++all;
    outermost += stack->end == stacks::WalkEnd::kOutermost ? 1 : 0;
    const std::vector<uint64_t> functions = functionsOf(*stack);
    in_this += has(functions, addressOf(&computeThis)) ? 1 : 0;
    in_that += has(functions, addressOf(&computeThat)) ? 1 : 0;
  });
  const auto total = static_cast<double>(spent[0] + spent[1]);
  const double samples = static_cast<double>(in_this + in_that);
  const double share = static_cast<double>(spent[0]) / total;
  EXPECT_GE(samples, 0.9 * static_cast<double>(all));
  if (has_kernel_stacks_) {
    EXPECT_NEAR(samples, total / 1e6, 0.05 * total / 1e6) << "one for each millisecond";
  }
  EXPECT_NEAR(static_cast<double>(in_this), samples * share,
              3 * std::sqrt(samples * share * (1 - share)));
  EXPECT_GE(outermost, all - all / 50);
}

TEST_F(PerfEventsTest, InTheKernelThereAreBothStacks) {
  uint64_t in_kernel = 0, with_stack = 0, with_caller = 0;
  const auto body = [] {
    std::vector<char> bytes(1 << 20);
    const int random = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    while (processorNs() < 100'000'000) {
      if (read(random, bytes.data(), bytes.size()) < 0) break;
    }
    return std::array<int64_t, 4>{};
  };
  record({.starts_at_exec = false}, body, [&](const PerfRecord& record) {
    const auto* const sample = std::get_if<PerfSample>(&record.what);
    if (sample == nullptr || !sample->is_in_kernel) return;
    ++in_kernel;
    with_stack += sample->kernel.size() >= 3 ? 1 : 0;
    const auto stack = walk(record.place.pid, *sample);
    with_caller += stack && stack->words.size() >= 3 ? 1 : 0;
  });
  if (!has_kernel_stacks_) GTEST_SKIP() << howToAllowPerf();
  EXPECT_GT(in_kernel, 50u);
  EXPECT_GE(with_stack, in_kernel - in_kernel / 20);  // it has just entered or is about to leave
  EXPECT_GE(with_caller, in_kernel - in_kernel / 20);
}

TEST_F(PerfEventsTest, WhatAFullRingCouldNotTakeIsCounted) {
  drains_ = false;
  uint64_t samples = 0, told = 0;
  const auto body = [] {
    computeThis(processorNs() + 300'000'000);
    return std::array<int64_t, 4>{};
  };
  record({.ring_bytes = 1, .starts_at_exec = false}, body, [&](const PerfRecord& record) {
    samples += std::holds_alternative<PerfSample>(record.what) ? 1 : 0;
    const auto* const lost = std::get_if<PerfLost>(&record.what);
    told += lost != nullptr && !lost->only_samples ? lost->records : 0;
  });
  EXPECT_GE(samples, 1u);
  EXPECT_GE(lost_, told);
  utsname system{};
  uname(&system);
  if (lost_ == 0 && atoi(system.release) < 6) GTEST_SKIP() << "it came with Linux 6.0";
  EXPECT_GT(lost_, 100u);
  if (has_kernel_stacks_) {
    EXPECT_GE(samples + lost_, 290u);
  }
}

TEST_F(PerfEventsTest, SwitchesAreThoseOfTheKernel) {
  std::vector<std::pair<int64_t, bool>> gaps;  // begin, and whether it was preempted
  std::vector<int64_t> lengths;
  const auto body = [] {
    const int64_t before = voluntarySwitches();
    const int64_t begin = monotonicNs();
    for (int i = 0; i < 40; ++i) {
      const timespec length{.tv_sec = 0, .tv_nsec = 2'000'000};
      nanosleep(&length, nullptr);
    }
    return std::array<int64_t, 4>{voluntarySwitches() - before, begin, monotonicNs(), 0};
  };
  const auto [switches, begin, end, unused] = record(
      {.samples_per_second = 0, .starts_at_exec = false}, body, [&](const PerfRecord& record) {
        const auto* const change = std::get_if<PerfSwitch>(&record.what);
        if (change == nullptr) return;
        if (change->is_out) {
          gaps.emplace_back(record.place.time_ns, change->is_preempted);
        } else if (lengths.size() < gaps.size()) {
          lengths.push_back(record.place.time_ns - gaps.back().first);
        }
      });
  int64_t seen = 0, slept = 0;
  for (size_t i = 0; i < gaps.size(); ++i) {
    if (gaps[i].first < begin || gaps[i].first > end || gaps[i].second) continue;
    ++seen;
    // The time of a sleep begins a moment before the thread gives its processor up.
    if (i < lengths.size() && lengths[i] >= 1'000'000) ++slept;
  }
  EXPECT_NEAR(static_cast<double>(seen), static_cast<double>(switches), 1);
  EXPECT_EQ(slept, 40);
}

TEST_F(PerfEventsTest, ThreadsAndChildrenAreSampled) {
  std::map<uint32_t, std::set<uint32_t>> threads;  // with samples in computeThis, by process
  std::set<uint32_t> forked;
  const auto body = [] {
    // Before there are threads: what they hold as it forks, a sanitizer's child waits for.
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      computeThis(processorNs() + 60'000'000);
      _exit(0);
    }
    std::thread other([] { computeThis(processorNs() + 60'000'000); });
    other.join();
    int status = 0;
    waitpid(grandchild, &status, 0);
    return std::array<int64_t, 4>{grandchild, 0, 0, 0};
  };
  const auto [grandchild, a, b, c] =
      record({.starts_at_exec = false}, body, [&](const PerfRecord& record) {
        if (const auto* const fork = std::get_if<PerfFork>(&record.what)) forked.insert(fork->tid);
        const auto* const sample = std::get_if<PerfSample>(&record.what);
        if (sample == nullptr) return;
        const auto stack = walk(record.place.pid, *sample);
        ASSERT_TRUE(stack);
        if (has(functionsOf(*stack), addressOf(&computeThis))) {
          threads[record.place.pid].insert(record.place.tid);
        }
      });
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_EQ(threads[static_cast<uint32_t>(grandchild)].size(), 1u);
  EXPECT_EQ(threads[static_cast<uint32_t>(child_)].size(), 1u);
  EXPECT_TRUE(forked.contains(static_cast<uint32_t>(grandchild)));
  EXPECT_TRUE(forked.contains(*threads[static_cast<uint32_t>(child_)].begin()));
}

/// Commands of a shell, and the file in which most of the time goes by.
class PerfEventsOfProgramsTest
    : public PerfEventsTest,
      public ::testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(PerfEventsOfProgramsTest, AreFollowedFromTheirFirstInstruction) {
  const char* const command = GetParam().first;
  const char* const file = GetParam().second;
  uint64_t all = 0, outermost = 0, in_file = 0;
  bool is_executed = false;
  const auto body = [&]() -> std::array<int64_t, 4> {
    execl("/bin/sh", "sh", "-c", command, nullptr);
    _exit(1);
  };
  record({}, body, [&](const PerfRecord& record) {
    if (const auto* const name = std::get_if<PerfName>(&record.what)) {
      is_executed = is_executed || (name->is_exec && name->name == "sh");
    }
    const auto* const sample = std::get_if<PerfSample>(&record.what);
    if (sample == nullptr) return;
    EXPECT_TRUE(is_executed) << "a sample of the process before";
    const auto stack = walk(record.place.pid, *sample);
    if (!stack) return;
    ++all;
    outermost += stack->end == stacks::WalkEnd::kOutermost ? 1 : 0;
    stacks::ProcessCode& code = processes_.at(record.place.pid).code;
    for (const uint64_t word : stack->words) {
      const auto place = code.placeOf(word & stacks::kFrameAddressMask);
      if (place.mapping == nullptr || place.mapping->path.find(file) == std::string::npos) continue;
      ++in_file;
      break;
    }
  });
  EXPECT_GT(all, 50u);
  EXPECT_GE(outermost, all - all / 10);
  EXPECT_GE(in_file, all - all / 4);
}
INSTANTIATE_TEST_SUITE_P(
    OfOthers, PerfEventsOfProgramsTest,
    ::testing::Values(std::pair("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done", "/dash"),
                      std::pair("exec perl -e 'for (1..3000000) { $x += $_ * 2 }'", "/perl"),
                      std::pair("head -c 20000000 /usr/bin/perl /dev/zero | gzip > /dev/null",
                                "/gzip")));

TEST_F(PerfEventsTest, ThreadsThatOutliveTheFirstOneAreWalked) {
  std::vector<bool>
      walked;  // whether each sample is in computeThis(), once the first thread has ended
  bool first_ended = false;
  const auto body = []() -> std::array<int64_t, 4> {
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      computeThis(processorNs() + 60'000'000);
      _exit(0);
    }).detach();
    syscall(SYS_exit, 0);  // of this thread alone
    return {};
  };
  record({.starts_at_exec = false}, body, [&](const PerfRecord& record) {
    if (const auto* const ended = std::get_if<PerfExit>(&record.what)) {
      first_ended = first_ended || ended->tid == static_cast<uint32_t>(child_);
    }
    const auto* const sample = std::get_if<PerfSample>(&record.what);
    if (sample == nullptr || !first_ended) return;
    const auto stack = walk(record.place.pid, *sample);
    walked.push_back(stack && has(functionsOf(*stack), addressOf(&computeThis)));
  });
  // Before and after it the thread begins and ends, which may take longer with a sanitizer.
  const auto first = std::find(walked.begin(), walked.end(), true);
  const auto last = std::find(walked.rbegin(), walked.rend(), true).base();
  ASSERT_LT(first, last);
  EXPECT_GT(last - first, 40);
  EXPECT_GE(std::count(first, last, true), (last - first) * 9 / 10);
}

/// Bytes of a record: its header, then what is given.
std::vector<uint8_t> recordOf(uint32_t type, const std::vector<uint64_t>& words) {
  perf_event_header header{};
  header.type = type;
  header.size = static_cast<uint16_t>(sizeof header + words.size() * 8);
  std::vector<uint8_t> out(header.size);
  memcpy(out.data(), &header, sizeof header);
  memcpy(out.data() + sizeof header, words.data(), words.size() * 8);
  return out;
}

constexpr PerfSampleLayout kWithKernel{.has_counters = false, .has_kernel_stacks = true};

constexpr PerfSampleLayout kWithCounters{.has_counters = true, .has_kernel_stacks = true};

/// pid and tid, time, event, processor; then what is given.
std::vector<uint64_t> at(std::initializer_list<uint64_t> more) {
  std::vector<uint64_t> words = {2, 3, 4, 5};
  words.insert(words.end(), more);
  return words;
}

TEST(PerfRecordsTest, CutAndAbsurdRecordsAreRefused) {
  PerfRecord out;
  EXPECT_FALSE(readPerfRecord({}, kWithKernel, out));
  EXPECT_FALSE(readPerfRecord(recordOf(PERF_RECORD_SWITCH, {1, 2, 3}), kWithKernel, out));
  ASSERT_TRUE(readPerfRecord(recordOf(PERF_RECORD_SWITCH, at({})), kWithKernel, out));
  EXPECT_EQ(out.place.pid, 2u);
  EXPECT_EQ(out.place.time_ns, 3);
  EXPECT_EQ(out.place.event, 4u);
  EXPECT_EQ(out.place.cpu, 5u);
  EXPECT_FALSE(readPerfRecord(recordOf(PERF_RECORD_FORK, at({})), kWithKernel, out));
  const auto reads = [&](std::initializer_list<uint64_t> words, const PerfSampleLayout& layout) {
    return readPerfRecord(recordOf(PERF_RECORD_SAMPLE, at(words)), layout, out);
  };
  // More kernel frames, or more of a stack, than there are bytes.
  EXPECT_FALSE(reads({~0ull}, kWithKernel));
  EXPECT_FALSE(reads({0, 0, ~0ull}, kWithKernel));
  EXPECT_FALSE(reads({0, 0, 8, 0, 9}, kWithKernel));
  EXPECT_TRUE(reads({0, 0, 8, 0, 8}, kWithKernel));
  // Counters: of no event, of too many, and cut.
  EXPECT_FALSE(reads({0, 0, 0, 0, 0, 0}, kWithCounters));
  EXPECT_FALSE(reads({100, 0, 0, 0, 0, 0}, kWithCounters));
  EXPECT_FALSE(reads({3, 0, 0, 0, 0, 0}, kWithCounters));
  ASSERT_TRUE(reads({3, 1'000, 0, 11, 0, 12, 0, 0, 0, 0}, kWithCounters));
  const PerfSample& sample = std::get<PerfSample>(out.what);
  EXPECT_EQ(sample.counter_count, 2u);
  EXPECT_EQ(sample.counters[0], 11u);
  EXPECT_EQ(sample.counters[1], 12u);
  ASSERT_TRUE(readPerfRecord(recordOf(PERF_RECORD_THROTTLE, at({1, 2, 3, 4})), kWithKernel, out));
  EXPECT_TRUE(std::holds_alternative<PerfLost>(out.what));
}

TEST_F(PerfEventsTest, AnEndedProcessIsRefused) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  const auto events = PerfEvents::forProgram(child);
  ASSERT_FALSE(events);
  EXPECT_EQ(events.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace tracesmith
