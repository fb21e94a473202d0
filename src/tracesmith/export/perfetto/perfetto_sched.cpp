// SPDX-License-Identifier: Apache-2.0
// Writes which threads ran on which processor, why they stopped, and who woke them, as the kernel's
// own trace events: viewers and their SQL tables know those. Only the program's threads are known:
// while others ran, a processor looks idle.
#include <algorithm>
#include <set>

#include "tracesmith/export/perfetto/perfetto_encoder.hpp"

namespace tracesmith::perfetto {
namespace {

constexpr int64_t kPriority = 120;
constexpr size_t kMostName = 15;  // of a thread, as the kernel has it
constexpr size_t kEventsOfPacket = 512;
constexpr size_t kMostSwitchBytes = 128, kMostWakingBytes = 80;

/// The bits of a state in the kernel's events. kUnknown: the thread has ended.
int64_t bitsOf(RunState state) {
  switch (state) {
    case RunState::kUnknown:
      return 0x10;
    case RunState::kSleeping:
    case RunState::kWaiting:
      return 1;
    case RunState::kDiskWait:
      return 2;
    case RunState::kStopped:
      return 4;
    default:
      return 0;
  }
}

}  // namespace

/// A thread ran.
struct Encoder::Run {
  int64_t start_ns = 0, end_ns = 0;
  ThreadId thread{};
  RunState after = RunState::kRunnable;  ///< what it did then
};

std::map<uint32_t, std::vector<Encoder::Run>> Encoder::runsByProcessor() const {
  const ThreadStateTable& states = trace_.thread_state;
  std::vector<uint32_t> rows;
  int64_t recorded_to = INT64_MIN;
  for (uint32_t i = 0; i < states.size(); ++i) {
    const bool is_known = states.thread_id[i] != ThreadId::kNone &&
                          indexOf(states.thread_id[i]) < trace_.thread.size();
    if (is_known) rows.push_back(i);
    recorded_to = std::max(recorded_to, endOf(states.start_ns[i], states.duration_ns[i]));
  }
  std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(states.thread_id[a], states.start_ns[a]) <
           std::pair(states.thread_id[b], states.start_ns[b]);
  });
  std::map<uint32_t, std::vector<Run>> out;
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint32_t row = rows[i];
    if (states.state[row] != RunState::kRunning ||
        !selection_.span(states.start_ns[row], states.duration_ns[row])) {
      continue;
    }
    Run run{.start_ns = states.start_ns[row],
            .end_ns = endOf(states.start_ns[row], states.duration_ns[row]),
            .thread = states.thread_id[row]};
    if (i + 1 < rows.size() && states.thread_id[rows[i + 1]] == run.thread) {
      const bool is_next = states.start_ns[rows[i + 1]] == run.end_ns;  // nothing was lost between
      if (is_next) run.after = states.state[rows[i + 1]];
    } else if (run.end_ns < recorded_to) {
      run.after = RunState::kUnknown;
    }
    out[states.cpu[row]].push_back(run);
  }
  for (auto& [cpu, runs] : out) {
    std::sort(runs.begin(), runs.end(),
              [](const Run& a, const Run& b) { return a.start_ns < b.start_ns; });
  }
  return out;
}

/// nullptr: no thread of the program.
void Encoder::writeSwitch(proto::Cursor& c, int64_t boottime_ns, const Run* before,
                          const Run* next) const {
  namespace k = ftrace::sched_switch;
  const auto tidOf = [&](const Run* run) -> uint64_t {
    return run == nullptr ? 0 : trace_.thread.tid[indexOf(run->thread)];
  };
  const auto nameOfThread = [&](const Run* run) {
    if (run == nullptr) return std::string_view("swapper");
    return text(trace_.thread.name[indexOf(run->thread)]).substr(0, kMostName);
  };
  c.message<ftrace::kEvent>([&] {
    c.uint<ftrace::kTimestamp>(static_cast<uint64_t>(boottime_ns));
    c.uint<ftrace::kPid>(tidOf(before));
    c.message<ftrace::kSchedSwitch>([&] {
      c.text<k::kPreviousName>(nameOfThread(before));
      c.uint<k::kPreviousPid>(tidOf(before));
      c.uint<k::kPreviousPriority>(kPriority);
      c.uint<k::kPreviousState>(
          static_cast<uint64_t>(before == nullptr ? 0 : bitsOf(before->after)));
      c.text<k::kNextName>(nameOfThread(next));
      c.uint<k::kNextPid>(tidOf(next));
      c.uint<k::kNextPriority>(kPriority);
    });
  });
}

void Encoder::writeProcessor(uint32_t cpu, const std::vector<Run>& runs, int64_t to_boottime_ns) {
  for (size_t begin = 0; begin < runs.size(); begin += kEventsOfPacket) {
    const size_t end = std::min(begin + kEventsOfPacket, runs.size());
    packets_.untimed(main_, 2 * kMostSwitchBytes * (end - begin) + 16, [&](proto::Cursor& c) {
      c.message<packet::kFtraceEvents>([&] {
        c.uint<ftrace::kCpu>(cpu);
        for (size_t i = begin; i < end; ++i) {
          const Run& run = runs[i];
          // Threads that follow each other at once are one switch.
          const bool follows = i > 0 && runs[i - 1].end_ns >= run.start_ns;
          writeSwitch(c, run.start_ns + to_boottime_ns, follows ? &runs[i - 1] : nullptr, &run);
          const bool is_followed = i + 1 < runs.size() && run.end_ns >= runs[i + 1].start_ns;
          if (!is_followed) writeSwitch(c, run.end_ns + to_boottime_ns, &run, nullptr);
        }
      });
    });
    events_ += 2 * (end - begin);
  }
}

void Encoder::writeWakeups(int64_t to_boottime_ns) {
  const WakeupTable& wakeups = trace_.wakeup;
  std::map<uint32_t, std::vector<uint32_t>> rows;  // by processor
  const auto isKnown = [&](ThreadId thread) {
    return thread != ThreadId::kNone && indexOf(thread) < trace_.thread.size();
  };
  for (uint32_t i = 0; i < wakeups.size(); ++i) {
    if (isKnown(wakeups.thread_id[i]) && selection_.instant(wakeups.time_ns[i])) {
      rows[wakeups.cpu[i]].push_back(i);
    }
  }
  for (auto& [of_cpu, of_rows] : rows) {
    const uint32_t cpu = of_cpu;
    std::vector<uint32_t>& those = of_rows;
    std::sort(those.begin(), those.end(),
              [&](uint32_t a, uint32_t b) { return wakeups.time_ns[a] < wakeups.time_ns[b]; });
    for (size_t begin = 0; begin < those.size(); begin += kEventsOfPacket) {
      const size_t end = std::min(begin + kEventsOfPacket, those.size());
      packets_.untimed(main_, kMostWakingBytes * (end - begin) + 16, [&](proto::Cursor& c) {
        c.message<packet::kFtraceEvents>([&] {
          c.uint<ftrace::kCpu>(cpu);
          for (size_t i = begin; i < end; ++i) {
            const uint32_t row = those[i];
            const ThreadId waker = wakeups.waker_thread_id[row];
            const size_t woken = indexOf(wakeups.thread_id[row]);
            c.message<ftrace::kEvent>([&] {
              namespace k = ftrace::sched_waking;
              c.uint<ftrace::kTimestamp>(
                  static_cast<uint64_t>(wakeups.time_ns[row] + to_boottime_ns));
              c.uint<ftrace::kPid>(isKnown(waker) ? trace_.thread.tid[indexOf(waker)] : 0);
              c.message<ftrace::kSchedWaking>([&] {
                c.text<k::kName>(text(trace_.thread.name[woken]).substr(0, kMostName));
                c.uint<k::kPid>(trace_.thread.tid[woken]);
                c.uint<k::kPriority>(kPriority);
                c.uint<k::kSuccess>(1);
                c.uint<k::kTargetCpu>(cpu);
              });
            });
          }
        });
      });
      events_ += end - begin;
    }
  }
}

/// So that threads without slices belong to their processes.
void Encoder::describeThreads() {
  std::set<ThreadId> described;
  for (uint32_t track = 0; track < lanes_.size(); ++track) {
    if (!lanes_[track].empty()) described.insert(tracks_.thread(track));
  }
  for (const ThreadId thread : trace_.thread_state.thread_id) {
    if (thread == ThreadId::kNone || indexOf(thread) >= trace_.thread.size() ||
        !described.insert(thread).second) {
      continue;
    }
    const size_t row = indexOf(thread);
    const uint32_t pid = pidOf(trace_.thread.process_id[row]);
    const std::string_view name = text(trace_.thread.name[row]);
    if (pid == 0 || trace_.thread.tid[row] == 0) continue;
    packets_.untimed(main_, 64 + name.size(), [&](proto::Cursor& c) {
      c.message<packet::kTrackDescriptor>([&] {
        c.uint<track::kUuid>(packets_.uuid(TrackKind::kThreadOnly, static_cast<uint64_t>(thread)));
        c.message<track::kThread>([&] {
          c.uint<track::thread::kPid>(pid);
          c.uint<track::thread::kTid>(trace_.thread.tid[row]);
          if (!name.empty()) c.text<track::thread::kName>(name);
        });
      });
    });
  }
}

/// Viewers take such events in CLOCK_BOOTTIME only.
void Encoder::writeThreadStates() {
  const std::optional<int64_t> to_boottime_ns = clock_.toBoottimeNs();
  if (trace_.thread_state.empty() || !to_boottime_ns) return;
  describeThreads();
  for (const auto& [cpu, runs] : runsByProcessor()) writeProcessor(cpu, runs, *to_boottime_ns);
  writeWakeups(*to_boottime_ns);
}

}  // namespace tracesmith::perfetto
