// SPDX-License-Identifier: Apache-2.0
// Why the host was late, in tables.
#include <map>

#include "tracesmith/analysis/host_time/late_host.hpp"
#include "tracesmith/analysis/report/report_parts.hpp"
#include "tracesmith/analysis/timing/runtime_frames.hpp"

namespace tracesmith::report_parts {
namespace {

using Q = Quantity;

std::vector<LateGap> lateGaps(const Maker& maker) {
  std::vector<LateGap> out;
  for (const IdleGap& gap : idleGaps(maker.ops, maker.options.analysis)) {
    if (gap.reason != IdleReason::kHostWait) continue;
    const uint32_t launch = maker.ops.ops[gap.op].launch;
    out.push_back({gap.begin_ns, maker.ops.calls.beginNs(launch), gap.end_ns,
                   maker.trace.host_call.thread_id[launch]});
  }
  return out;
}

/// Stacks that show the same text are one.
void addLateStacks(Maker& maker, const LateHost& late) {
  const FrameSymbols symbols(maker.trace);
  const CallPathTable paths =
      maker.options.all_frames ? maker.trace.call_path : withoutRuntimeFrames(maker.trace);
  struct Sum {
    int64_t ns = 0;
    uint64_t samples = 0;
  };
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const LateStack& stack : late.stacks) {
    std::string what(toString(stack.cause));
    if (!stack.detail.empty()) what += " (" + stack.detail + ")";
    Sum& sum = sums[{std::move(what), callStackText(maker, paths, symbols, stack.path)}];
    sum.ns += stack.ns;
    sum.samples += stack.samples;
  }
  if (sums.empty()) return;
  ReportTable& table =
      maker.table("late_host_stacks", "Call stacks of that time, the longest first",
                  {{"ns", "time", Q::kNs},
                   {"share", "share", Q::kShare},
                   {"samples", "samples", Q::kCount, 2},
                   {"cause", "thread was", Q::kText, 1},
                   {"stack", "call stack", Q::kText}});
  for (const auto& [key, sum] : sums) {
    table.rows.push_back(
        {sum.ns, shareOf(sum.ns, late.total_ns), count(sum.samples), key.first, key.second});
  }
  keepLargest(maker, table, "ns");
}

}  // namespace

void addLateHost(Maker& maker) {
  const HostActivity activity(maker.trace);
  if (activity.empty()) return;
  const LateHost late = activity.explain(lateGaps(maker));
  ReportTable& table =
      maker.table("late_host", "Where launching threads were while streams waited for the host",
                  {{"cause", "thread was", Q::kText},
                   {"detail", "in, or behind", Q::kText},
                   {"ns", "time", Q::kNs},
                   {"share", "share", Q::kShare},
                   {"samples", "samples", Q::kCount, 1}});
  for (const LateCause& cause : late.causes) {
    table.rows.push_back({std::string(toString(cause.cause)), cause.detail, cause.ns,
                          shareOf(cause.ns, late.total_ns), count(cause.samples)});
  }
  keepLargest(maker, table, "ns");
  addLateStacks(maker, late);
}

}  // namespace tracesmith::report_parts
