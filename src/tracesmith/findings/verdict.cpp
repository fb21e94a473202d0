// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/findings/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/findings/rules.hpp"

namespace tracesmith::findings {
namespace {

/// Parts below this are not worth a clause.
constexpr double kLeastClause = 0.05;
constexpr double kLeastOfKernels = 0.1;

std::string devicesOf(const Facts& facts) {
  bool gpus = true;
  for (const DeviceFacts& device : facts.devices) {
    const auto i = static_cast<size_t>(device.time.device);
    const bool known = i > 0 && i <= facts.trace.device.size();
    gpus = gpus && known && facts.trace.device.kind[i - 1] == DeviceKind::kGpu;
  }
  const char* word = gpus ? "GPU" : "device";
  if (facts.devices.size() == 1) return gpus ? "GPU" : "Device";
  return fmt::format("{} {}s", facts.devices.size(), word);
}

/// Why devices idled between their first and last work, for most of that time.
std::string idleClause(const Facts& facts) {
  const double idle = facts.shareOfRun(facts.all.time.idle_ns);
  if (idle < kLeastClause) return "";
  const auto longest =
      std::max_element(facts.gap_totals.begin(), facts.gap_totals.end(),
                       [](const GapTotal& a, const GapTotal& b) { return a.ns < b.ns; });
  const std::string part = formatPercent(facts.shareOfRun(longest->ns));
  const std::string out = fmt::format("; idle {}: ", formatPercent(idle));
  switch (static_cast<GapCause>(longest - facts.gap_totals.begin())) {
    case GapCause::kHostLate:
      return out + fmt::format("the host was late for {}", part);
    case GapCause::kInLaunch:
      return out + fmt::format("launch calls took long for {}", part);
    case GapCause::kQueued:
      return out + fmt::format("work that was already launched waited for {}", part);
    case GapCause::kLaunchUnknown:
      break;
  }
  return out + fmt::format("for {} the trace does not show why", part);
}

}  // namespace

std::string verdictOf(const Facts& facts, const std::vector<Finding>& list) {
  std::string out;
  for (const Finding& finding : list) {
    if (finding.severity == Severity::kWrong || finding.rule == kStraggler) {
      out += finding.title + " ";
    }
  }
  if (!facts.one_clock) {
    return out + "The clocks of the ranks were not compared, so most rules were not checked.";
  }
  if (facts.devices.empty()) return out + "The trace has no device work.";
  const TimeBreakdown& time = facts.all.time;
  out += fmt::format("{} busy {} of the run", devicesOf(facts),
                     formatPercent(facts.shareOfRun(time.busy_ns)));
  const double communication = facts.shareOfRun(facts.all.communication_alone_ns);
  if (communication >= kLeastClause) {
    out += fmt::format(", {} with communication alone", formatPercent(communication));
  }
  const double copies = facts.shareOfRun(facts.all.copies_alone_ns);
  if (copies >= kLeastClause) out += fmt::format(", {} with copies alone", formatPercent(copies));
  out += idleClause(facts);
  const double outside = 1 - facts.shareOfRun(time.span_ns);
  if (outside >= kLeastClause) {
    out +=
        fmt::format("; {} before the first or after the last device work", formatPercent(outside));
  }
  if (!facts.kernels.empty() && facts.shareOfRun(facts.all.time.compute_ns) >= kLeastClause) {
    const KernelTotal& first = facts.kernels.front();
    const double of_kernels = static_cast<double>(first.total_ns) /
                              static_cast<double>(std::max<int64_t>(facts.all.kernel_sum_ns, 1));
    if (of_kernels >= kLeastOfKernels)
      out += fmt::format("; {} takes {} of kernel time", facts.label(first.name),
                         formatPercent(of_kernels));
  }
  return out + ".";
}

}  // namespace tracesmith::findings
