// SPDX-License-Identifier: Apache-2.0
// The call paths of threads that were interrupted, or that waited in a system call: the copied
// stack is walked, and the Python frames that the kernel has read are put where they ran.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "tracesmith/capture/system/sampled_paths.hpp"
#include "tracesmith/capture/system/sampled_processes.hpp"
#include "tracesmith/stacks/sampled/copied_stack.hpp"

namespace tracesmith {

/// Of a thread that was interrupted, or that came back from a system call.
struct StackOfThread {
  const stacks::CopiedStack* stack = nullptr;  ///< nullptr: only that in the kernel is known
  std::span<const uint64_t> kernel;            ///< return addresses in the kernel, innermost first
  uint32_t tid = 0;
  int64_t time_ns = 0;
  bool is_of_call = false;
};
/// The Python frames that belong to the thread's next sample or system call, innermost first.
struct PythonOfThread {
  int64_t time_ns = 0;
  bool is_of_call = false;
  bool is_cut = false;
  std::vector<stacks::RawPythonFrame> frames;
};

class SampledStacks {
 public:
  SampledStacks(SampledPaths& paths, uint32_t most_frames) : paths_(paths), walker_(most_frames) {}

  void takePython(uint32_t tid, PythonOfThread python);
  /// Number of its path (SampledPaths).
  uint32_t pathOf(const StackOfThread& of, SampledProcesses::Process& process);
  void endThread(uint32_t tid) {
    python_.erase({tid, false});
    python_.erase({tid, true});
  }
  /// Python stacks that were put into others, and those that were not what they should be.
  uint64_t merged() const { return merged_; }
  uint64_t unreadable() const { return unreadable_; }

 private:
  void walk(const stacks::CopiedStack* stack, stacks::ProcessCode& code);
  void mergePython(const StackOfThread& of, SampledProcesses::Process& process);

  SampledPaths& paths_;
  stacks::CopiedStackWalker walker_;
  std::map<std::pair<uint32_t, bool>, PythonOfThread> python_;  // by tid, and whether of a call
  std::vector<uint64_t> words_, python_words_;                  // of one stack
  uint64_t merged_ = 0, unreadable_ = 0;
};

}  // namespace tracesmith
