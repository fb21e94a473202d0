// SPDX-License-Identifier: Apache-2.0
// Interrupts the threads of a program at a fixed rate, and notes when they get and lose a
// processor: by perf events, which need no rights for one's own programs on most systems.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/system/perf_records.hpp"

namespace tracesmith {

struct PerfOptions {
  uint32_t samples_per_second = 1000;   ///< of each thread, while it runs; 0: none
  uint32_t stack_bytes = 16 << 10;      ///< copied of each sampled stack; a multiple of 8
  size_t ring_bytes = size_t{8} << 20;  ///< of each processor; less if the system grants less
  bool has_switches = true;             ///< when threads get and lose a processor
  bool starts_at_exec = true;           ///< begin when the program is executed, and not at once
  bool has_counters = true;             ///< samples have what their thread has counted
};

/// What samples count, each in the order of PerfSample::counters.
struct PerfCounter {
  const char* name;
  const char* unit;
};

/// What the kernel lets this process see of the programs that it starts.
enum class PerfRights : uint8_t {
  kNothing,
  kUser,           ///< code of programs, and their switches
  kUserAndKernel,  ///< also where in the kernel they were
};
PerfRights perfRights();
/// The command that allows more, for people; "": everything is allowed.
std::string howToAllowPerf();

class PerfEvents {
 public:
  /// For a process of one thread, and all threads and processes that it starts. Errors:
  /// kPermission (says which setting forbids it), kUnsupported (no such events), kNotFound (no such
  /// process), kNoSpace (too many open files).
  static Result<PerfEvents> forProgram(pid_t pid, const PerfOptions& options = {});
  /// For processes that run already, all their threads, and all that they start; enable() begins.
  /// Samples have no counters. Processes that this user may not record are left out, unless it is
  /// the first one. Errors as above; kNoSpace: they have too many threads for the open files that
  /// the system grants.
  static Result<PerfEvents> forRunning(const std::vector<uint32_t>& processes, PerfOptions options);
  Status enable();
  PerfEvents(PerfEvents&&) noexcept;
  PerfEvents& operator=(PerfEvents&&) noexcept;
  ~PerfEvents();

  /// Calls `visit` for what was recorded until then, in the order of time; INT64_MAX: for the last
  /// time, all. Views in a record end with the call.
  void drain(int64_t until_ns, const std::function<void(const PerfRecord&)>& visit);
  /// Runs a program in the kernel (BPF) at each sample, before it is written. Call it before the
  /// followed program starts others.
  Status runAtSamples(int program_fd);
  bool hasKernelStacks() const { return layout_.has_kernel_stacks; }
  /// None, if this kernel does not count for each thread of a program (before 6.13).
  const std::vector<PerfCounter>& counters() const { return counters_; }
  /// Of each processor.
  size_t ringBytes() const { return ring_bytes_; }
  /// Records that the kernel could not write, and those that could not be read. Before the last
  /// drain(), and with kernels before 6.0, only those of which the kernel has told.
  uint64_t lost() const { return lost_; }

 private:
  class Ring;
  PerfEvents() = default;
  Status openRings(pid_t pid, const PerfOptions& options, bool has_kernel);
  Status openThread(uint32_t tid, const PerfOptions& options, bool has_kernel);
  Status openThreads(const std::vector<uint32_t>& processes, const PerfOptions& options,
                     bool has_kernel);
  Status openFirst(uint32_t tid, const PerfOptions& options, bool has_kernel);
  std::vector<int> samplingFds() const;
  bool isTwice(const PerfRecord& record);
  void openCounters(const Ring& ring, pid_t pid, bool has_kernel);
  Status mapRings(size_t bytes);

  std::vector<std::unique_ptr<Ring>> rings_;  // of each processor
  std::vector<uint8_t> copied_;               // records, aligned to 8 bytes
  size_t ring_bytes_ = 0;
  PerfSampleLayout layout_;
  std::vector<PerfCounter> counters_;
  std::vector<int> more_fds_;  // counters; events of further threads, which write to the rings
  /// Of running processes: the thread that an event was opened for. A thread that was started while
  /// events were opened may have inherited one and have one of its own.
  std::map<uint64_t, uint32_t> opened_for_;
  std::unordered_map<uint32_t, uint32_t> recorded_by_;  // by tid: whose event counts
  std::set<uint32_t> known_;                            // threads with events
  bool counts_lost_ = false;
  uint64_t told_ = 0, unreadable_ = 0;
  uint64_t lost_ = 0;
};

}  // namespace tracesmith
