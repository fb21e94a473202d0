// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/perfetto/perfetto_clock.hpp"

#include <charconv>

namespace tracesmith::perfetto {
namespace {

int64_t numberOf(const Trace& trace, std::string_view key) {
  const std::string_view text = trace.metadataValue(key);
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Adds a moment with a known wall clock time, which imported traces may have.
void addWallClock(const Trace& trace, TraceClock& found) {
  const ClockSnapshotTable& snapshots = trace.clock_snapshot;
  for (size_t i = 0; i < snapshots.size(); ++i) {
    const auto d = static_cast<size_t>(snapshots.domain_id[i]);
    if (d == 0 || d > trace.clock_domain.size()) continue;
    if (trace.clock_domain.kind[d - 1] != ClockKind::kHostRealtime) continue;
    if (static_cast<int64_t>(snapshots.clock_value[i]) <= 0) continue;
    found.moment_ns = snapshots.host_ns[i];
    found.readings.push_back({clock::kRealtime, static_cast<int64_t>(snapshots.clock_value[i])});
    return;
  }
}

}  // namespace

std::optional<int64_t> TraceClock::toBoottimeNs() const {
  for (const Reading& reading : readings) {
    if (reading.clock == clock::kBoottime) return reading.ns - moment_ns;
  }
  return std::nullopt;
}

TraceClock clockOf(const Trace& trace, bool shifted) {
  TraceClock found{.moment_ns = timeRange(trace).begin_ns, .readings = {}};
  // Only recorded traces contain the host's monotonic clock; an imported trace uses the clock of
  // its source.
  const int64_t monotonic_ns = numberOf(trace, "start_monotonic_ns");
  if (monotonic_ns <= 0 || shifted || !trace.metadataValue("imported_format").empty()) {
    addWallClock(trace, found);
    return found;
  }
  found.moment_ns = monotonic_ns;
  const int64_t boottime_ns = numberOf(trace, "start_boottime_ns");
  const int64_t realtime_ns = numberOf(trace, "start_realtime_ns");
  if (boottime_ns > 0) {
    found.id = clock::kMonotonic;
    found.readings.push_back({clock::kBoottime, boottime_ns});
  } else {
    found.readings.push_back({clock::kMonotonic, monotonic_ns});
  }
  if (realtime_ns > 0) found.readings.push_back({clock::kRealtime, realtime_ns});
  return found;
}

}  // namespace tracesmith::perfetto
