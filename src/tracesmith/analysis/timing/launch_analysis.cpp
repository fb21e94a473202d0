// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/launch_analysis.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace tracesmith {
namespace {

/// HTA identifies launches by function name; its queue analysis knows more names than its latency
/// analysis.
bool launchesByHta(std::string_view function, bool queue, bool main_branch) {
  constexpr std::array<std::string_view, 5> kLatency = {
      "cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync",
      "runFunction - job_prep_and_submit_for_execution"};
  constexpr std::array<std::string_view, 7> kQueue = {
      "cuLaunchKernel", "cuLaunchKernelEx", "hipLaunchKernel",    "hipExtModuleLaunchKernel",
      "hipMemsetAsync", "hipMemcpyAsync",   "hipMemcpyWithStream"};
  if (!main_branch && function == "cuLaunchKernelEx") return false;
  return std::find(kLatency.begin(), kLatency.end(), function) != kLatency.end() ||
         (queue && std::find(kQueue.begin(), kQueue.end(), function) != kQueue.end());
}

class Launches {
 public:
  Launches(const Trace& trace, const AnalysisOptions& options, bool queue)
      : trace_(trace),
        options_(options),
        queue_(queue),
        known_(options.as_hta ? trace.strings.size() + 1 : 0, -1) {}
  bool counts(const DeviceOp& op) {
    if (op.launch == DeviceOp::kNone) return false;
    if (!options_.as_hta) return op.table != TableId::kSync;
    const StringId name = trace_.host_call.name[op.launch];
    int8_t& known = known_[static_cast<size_t>(name)];
    if (known < 0) known = launchesByHta(trace_.text(name), queue_, options_.hta_main) ? 1 : 0;
    return known == 1;
  }

 private:
  const Trace& trace_;
  const AnalysisOptions& options_;
  bool queue_;
  std::vector<int8_t> known_;
};

}  // namespace

void LaunchDelays::add(int64_t call_begin_ns, int64_t call_end_ns, int64_t begin_ns,
                       int64_t end_ns) {
  call_.add(call_end_ns - call_begin_ns);
  work_.add(end_ns - begin_ns);
  delay_.add(std::max<int64_t>(begin_ns - call_end_ns, 0));
  latency_.add(std::max<int64_t>(begin_ns - call_begin_ns, 0));
  if (begin_ns < call_begin_ns) ++before_launch_;
}

void LaunchDelays::add(LaunchDelays&& others) {
  call_.add(std::move(others.call_));
  work_.add(std::move(others.work_));
  delay_.add(std::move(others.delay_));
  latency_.add(std::move(others.latency_));
  without_launch_ += others.without_launch_;
  before_launch_ += others.before_launch_;
}

LaunchLatency LaunchDelays::finish() {
  LaunchLatency out{.without_launch = without_launch_, .before_launch = before_launch_};
  out.call = distributionOf(std::exchange(call_, {}));
  out.work = distributionOf(std::exchange(work_, {}));
  out.delay = distributionOf(std::exchange(delay_, {}));
  out.latency = distributionOf(std::exchange(latency_, {}));
  return out;
}

LaunchLatency launchLatency(const Trace& trace, const DeviceOps& ops,
                            const AnalysisOptions& options) {
  Launches launches(trace, options, false);
  LaunchLatency out;
  // One after another, because each takes 4 bytes an op.
  const auto distribution = [&](auto&& value) {
    CompactDurations values;
    for (const DeviceOp& op : ops.ops) {
      if (!launches.counts(op)) continue;
      values.add(value(ops.calls.beginNs(op.launch), ops.calls.endNs(op.launch), op));
    }
    return distributionOf(values);
  };
  out.call = distribution([](int64_t begin, int64_t end, const DeviceOp&) { return end - begin; });
  out.work =
      distribution([](int64_t, int64_t, const DeviceOp& op) { return op.end_ns - op.begin_ns; });
  out.delay = distribution([](int64_t, int64_t end, const DeviceOp& op) {
    return std::max<int64_t>(op.begin_ns - end, 0);
  });
  out.latency = distribution([](int64_t begin, int64_t, const DeviceOp& op) {
    return std::max<int64_t>(op.begin_ns - begin, 0);
  });
  for (const DeviceOp& op : ops.ops) {
    if (op.launch == DeviceOp::kNone && op.table != TableId::kSync) ++out.without_launch;
    if (launches.counts(op) && op.begin_ns < ops.calls.beginNs(op.launch)) ++out.before_launch;
  }
  return out;
}

void QueuedLaunches::add(int64_t launch_ns, int64_t begin_ns) {
  if (begin_ns < launch_ns) ++before_launch_;
  launches_.push_back(std::min(launch_ns, begin_ns));
  begins_.push_back(begin_ns);
}

QueueDepth QueuedLaunches::finish() {
  QueueDepth out{.before_launch = before_launch_};
  for (std::vector<int64_t>* const times : {&launches_, &begins_}) {
    if (!std::is_sorted(times->begin(), times->end())) std::sort(times->begin(), times->end());
  }
  std::vector<uint64_t> changes_at;  // by depth
  size_t launched = 0, begun = 0;
  int64_t last_ns = 0;
  double area = 0;
  while (begun < begins_.size()) {
    // At the same time, launches come first: an op enters the queue before it leaves it.
    const bool is_launch = launched < launches_.size() && launches_[launched] <= begins_[begun];
    const int64_t time = is_launch ? launches_[launched] : begins_[begun];
    const size_t before = launched - begun;
    if (launched + begun > 0)
      area += static_cast<double>(before) * static_cast<double>(time - last_ns);
    last_ns = time;
    ++(is_launch ? launched : begun);
    const size_t depth = launched - begun;
    if (depth >= changes_at.size()) changes_at.resize(depth + 1);
    ++changes_at[depth];
  }
  if (begins_.empty()) return out;
  out.most = static_cast<int64_t>(changes_at.size()) - 1;
  const int64_t span = last_ns - launches_.front();
  if (span > 0) out.mean_over_time = area / static_cast<double>(span);
  out.at_changes = distributionOfCounts(changes_at);
  return out;
}

std::vector<QueueDepth> queueDepths(const Trace& trace, const DeviceOps& ops,
                                    const AnalysisOptions& options) {
  std::vector<QueueDepth> out;
  Launches launches(trace, options, true);
  for (const StreamOps& s : ops.streams) {
    QueuedLaunches queue;
    queue.reserve(s.end - s.begin);
    for (uint32_t i = s.begin; i < s.end; ++i) {
      const DeviceOp& op = ops.ops[i];
      if (launches.counts(op)) queue.add(ops.calls.beginNs(op.launch), op.begin_ns);
    }
    if (queue.empty()) continue;
    QueueDepth depth = queue.finish();
    depth.stream = s.stream;
    depth.device = s.device;
    depth.process = ops.ops[s.begin].process;
    out.push_back(depth);
  }
  return out;
}

}  // namespace tracesmith
