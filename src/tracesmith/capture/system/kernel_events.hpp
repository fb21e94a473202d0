// SPDX-License-Identifier: Apache-2.0
// Makes states, wakeups and system calls of threads from the records of the programs in the kernel.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/capture/system/sampled_processes.hpp"
#include "tracesmith/capture/system/sampled_stacks.hpp"
#include "tracesmith/capture/system/system_events.hpp"
#include "tracesmith/capture/system/thread_states.hpp"

namespace tracesmith {

class KernelEvents {
 public:
  /// What it makes goes to `out`; the arguments must outlive it.
  KernelEvents(SampledProcesses& processes, SampledStacks& stacks, ThreadStates& states,
               SystemEvents& out)
      : processes_(processes), stacks_(stacks), states_(states), out_(out) {}

  /// The time to which a record belongs; INT64_MIN: it is malformed.
  static int64_t timeOf(std::span<const uint8_t> record);
  /// Takes each record, in the order of these times.
  void take(std::span<const uint8_t> record);
  /// A state that has ended. A wait is kept until its system call ends, which has the stack.
  void takeState(StateSpan&& span);
  void nameThread(uint32_t tid, std::string_view name) { names_[tid] = name; }
  /// "": unknown.
  std::string_view nameOf(uint32_t tid) const {
    const auto name = names_.find(tid);
    return name == names_.end() ? std::string_view() : std::string_view(name->second);
  }
  /// Gives the waits that it kept.
  void endThread(uint32_t process, uint32_t tid) {
    giveWaits(process, tid, INT64_MAX, 0);
    waits_.erase({process, tid});
  }
  void finish();

 private:
  void takeSwitch(std::span<const uint8_t> record);
  void takeWakeup(std::span<const uint8_t> record);
  void takeCall(std::span<const uint8_t> record);
  void takePython(std::span<const uint8_t> record);
  void takeSignal(std::span<const uint8_t> record);
  void takeOomKill(uint32_t pid);
  uint32_t pathOf(std::span<const uint8_t> record, SampledProcesses::Process& process);
  void giveWaits(uint32_t process, uint32_t tid, int64_t begin_ns, uint32_t path);
  std::string subjectOf(uint32_t pid, int64_t descriptor);

  SampledProcesses& processes_;
  SampledStacks& stacks_;
  ThreadStates& states_;
  SystemEvents& out_;
  std::unordered_map<uint32_t, std::string> names_;  // of threads of all programs, by tid
  std::map<std::pair<uint32_t, uint32_t>, std::vector<StateSpan>> waits_;  // process, tid
};

}  // namespace tracesmith
