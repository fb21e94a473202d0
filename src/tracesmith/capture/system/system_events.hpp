// SPDX-License-Identifier: Apache-2.0
// What a SystemRecorder gives, in batches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/capture/system/sampled_paths.hpp"
#include "tracesmith/capture/system/sampled_processes.hpp"
#include "tracesmith/capture/system/thread_states.hpp"

namespace tracesmith {

/// Processes, frames and paths have numbers. Those of `processes`, `frames` and `paths` go on from
/// one batch to the next; of frames and paths they begin at 1, and 0 is none.
struct SystemEvents {
  struct Sample {
    int64_t time_ns = 0;
    uint32_t process = 0, tid = 0, cpu = 0;
    uint32_t path = 0;
    CpuMode mode = CpuMode::kUnknown;
  };
  struct Wakeup {
    int64_t time_ns = 0;
    uint32_t process = 0, tid = 0, cpu = 0;
    uint32_t waker_process = 0, waker_tid = 0;  ///< tid 0: none of these threads
    std::string waker;                          ///< what else it was
  };
  struct Call {
    int64_t start_ns = 0, duration_ns = 0, result = 0;
    uint32_t process = 0, tid = 0;
    uint32_t path = 0;
    std::string_view name;  ///< of a table
    std::string subject;
    int64_t descriptor = -1;
    uint64_t lock_address = 0;
    uint32_t owner_tid = 0;  ///< thread of the process; 0: unknown
  };
  struct CallCount {
    uint32_t process = 0;
    std::string_view name;
    uint64_t calls = 0, total_ns = 0;
  };
  /// A counter of a thread, of a process, or of the whole system.
  struct Track {
    static constexpr uint32_t kNoProcess = UINT32_MAX;
    uint32_t process = kNoProcess, tid = 0;  ///< tid 0: of no thread
    std::string name;
    std::string_view unit;  ///< of a table
  };
  struct Count {
    int64_t time_ns = 0;
    uint32_t track = 0;  ///< its number: the place among all tracks so far, from 0
    double value = 0;    ///< since the begin of what is counted
  };
  struct Signal {
    int64_t time_ns = 0;
    uint32_t process = 0, tid = 0;
    std::string name;  ///< "SIGSTOP from kill"
  };
  struct ThreadName {
    uint32_t process = 0, tid = 0;
    std::string name;
  };

  std::vector<SampledProcess> processes;
  std::vector<SampledFrame> frames;
  std::vector<SampledPath> paths;
  std::vector<ThreadName> names;
  std::vector<Sample> samples;
  std::vector<StateSpan> states;
  std::vector<Wakeup> wakeups;
  std::vector<Call> calls;
  std::vector<CallCount> counts;
  std::vector<Track> tracks;
  std::vector<Count> counters;
  std::vector<Signal> signals;
  std::vector<uint32_t> oom_kills;  ///< processes that were killed since memory was short
  uint32_t sample_ns = 0;           ///< processor time of a sample
  uint64_t lost = 0;                ///< records that the kernel could not write, so far
  uint64_t python_stacks = 0, python_lost = 0;  ///< so far: merged, and those that could not be
};

}  // namespace tracesmith
