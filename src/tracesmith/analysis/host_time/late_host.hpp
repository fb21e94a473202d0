// SPDX-License-Identifier: Apache-2.0
// Where the launching threads were while devices waited for them: from samples and thread states
// (`profile --system`).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// What a thread was about.
enum class HostCause : uint8_t {
  kComputing,   ///< code of the program and its libraries
  kPython,      ///< the interpreter's own code
  kSystemCall,  ///< the kernel, for a call of the system
  kPageFault,   ///< the kernel, for memory that was not there yet
  kKernel,      ///< the kernel, for anything else: interrupts
  kRunning,     ///< any of these: there is no sample
  kRunnable,    ///< it had no processor
  kWaiting,     ///< it slept, or waited for a disk
  kStopped,
  kLaunching,  ///< the launching call had begun
  kUnknown,    ///< not recorded
};
constexpr size_t kHostCauses = 11;
/// As a part of a sentence: "computing", "in a system call".
std::string_view toString(HostCause cause);

/// A time in which a device had nothing to do because the host was late.
struct LateGap {
  int64_t begin_ns = 0;
  int64_t launch_ns = 0;  ///< begin of the call that launched the work after it
  int64_t end_ns = 0;
  ThreadId thread{};  ///< that launched it
};

/// Time of one cause.
struct LateCause {
  HostCause cause{};
  /// The system call, and what it was about; or the program that had the processor; "": unknown.
  std::string detail;
  int64_t ns = 0;
  uint64_t samples = 0;
};
/// Time in one call stack.
struct LateStack {
  HostCause cause{};
  std::string detail;  ///< as LateCause
  CallPathId path{};   ///< without the kernel's frames
  int64_t ns = 0;
  uint64_t samples = 0;  ///< 0: from states, not from samples
};

/// All gaps together. The times of `causes` add up to total_ns.
struct LateHost {
  int64_t total_ns = 0;
  std::vector<LateCause> causes;  ///< the longest first
  std::vector<LateStack> stacks;  ///< the longest first
  int64_t ns(HostCause cause) const;
};

/// What threads did, by thread and time.
class HostActivity {
 public:
  /// `trace` must outlive it.
  explicit HostActivity(const Trace& trace);
  /// Whether there are samples or states: profile --system.
  bool empty() const { return threads_.empty(); }
  /// The time in which threads ran is divided as the samples of all gaps are: single gaps are often
  /// shorter than the time between two samples. Who may not see the kernel has no samples in it:
  /// then they stand for no more than their own time, and the rest was in the kernel.
  LateHost explain(const std::vector<LateGap>& gaps) const;

 private:
  struct Thread {
    std::vector<uint32_t> samples;  // rows, by time
    std::vector<uint32_t> states;   // rows, by start
    std::vector<uint32_t> calls;    // rows, by start
  };
  std::string waitedIn(const Thread& thread, int64_t time_ns) const;
  /// A cgroup was held back for so long, at some time between these two.
  struct Limit {
    int64_t begin_ns = 0, end_ns = 0;
    int64_t held_back_ns = 0;
    int64_t runnable_ns = 0;  // of all threads in that time
  };
  void findLimits();
  size_t firstLimit(int64_t time_ns) const;
  static int64_t overlap(const Limit& limit, int64_t begin_ns, int64_t end_ns);
  int64_t limitedNs(int64_t begin_ns, int64_t end_ns) const;
  class Sums;
  void addStates(const Thread& thread, int64_t begin_ns, int64_t end_ns, Sums& sums) const;
  void addSamples(const Thread& thread, int64_t begin_ns, int64_t end_ns, Sums& sums) const;

  const Trace& trace_;
  std::map<ThreadId, Thread> threads_;
  std::vector<Limit> limits_;  // by time
  std::string_view limited_by_;
};

/// What the code at the end of a sample's stack is.
struct SampledCode {
  HostCause cause = HostCause::kComputing;
  std::string detail;  ///< as LateCause
};
SampledCode sampledCode(const Trace& trace, CallPathId path, CpuMode mode);
/// The path up to the innermost frame outside of the kernel.
CallPathId userPath(const Trace& trace, CallPathId path);

/// Time of stacks by the innermost function that is not the C library's; functions have the names
/// of FrameSymbols::label().
std::map<std::string, int64_t> timeByFunction(const Trace& trace, const LateHost& late);

/// Whether a frame's module is the kernel or one of its modules: "[kernel]", "[nvidia]".
bool isKernelModule(std::string_view module);

/// Whether a trace has what HostActivity needs.
inline bool hasHostActivity(const Trace& trace) {
  return !trace.cpu_sample.empty() || !trace.thread_state.empty();
}

}  // namespace tracesmith
