// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/launch_analysis.hpp"

#include <algorithm>
#include <array>
#include <string_view>

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

LaunchLatency launchLatency(const Trace& trace, const DeviceOps& ops,
                            const AnalysisOptions& options) {
  LaunchLatency out;
  Launches launches(trace, options, false);
  std::vector<double> call, work, delay, latency;
  for (const DeviceOp& op : ops.ops) {
    if (op.launch == DeviceOp::kNone && op.table != TableId::kSync) ++out.without_launch;
    if (!launches.counts(op)) continue;
    const int64_t begin = ops.call_begin_ns[op.launch];
    const int64_t end = ops.call_end_ns[op.launch];
    call.push_back(static_cast<double>(end - begin));
    work.push_back(static_cast<double>(op.end_ns - op.begin_ns));
    delay.push_back(static_cast<double>(std::max<int64_t>(op.begin_ns - end, 0)));
    latency.push_back(static_cast<double>(std::max<int64_t>(op.begin_ns - begin, 0)));
    if (op.begin_ns < begin) ++out.before_launch;
  }
  out.call = distributionOf(call);
  out.work = distributionOf(work);
  out.delay = distributionOf(delay);
  out.latency = distributionOf(latency);
  return out;
}

std::vector<QueueDepth> queueDepths(const Trace& trace, const DeviceOps& ops,
                                    const AnalysisOptions& options) {
  struct Change {
    int64_t time;
    int32_t by;
  };
  std::vector<QueueDepth> out;
  Launches launches(trace, options, true);
  std::vector<Change> changes;
  std::vector<double> values;
  for (const StreamOps& s : ops.streams) {
    changes.clear();
    values.clear();
    uint64_t before_launch = 0;
    for (uint32_t i = s.begin; i < s.end; ++i) {
      const DeviceOp& op = ops.ops[i];
      if (!launches.counts(op)) continue;
      const int64_t launched = ops.call_begin_ns[op.launch];
      if (op.begin_ns < launched) ++before_launch;
      changes.push_back({std::min(launched, op.begin_ns), 1});
      changes.push_back({op.begin_ns, -1});
    }
    if (changes.empty()) continue;
    // At the same time, launches come first: an op enters the queue before it leaves it.
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return a.time != b.time ? a.time < b.time : a.by > b.by;
    });
    QueueDepth depth{.stream = s.stream,
                     .device = s.device,
                     .process = ops.ops[s.begin].process,
                     .before_launch = before_launch};
    int64_t in_queue = 0;
    double area = 0;
    for (size_t i = 0; i < changes.size(); ++i) {
      in_queue += changes[i].by;
      depth.most = std::max(depth.most, in_queue);
      values.push_back(static_cast<double>(in_queue));
      if (i + 1 < changes.size()) {
        area += static_cast<double>(in_queue) *
                static_cast<double>(changes[i + 1].time - changes[i].time);
      }
    }
    const int64_t span = changes.back().time - changes.front().time;
    if (span > 0) depth.mean_over_time = area / static_cast<double>(span);
    depth.at_changes = distributionOf(values);
    out.push_back(depth);
  }
  return out;
}

}  // namespace tracesmith
