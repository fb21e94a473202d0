// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/findings/facts.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "tracesmith/analysis/streaming/time_sweep.hpp"
#include "tracesmith/base/natural_sort.hpp"
#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith::findings {
namespace {

bool isWork(const DeviceOp& op) { return op.work != WorkClass::kOther; }

uint64_t occupancyKey(ShapeId shape, DeviceId device) {
  return static_cast<uint64_t>(device) << 32 | static_cast<uint64_t>(shape);
}

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

Facts::Facts(const Trace& of)
    : trace(of),
      one_clock(haveOneClock(of).has_value()),
      begin_ns(timeRange(of).begin_ns),
      ops(own_ops_),
      labels(of),
      own_ops_(DeviceOps::of(of)) {
  findAll();
}

Facts::Facts(const WorkTrace& work, const std::vector<StringId>& kernel_names)
    : trace(work.trace),
      one_clock(haveOneClock(work.trace).has_value()),
      begin_ns(work.range.begin_ns),
      ops(work.ops),
      labels(work.trace.strings, kernel_names) {
  findAll();
}

void Facts::findAll() {
  steps = stepsOf(trace, ops);  // before the others, because it takes the most memory
  findOrder();
  findDevices();
  findGaps();
  findKernels();
  findCalls();
  findRun();
  findOccupancies();
}

void Facts::findOrder() {
  std::map<DeviceId, std::vector<uint32_t>> of_devices;
  for (const StreamOps& stream : ops.streams) {
    std::vector<uint32_t>& order = of_devices[stream.device];
    for (uint32_t i = stream.begin; i < stream.end; ++i) {
      if (isWork(ops.ops[i])) order.push_back(i);
    }
  }
  for (auto& [device, order] : of_devices) {
    if (order.empty()) continue;
    naturalSort(order.begin(), order.end(),
                [&](uint32_t a, uint32_t b) { return ops.ops[a].begin_ns < ops.ops[b].begin_ns; });
    order_.push_back(std::move(order));
  }
}

int64_t coveredNs(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
  int64_t covered = 0;
  int64_t end = INT64_MIN;
  for (const Interval& interval : intervals) {
    const int64_t from = std::max(end, interval.begin_ns);
    if (interval.end_ns <= from) continue;
    covered += interval.end_ns - from;
    end = interval.end_ns;
  }
  return covered;
}

void CallTimes::add(uint32_t row, int64_t ns) {
  const StringId name = trace_.host_call.name[row];
  CallTime& of = by_name_[name];
  of.name = name;
  of.row = row;
  if (!seen_[row]) {
    seen_[row] = true;
    ++of.calls;
    ++calls_;
  }
  of.ns += ns;
  total_ns_ += ns;
}

std::vector<CallTime> CallTimes::list() const {
  std::vector<CallTime> out;
  for (const auto& [name, of] : by_name_) out.push_back(of);
  std::stable_sort(out.begin(), out.end(),
                   [](const CallTime& a, const CallTime& b) { return a.ns > b.ns; });
  return out;
}

double Facts::shareOfRun(int64_t ns) const {
  return share(ns, runNs()) / static_cast<double>(std::max<size_t>(devices.size(), 1));
}
double Facts::shareOfTime(int64_t ns) const { return share(ns, runNs()); }

void Facts::findRun() {
  run_begin_ns = INT64_MAX;
  run_end_ns = INT64_MIN;
  for (const DeviceFacts& device : devices) {
    run_begin_ns = std::min(run_begin_ns, device.time.begin_ns);
    run_end_ns = std::max(run_end_ns, endOf(device.time.begin_ns, device.time.span_ns));
  }
  if (!trace.host_call.empty()) {
    run_begin_ns = std::min(run_begin_ns, host_begin_ns);
    run_end_ns = std::max(run_end_ns, host_end_ns);
  }
  if (run_begin_ns > run_end_ns) run_begin_ns = run_end_ns = 0;
}

void Facts::findOccupancies() {
  for (const DeviceOp& op : ops.ops) {
    if (op.table != TableId::kKernel || op.work != WorkClass::kCompute) continue;
    const ShapeId shape = trace.kernel.shape_id[op.row];
    const auto [at, made] =
        occupancies_.try_emplace(occupancyKey(shape, trace.deviceOf(op.stream)));
    if (!made) continue;
    at->second = KernelOccupancy::of(trace, shape, trace.deviceOf(op.stream));
    occupancy_known = occupancy_known || at->second;
  }
}

const KernelOccupancy* Facts::occupancyOf(const DeviceOp& op) const {
  if (op.table != TableId::kKernel || op.work != WorkClass::kCompute) return nullptr;
  const auto found =
      occupancies_.find(occupancyKey(trace.kernel.shape_id[op.row], trace.deviceOf(op.stream)));
  return found != occupancies_.end() && found->second ? &*found->second : nullptr;
}

void Facts::findDevices() {
  for (const std::vector<uint32_t>& of_device : order_) {
    BreakdownSweep sweep;
    for (const uint32_t i : of_device) sweep.add(streamedOpOf(trace, ops, ops.ops[i]));
    DeviceFacts& device = devices.emplace_back();
    const TimeBreakdown& time = device.time = sweep.finish();
    device.time.device = trace.deviceOf(ops.ops[of_device.front()].stream);
    // Bits of together_ns: 1 compute, 2 communication, 4 memory.
    device.communication_alone_ns = time.together_ns[2] + time.together_ns[6];
    device.copies_alone_ns = time.together_ns[4];
    all.time.span_ns += time.span_ns;
    all.time.busy_ns += time.busy_ns;
    all.time.idle_ns += time.idle_ns;
    all.time.compute_ns += time.compute_ns;
    all.time.communication_ns += time.communication_ns;
    all.time.memory_ns += time.memory_ns;
    all.communication_alone_ns += device.communication_alone_ns;
    all.copies_alone_ns += device.copies_alone_ns;
  }
}

GapCause Facts::causeOfGap(int64_t begin, const DeviceOp& after) const {
  if (after.launch == DeviceOp::kNone) return GapCause::kLaunchUnknown;
  if (ops.calls.beginNs(after.launch) > begin) return GapCause::kHostLate;
  return ops.calls.endNs(after.launch) > begin ? GapCause::kInLaunch : GapCause::kQueued;
}

void Facts::findGaps() {
  for (const DeviceOp& op : ops.ops) launches_known += op.launch != DeviceOp::kNone;
  forEachGap([&](const Gap& gap) { gap_totals[static_cast<size_t>(gap.cause)].add(gap); });
}

void Facts::findKernels() {
  std::vector<KernelTotal> by_name(trace.strings.size() + 1);
  for (uint32_t i = 0; i < ops.ops.size(); ++i) {
    const DeviceOp& op = ops.ops[i];
    if (op.table != TableId::kKernel || op.work != WorkClass::kCompute) continue;
    const int64_t length = lengthOf(op.begin_ns, op.end_ns);
    all.kernel_sum_ns += length;
    const auto id = static_cast<size_t>(op.name);
    KernelTotal& total = by_name[id < by_name.size() ? id : 0];
    total.name = op.name;
    ++total.launches;
    total.total_ns += length;
    if (length >= total.longest_ns) {
      total.longest_ns = length;
      total.longest_op = i;
    }
  }
  for (const KernelTotal& total : by_name) {
    if (total.launches > 0) kernels.push_back(total);
  }
  std::stable_sort(kernels.begin(), kernels.end(), [](const KernelTotal& a, const KernelTotal& b) {
    return a.total_ns > b.total_ns;
  });
}

void Facts::findCalls() {
  const HostCallTable& calls = trace.host_call;
  if (calls.empty()) return;
  host_begin_ns = INT64_MAX;
  host_end_ns = INT64_MIN;
  std::vector<std::vector<uint32_t>> by_thread(trace.thread.size() + 1);
  for (uint32_t row = 0; row < calls.size(); ++row) {
    host_begin_ns = std::min(host_begin_ns, ops.calls.beginNs(row));
    host_end_ns = std::max(host_end_ns, ops.calls.endNs(row));
    const auto thread = static_cast<size_t>(calls.thread_id[row]);
    by_thread[thread < by_thread.size() ? thread : 0].push_back(row);  // 0: of no known thread
  }
  for (size_t t = 0; t < by_thread.size(); ++t) {
    std::vector<uint32_t>& rows = by_thread[t];
    if (rows.empty()) continue;
    const auto earlier = [&](uint32_t a, uint32_t b) {
      // Of calls that start together, the longest contains the others.
      return std::tuple(ops.calls.beginNs(a), -ops.calls.endNs(a), a) <
             std::tuple(ops.calls.beginNs(b), -ops.calls.endNs(b), b);
    };
    if (!std::is_sorted(rows.begin(), rows.end(), earlier)) {
      std::sort(rows.begin(), rows.end(), earlier);
    }
    int64_t until = INT64_MIN;
    std::erase_if(rows, [&](uint32_t row) {
      const bool inside = ops.calls.endNs(row) <= until;
      until = std::max(until, ops.calls.endNs(row));
      return inside;
    });
    threads.push_back({static_cast<ThreadId>(t), std::move(rows)});
  }
}

const ThreadCalls* Facts::callsOf(ThreadId thread) const {
  const auto found =
      std::lower_bound(threads.begin(), threads.end(), thread,
                       [](const ThreadCalls& c, ThreadId id) { return c.thread < id; });
  return found != threads.end() && found->thread == thread ? &*found : nullptr;
}

size_t Facts::firstCall(const ThreadCalls& calls, int64_t time_ns) const {
  // Outermost calls do not contain each other, so their ends increase as well.
  const auto found =
      std::upper_bound(calls.rows.begin(), calls.rows.end(), time_ns,
                       [&](int64_t time, uint32_t row) { return time < ops.calls.endNs(row); });
  return static_cast<size_t>(found - calls.rows.begin());
}

uint32_t Facts::callAt(ThreadId thread, int64_t time_ns) const {
  const ThreadCalls* calls = callsOf(thread);
  if (calls == nullptr) return DeviceOp::kNone;
  const size_t i = firstCall(*calls, time_ns);
  if (i == calls->rows.size() || ops.calls.beginNs(calls->rows[i]) > time_ns) {
    return DeviceOp::kNone;
  }
  return calls->rows[i];
}

}  // namespace tracesmith::findings
