// SPDX-License-Identifier: Apache-2.0
// Facts that several rules need, computed once per trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tracesmith/analysis/kernel_names/kernel_labels.hpp"
#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/analysis/timing/steps.hpp"
#include "tracesmith/analysis/timing/time_breakdown.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::findings {

/// Why a device idled between two operations. The launch is that of the later one.
enum class GapCause : uint8_t {
  kHostLate,       ///< launched after the gap had started
  kInLaunch,       ///< the launching call started before the gap, and had not returned
  kQueued,         ///< launched in time: it waited for the device, a stream or an event
  kLaunchUnknown,  ///< the launch is not in the trace
};
constexpr size_t kGapCauses = 4;

/// A period in which a device executed nothing.
struct Gap {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint32_t before = 0;  ///< index in DeviceOps::ops of the operation that ended at begin_ns
  uint32_t after = 0;   ///< of the operation that ended the gap
  GapCause cause{};
  int64_t length() const { return end_ns - begin_ns; }
};

struct DeviceFacts {
  TimeBreakdown time;
  std::array<int64_t, kGapCauses> gap_ns{};  ///< by GapCause
  int64_t kernel_sum_ns = 0;                 ///< of compute kernels, also concurrent ones
  int64_t communication_alone_ns = 0;        ///< without any compute
  int64_t copies_alone_ns = 0;               ///< without any kernel
};

struct KernelTotal {
  StringId name{};
  uint64_t launches = 0;
  int64_t total_ns = 0;
  int64_t longest_ns = 0;
  uint32_t longest_op = 0;  ///< index in DeviceOps::ops
};

/// Host calls of one thread that no other call of the thread contains, by start.
struct ThreadCalls {
  ThreadId thread{};
  std::vector<uint32_t> rows;
};

struct Interval {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};
/// Time that any of the intervals covers.
int64_t coveredNs(std::vector<Interval> intervals);

struct Facts {
  explicit Facts(const Trace& trace);

  const Trace& trace;
  int64_t begin_ns = 0;  ///< start of the trace
  DeviceOps ops;
  std::vector<DeviceFacts> devices;
  DeviceFacts all;                   ///< sums over `devices`
  std::vector<Gap> gaps;             ///< of all devices, by device and start
  std::vector<KernelTotal> kernels;  ///< compute, by name, the longest first
  std::vector<ThreadCalls> threads;  ///< by thread id
  KernelLabels labels;
  Steps steps;
  int64_t host_begin_ns = 0;  ///< start of the first host call
  int64_t host_end_ns = 0;    ///< end of the last one
  uint64_t launches_known = 0;

  int64_t spanNs() const { return all.time.span_ns; }
  int64_t hostNs() const { return host_end_ns - host_begin_ns; }
  /// The short, distinct label of a kernel's name.
  std::string_view label(StringId kernel) const { return labels.label(trace.text(kernel)); }
  /// `ns` as a share of the time from first to last work, summed over devices.
  double shareOfRun(int64_t ns) const;
  /// Time of each device in which any operation ran that `keep` chooses, summed over devices.
  template <class Keep>
  int64_t coveredBy(const Keep& keep) const {
    std::map<DeviceId, std::vector<Interval>> of_device;
    for (const DeviceOp& op : ops.ops) {
      if (keep(op)) of_device[op.device].push_back({op.begin_ns, op.end_ns});
    }
    int64_t ns = 0;
    for (auto& [device, intervals] : of_device) ns += coveredNs(std::move(intervals));
    return ns;
  }
  double shareOfHost(int64_t ns) const;
  /// Outermost call of a thread that contains a time; DeviceOp::kNone if none does.
  uint32_t callAt(ThreadId thread, int64_t time_ns) const;
  /// Calls f(row, overlap_ns) for each outermost call of a thread that overlaps [from_ns, to_ns).
  template <class F>
  void forEachCallIn(ThreadId thread, int64_t from_ns, int64_t to_ns, F&& f) const {
    const ThreadCalls* calls = callsOf(thread);
    if (calls == nullptr) return;
    for (size_t i = firstCall(*calls, from_ns); i < calls->rows.size(); ++i) {
      const uint32_t row = calls->rows[i];
      const int64_t from = std::max(from_ns, ops.call_begin_ns[row]);
      const int64_t to = std::min(to_ns, ops.call_end_ns[row]);
      if (ops.call_begin_ns[row] >= to_ns) break;
      if (to > from) f(row, to - from);
    }
  }

 private:
  const ThreadCalls* callsOf(ThreadId thread) const;
  /// Index in `rows` of the first call that ends after a time.
  size_t firstCall(const ThreadCalls& calls, int64_t time_ns) const;
  void findDevices();
  void findGaps();
  void findKernels();
  void findCalls();
};

}  // namespace tracesmith::findings
