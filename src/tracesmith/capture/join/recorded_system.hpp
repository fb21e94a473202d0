// SPDX-License-Identifier: Apache-2.0
// Rows of what processors did: samples, states of threads, wakeups and system calls.
#pragma once

#include <functional>
#include <vector>

#include "tracesmith/capture/join/record_joiner.hpp"
#include "tracesmith/capture/system/system_events.hpp"

namespace tracesmith {

class RecordedSystem {
 public:
  /// `process_of` gives the row of a process that is new.
  RecordedSystem(SharedRows& shared, std::function<ProcessId(const SampledProcess&)> process_of)
      : shared_(shared), process_of_(std::move(process_of)) {}

  /// Takes what a recorder gives, in the order in which it does.
  void add(const SystemEvents& events);
  /// The row of a process by the recorder's number.
  ProcessId process(uint32_t number) const { return processes_[number]; }
  /// Rows of samples so far, and of others but counts and counters.
  uint64_t samples() const { return samples_; }
  uint64_t others() const { return others_; }

 private:
  void addDictionaries(const SystemEvents& events);
  void addWakeups(const SystemEvents& events);
  void addCalls(const SystemEvents& events);
  void addCounters(const SystemEvents& events);
  void addSignals(const SystemEvents& events);
  ThreadId thread(uint32_t process, uint32_t tid) {
    return shared_.threads.thread(processes_[process], tid);
  }

  SharedRows& shared_;
  std::function<ProcessId(const SampledProcess&)> process_of_;
  // By the recorder's numbers.
  std::vector<ProcessId> processes_;
  std::vector<CounterTrackId> tracks_;
  std::vector<FrameId> frames_;
  std::vector<CallPathId> paths_{CallPathId::kNone};
  uint64_t samples_ = 0;
  uint64_t others_ = 0;
};

}  // namespace tracesmith
