// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/time_breakdown.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "tracesmith/state/timeline.hpp"

namespace tracesmith {
namespace {

/// Includes intervals that end before they start (see AnalysisOptions::as_hta).
int64_t lengthOfAll(const std::vector<Interval>& intervals) {
  int64_t sum = 0;
  for (const Interval& i : intervals) sum += i.end_ns - i.begin_ns;
  return sum;
}

template <class Ops>
TimeBreakdown breakdown(const Ops& ops) {
  TimeBreakdown out;
  std::array<std::vector<Interval>, kWorkClasses> by_class;
  std::vector<Interval> all;
  std::vector<Interval> kernels;
  for (const DeviceOp& op : ops) {
    by_class[static_cast<size_t>(op.work)].push_back({op.begin_ns, op.end_ns});
    all.push_back({op.begin_ns, op.end_ns});
    if (op.table == TableId::kKernel) kernels.push_back({op.begin_ns, op.end_ns});
  }
  if (all.empty()) return out;
  const std::vector<Interval> busy = mergedOf(std::move(all));
  out.begin_ns = busy.front().begin_ns;
  int64_t end = busy.back().end_ns;
  out.span_ns = end - out.begin_ns;
  out.busy_ns = lengthOfAll(busy);
  out.idle_ns = out.span_ns - out.busy_ns;
  out.kernel_ns = lengthOfAll(mergedOf(std::move(kernels)));
  struct Edge {
    int64_t time;
    int32_t change;
  };
  std::vector<Edge> edges;
  std::array<int64_t, 3> total{};
  for (size_t c = 0; c < 3; ++c) {
    const std::vector<Interval> of_class = mergedOf(std::move(by_class[c]));
    total[c] = lengthOfAll(of_class);
    for (const Interval& i : of_class) {
      edges.push_back({i.begin_ns, 1 << c});
      edges.push_back({i.end_ns, -(1 << c)});
    }
  }
  out.compute_ns = total[0];
  out.communication_ns = total[1];
  out.memory_ns = total[2];
  out.non_compute_ns = out.span_ns - out.idle_ns - out.compute_ns;
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& a, const Edge& b) { return a.time < b.time; });
  int32_t running = 0;
  for (size_t i = 0; i + 1 < edges.size(); ++i) {
    running += edges[i].change;
    if (running > 0 && running < 8) {
      out.together_ns[static_cast<size_t>(running)] += edges[i + 1].time - edges[i].time;
    }
  }
  if (total[1] > 0) {
    out.overlap = static_cast<double>(out.together_ns[3] + out.together_ns[7]) /
                  static_cast<double>(total[1]);
  }
  return out;
}

double fractionOf(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

double TimeBreakdown::kernelUtilization() const { return fractionOf(kernel_ns, span_ns); }

TimeBreakdown breakdownOf(const DeviceOps& ops) { return breakdown(ops.ops); }

std::vector<TimeBreakdown> breakdownByDevice(const DeviceOps& ops) {
  std::map<DeviceId, std::vector<DeviceOp>> devices;
  for (const StreamOps& stream : ops.streams) {
    std::vector<DeviceOp>& of_device = devices[stream.device];
    of_device.insert(of_device.end(), ops.ops.begin() + stream.begin, ops.ops.begin() + stream.end);
  }
  std::vector<TimeBreakdown> out;
  for (const auto& [device, of_device] : devices) {
    out.push_back(breakdown(of_device));
    out.back().device = device;
  }
  return out;
}

TimeBreakdown sumOverDevices(const DeviceOps& ops) { return sumOf(breakdownByDevice(ops)); }

TimeBreakdown sumOf(const std::vector<TimeBreakdown>& devices) {
  TimeBreakdown sum;
  bool first = true;
  for (const TimeBreakdown& b : devices) {
    sum.begin_ns = first ? b.begin_ns : std::min(sum.begin_ns, b.begin_ns);
    first = false;
    sum.span_ns += b.span_ns;
    sum.busy_ns += b.busy_ns;
    sum.idle_ns += b.idle_ns;
    sum.compute_ns += b.compute_ns;
    sum.communication_ns += b.communication_ns;
    sum.memory_ns += b.memory_ns;
    sum.non_compute_ns += b.non_compute_ns;
    sum.kernel_ns += b.kernel_ns;
    for (size_t i = 0; i < b.together_ns.size(); ++i) sum.together_ns[i] += b.together_ns[i];
  }
  if (sum.communication_ns > 0) {
    sum.overlap = static_cast<double>(sum.together_ns[3] + sum.together_ns[7]) /
                  static_cast<double>(sum.communication_ns);
  }
  return sum;
}

IdleReason idleReasonOf(int64_t gap_begin_ns, int64_t gap_ns, std::optional<int64_t> launch_ns,
                        const AnalysisOptions& options) {
  if (launch_ns && *launch_ns > gap_begin_ns) return IdleReason::kHostWait;
  return gap_ns < options.kernel_wait_ns ? IdleReason::kKernelWait : IdleReason::kOther;
}

namespace {

/// Calls f(gap) for each gap of a stream; false: it has no ops but waits.
template <class F>
bool forEachGap(const DeviceOps& ops, const StreamOps& of, const AnalysisOptions& options, F&& f) {
  int64_t previous_end = 0;
  bool first = true;
  for (uint32_t i = of.begin; i < of.end; ++i) {
    const DeviceOp& op = ops.ops[i];
    if (op.table == TableId::kSync) continue;
    // HTA compares with the previous op; the exact method uses the last end so far, because ops
    // may overlap.
    const int64_t gap = op.begin_ns - previous_end;
    const int64_t from = previous_end;
    const bool counts = !first && (gap > 0 || options.as_hta);
    previous_end = first || options.as_hta ? op.end_ns : std::max(previous_end, op.end_ns);
    first = false;
    if (!counts) continue;
    const std::optional<int64_t> launch =
        op.launch == DeviceOp::kNone ? std::nullopt : std::optional(ops.calls.beginNs(op.launch));
    f(IdleGap{of.stream, from, op.begin_ns, idleReasonOf(from, gap, launch, options), i});
  }
  return !first;
}

}  // namespace

std::vector<IdleGap> idleGaps(const DeviceOps& ops, const AnalysisOptions& options) {
  std::vector<IdleGap> out;
  for (const StreamOps& s : ops.streams) {
    forEachGap(ops, s, options, [&](const IdleGap& gap) { out.push_back(gap); });
  }
  return out;
}

std::vector<IdleTime> idleTimes(const DeviceOps& ops, const AnalysisOptions& options) {
  std::vector<IdleTime> out;
  for (const StreamOps& s : ops.streams) {
    IdleTime idle{.stream = s.stream, .device = s.device, .process = ops.ops[s.begin].process};
    const bool any = forEachGap(ops, s, options, [&](const IdleGap& gap) {
      ++idle.gaps;
      int64_t& of_reason = gap.reason == IdleReason::kHostWait     ? idle.host_wait_ns
                           : gap.reason == IdleReason::kKernelWait ? idle.kernel_wait_ns
                                                                   : idle.other_ns;
      of_reason += gap.end_ns - gap.begin_ns;
    });
    if (any) out.push_back(idle);
  }
  return out;
}

}  // namespace tracesmith
