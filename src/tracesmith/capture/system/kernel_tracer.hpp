// SPDX-License-Identifier: Apache-2.0
// Runs programs in the kernel (bpf/system.bpf.c) that tell of switches, wakeups and system calls of
// the processes that are followed. Needs root, or CAP_BPF and CAP_PERFMON.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/system/perf_events.hpp"
#include "tracesmith/stacks/sampled/python_process.hpp"

namespace tracesmith {

struct KernelTracerOptions {
  int64_t least_call_ns = 10'000;    ///< shorter system calls are only counted
  int64_t least_stack_ns = 100'000;  ///< of a system call that has its stack
};

/// How often a process called the system by one number.
struct SystemCallCount {
  uint32_t number = 0;
  uint64_t calls = 0;
  uint64_t total_ns = 0;
};

class KernelTracer {
 public:
  /// Errors: kPermission, kUnsupported (says what this build or this kernel lacks).
  static Result<std::unique_ptr<KernelTracer>> start(const KernelTracerOptions& options = {});
  ~KernelTracer();
  KernelTracer(const KernelTracer&) = delete;
  KernelTracer& operator=(const KernelTracer&) = delete;

  /// This process, from the next program on that it executes, and all that it starts.
  Status followFromExec(pid_t pid);
  /// These processes, from now on, and all that they start.
  Status follow(const std::vector<uint32_t>& processes);
  /// Each sample of `events` has the Python frames of its thread in a record before it, and so have
  /// long system calls. kUnsupported: this kernel cannot.
  Status readPythonAt(PerfEvents& events);
  /// Where the interpreter of a process that is followed lies.
  void readPythonOf(pid_t pid, const stacks::PythonProcess& python);
  /// Calls `take` for each record so far (bpf/system_records.h), about in the order of time.
  void drain(const std::function<void(std::span<const uint8_t>)>& take);
  /// The system calls of a process so far. It is no longer followed.
  std::vector<SystemCallCount> takeCallsOf(pid_t pid);
  /// Records for which there was no room.
  uint64_t lost() const;
  /// The same of Python stacks.
  uint64_t lostPython() const;

 private:
  uint64_t sumOf(uint32_t counter) const;
  struct Programs;
  explicit KernelTracer(std::unique_ptr<Programs> programs);
  std::unique_ptr<Programs> programs_;
};

}  // namespace tracesmith
