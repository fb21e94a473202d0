// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/findings/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tracesmith/base/human_units.hpp"

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

double ratio(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string idleClause(const Facts& facts) {
  const int64_t idle = facts.all.time.idle_ns;
  if (facts.shareOfRun(idle) < kLeastClause) return "";
  const auto longest =
      std::max_element(facts.gap_totals.begin(), facts.gap_totals.end(),
                       [](const GapTotal& a, const GapTotal& b) { return a.ns < b.ns; });
  const auto most = static_cast<size_t>(longest - facts.gap_totals.begin());
  const std::string share = formatPercent(ratio(longest->ns, idle));
  switch (static_cast<GapCause>(most)) {
    case GapCause::kHostLate:
      return fmt::format("; {} of the idle time the host was late", share);
    case GapCause::kInLaunch:
      return fmt::format("; {} of the idle time a launch call took long", share);
    case GapCause::kQueued:
      return fmt::format("; {} of the idle time work waited although it was launched", share);
    case GapCause::kLaunchUnknown:
      break;
  }
  return fmt::format("; for {} of the idle time the trace has no launch, so the cause is unknown",
                     share);
}

}  // namespace

std::string verdictOf(const Facts& facts, const std::vector<Finding>& list) {
  std::string out;
  for (const Finding& finding : list) {
    if (finding.severity == Severity::kWrong) out += finding.title + " ";
  }
  if (facts.devices.empty()) return out + "The trace has no device work.";
  const TimeBreakdown& time = facts.all.time;
  out += fmt::format("{} busy {} of the run{}", devicesOf(facts),
                     formatPercent(facts.shareOfRun(time.busy_ns)), idleClause(facts));
  const double outside = 1 - facts.shareOfRun(time.span_ns);
  if (outside >= kLeastClause) {
    out += fmt::format("; {} of the run is before the first or after the last device work",
                       formatPercent(outside));
  }
  const double communication = facts.shareOfRun(facts.all.communication_alone_ns);
  if (communication >= kLeastClause) {
    out += fmt::format("; {} of the run is communication alone", formatPercent(communication));
  }
  const double copies = facts.shareOfRun(facts.all.copies_alone_ns);
  if (copies >= kLeastClause) {
    out += fmt::format("; {} of the run is copies alone", formatPercent(copies));
  }
  if (!facts.kernels.empty() && facts.shareOfRun(facts.all.time.compute_ns) >= kLeastClause) {
    const KernelTotal& first = facts.kernels.front();
    const double of_kernels = ratio(first.total_ns, facts.all.kernel_sum_ns);
    if (of_kernels >= kLeastOfKernels)
      out += fmt::format("; {} is {} of kernel time", facts.label(first.name),
                         formatPercent(of_kernels));
  }
  return out + ".";
}

}  // namespace tracesmith::findings
