// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/replay_config.hpp"

#include <fmt/format.h>

namespace tracesmith {

std::string_view toString(ReplayMode mode) {
  switch (mode) {
    case ReplayMode::Full:
      return "full";
    case ReplayMode::Partial:
      return "partial";
    case ReplayMode::DryRun:
      return "dry-run";
    case ReplayMode::StreamSpecific:
      return "stream";
  }
  return "unknown";
}

std::string_view toString(SchedulingPolicy policy) {
  switch (policy) {
    case SchedulingPolicy::RoundRobin:
      return "round-robin";
    case SchedulingPolicy::Priority:
      return "priority";
    case SchedulingPolicy::OriginalTiming:
      return "original timing";
  }
  return "unknown";
}

std::string ReplayResult::summary() const {
  std::string out;
  if (simulated) {
    out = "simulated: nothing was executed or compared\n";
  } else if (!device.empty()) {
    out = fmt::format("executed on {}\n", device);
  } else {
    out = "nothing was executed\n";
  }
  out += fmt::format("operations: {} executed, {} simulated, {} skipped, {} failed, {} in total\n",
                     operations_executed, operations_simulated, operations_skipped,
                     operations_failed, operations_total);
  out += fmt::format("time: {:.3f} ms{}, recorded {:.3f} ms\n",
                     static_cast<double>(replay_duration) * 1e-6, simulated ? " (virtual)" : "",
                     static_cast<double>(original_duration) * 1e-6);
  if (!simulated) {
    out += fmt::format("read-backs: {} of {} as recorded\n", read_backs_equal, read_backs);
  }
  if (launches_hashed != 0) {
    out += fmt::format("launches: {} of {} produced the recorded output\n", launches_equal,
                       launches_hashed);
  }
  out += fmt::format("violations: {} of order, {} of dependencies, {} of timing\n",
                     order_violations, dependency_violations, timing_violations);
  for (const std::string& error : errors) out += "error: " + error + "\n";
  for (const std::string& warning : warnings) out += "warning: " + warning + "\n";
  out += deterministic ? "result: as recorded\n"
         : success     ? "result: done; not shown to be deterministic\n"
                       : "result: failed\n";
  return out;
}

}  // namespace tracesmith
