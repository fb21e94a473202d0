// SPDX-License-Identifier: Apache-2.0
// Facts that several rules need, computed once per trace.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracesmith/analysis/kernel_names/kernel_labels.hpp"
#include "tracesmith/analysis/streaming/work_trace.hpp"
#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/analysis/timing/kernel_occupancy.hpp"
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

/// All gaps of one cause.
struct GapTotal {
  uint64_t count = 0;
  int64_t ns = 0;
  Gap longest;  ///< the first of equal ones

  void add(const Gap& gap) {
    if (count++ == 0 || gap.length() > longest.length()) longest = gap;
    ns += gap.length();
  }
};

struct DeviceFacts {
  TimeBreakdown time;
  int64_t kernel_sum_ns = 0;           ///< of compute kernels, also concurrent ones
  int64_t communication_alone_ns = 0;  ///< without any compute
  int64_t copies_alone_ns = 0;         ///< without any kernel
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

/// What host calls of one name took.
struct CallTime {
  StringId name{};
  uint32_t row = 0;  ///< one of the calls
  uint64_t calls = 0;
  int64_t ns = 0;
};

/// Sums times of host calls by name.
class CallTimes {
 public:
  explicit CallTimes(const Trace& trace) : trace_(trace), seen_(trace.host_call.size(), false) {}
  /// A call that is added several times counts once.
  void add(uint32_t row, int64_t ns);
  std::vector<CallTime> list() const;  ///< the longest first
  uint64_t calls() const { return calls_; }
  int64_t totalNs() const { return total_ns_; }

 private:
  const Trace& trace_;
  std::map<StringId, CallTime> by_name_;
  std::vector<bool> seen_;  // by row of host_call
  uint64_t calls_ = 0;
  int64_t total_ns_ = 0;
};

struct Facts {
  explicit Facts(const Trace& trace);
  /// Of a large trace; `kernel_names` are the names of its kernels.
  Facts(const WorkTrace& work, const std::vector<StringId>& kernel_names);
  Facts(const Facts&) = delete;  // refers to itself
  Facts& operator=(const Facts&) = delete;

  const Trace& trace;
  /// Whether all times are of one clock; those of a job's ranks may be of different ones.
  bool one_clock;
  int64_t begin_ns = 0;  ///< start of the trace
  const DeviceOps& ops;
  std::vector<DeviceFacts> devices;
  DeviceFacts all;                                ///< sums over `devices`
  std::array<GapTotal, kGapCauses> gap_totals{};  ///< by GapCause
  std::vector<KernelTotal> kernels;               ///< compute, by name, the longest first
  std::vector<ThreadCalls> threads;               ///< by thread id
  KernelLabels labels;
  Steps steps;
  int64_t host_begin_ns = 0;  ///< start of the first host call
  int64_t host_end_ns = 0;    ///< end of the last one
  uint64_t launches_known = 0;

  /// The run: from the first to the last event of host or device, as in the emulator.
  int64_t run_begin_ns = 0;
  int64_t run_end_ns = 0;
  /// Some kernel's launch shape and device limits are known.
  bool occupancy_known = false;

  int64_t runNs() const { return lengthOf(run_begin_ns, run_end_ns); }
  const GapTotal& gapsOf(GapCause cause) const { return gap_totals[static_cast<size_t>(cause)]; }
  /// Of a compute kernel with a known launch shape on a device with known limits; else null.
  const KernelOccupancy* occupancyOf(const DeviceOp& op) const;
  /// The short, distinct label of a kernel's name.
  std::string_view label(StringId kernel) const { return labels.label(trace.text(kernel)); }
  /// `ns`, summed over devices, as a share of the run: the mean over the devices.
  double shareOfRun(int64_t ns) const;
  /// `ns` of the host's time, or of all devices together, as a share of the run.
  double shareOfTime(int64_t ns) const;
  /// Time of each device in which any operation ran that `keep` chooses, summed over devices.
  template <class Keep>
  int64_t coveredBy(const Keep& keep) const {
    std::map<DeviceId, std::vector<Interval>> of_device;
    for (const DeviceOp& op : ops.ops) {
      if (keep(op)) of_device[trace.deviceOf(op.stream)].push_back({op.begin_ns, op.end_ns});
    }
    int64_t ns = 0;
    for (auto& [device, intervals] : of_device) ns += coveredNs(std::move(intervals));
    return ns;
  }
  /// Calls f(gap) for each gap of all devices, by device and start.
  template <class F>
  void forEachGap(F&& f) const {
    for (const std::vector<uint32_t>& of_device : order_) {
      uint32_t last = of_device.front();  // the operation that ended last so far
      for (const uint32_t next : of_device) {
        const int64_t begin = ops.ops[last].end_ns;
        const DeviceOp& op = ops.ops[next];
        if (op.begin_ns > begin) f(Gap{begin, op.begin_ns, last, next, causeOfGap(begin, op)});
        if (op.end_ns > begin) last = next;
      }
    }
  }
  /// Outermost call of a thread that contains a time; DeviceOp::kNone if none does.
  uint32_t callAt(ThreadId thread, int64_t time_ns) const;
  /// Calls f(row, overlap_ns) for each outermost call of a thread that overlaps [from_ns, to_ns).
  template <class F>
  void forEachCallIn(ThreadId thread, int64_t from_ns, int64_t to_ns, F&& f) const {
    const ThreadCalls* calls = callsOf(thread);
    if (calls == nullptr) return;
    for (size_t i = firstCall(*calls, from_ns); i < calls->rows.size(); ++i) {
      const uint32_t row = calls->rows[i];
      const int64_t from = std::max(from_ns, ops.calls.beginNs(row));
      const int64_t to = std::min(to_ns, ops.calls.endNs(row));
      if (ops.calls.beginNs(row) >= to_ns) break;
      if (to > from) f(row, to - from);
    }
  }

 private:
  void findAll();
  void findOrder();
  GapCause causeOfGap(int64_t begin_ns, const DeviceOp& after) const;
  const ThreadCalls* callsOf(ThreadId thread) const;
  /// Index in `rows` of the first call that ends after a time.
  size_t firstCall(const ThreadCalls& calls, int64_t time_ns) const;
  void findDevices();
  void findGaps();
  void findKernels();
  void findCalls();
  void findRun();
  void findOccupancies();

  const DeviceOps own_ops_;
  std::vector<std::vector<uint32_t>> order_;  // operations of each device, by start
  std::unordered_map<uint64_t, std::optional<KernelOccupancy>> occupancies_;  // by occupancyKey()
};

}  // namespace tracesmith::findings
