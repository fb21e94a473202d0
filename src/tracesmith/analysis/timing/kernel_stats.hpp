// SPDX-License-Identifier: Apache-2.0
// Counts and durations: per kernel name, per kind of copy, per API function, per range name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tracesmith/analysis/timing/compact_durations.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct DeviceOps;

/// Percentiles use the nearest-rank method: the smallest value that at least p % of all values do
/// not exceed.
struct DurationStats {
  uint64_t count = 0;
  int64_t total_ns = 0;
  double mean_ns = 0;
  int64_t p50_ns = 0, p95_ns = 0, p99_ns = 0;
  int64_t min_ns = 0, max_ns = 0;
};

DurationStats statsOf(const CompactDurations& durations);

struct NamedStats {
  std::string name;
  DurationStats time;
  double share = 0;             ///< of the total time of all names
  uint64_t bytes = 0;           ///< copies and fills
  uint64_t first_launches = 0;  ///< kernels: rows that include a just-in-time compile
};

/// Collects what NamedStats says of one name.
struct NamedDurations {
  CompactDurations durations;
  uint64_t bytes = 0;
  uint64_t first_launches = 0;

  void add(NamedDurations&& others);
  /// Has no durations afterwards. For finishStats(): the share.
  NamedStats finish(std::string name);
};

/// Computes the shares of a list by name, and sorts it by total time, longest first.
void finishStats(std::vector<NamedStats>& by_name);

/// Returns whether a row counts; empty: all rows do.
using KeepRow = std::function<bool(TableId table, size_t row)>;

/// By total time, longest first. Omits device rows without device times.
std::vector<NamedStats> kernelStats(const Trace& trace, const KeepRow& keep = {});
/// Copies by direction, and fills as "fill".
std::vector<NamedStats> copyStats(const Trace& trace, const KeepRow& keep = {});
/// Covers only the work in `ops`, with the times and classes given there: compute and communication
/// count as kernels.
std::vector<NamedStats> kernelStats(const Trace& trace, const DeviceOps& ops);
std::vector<NamedStats> copyStats(const Trace& trace, const DeviceOps& ops);
std::vector<NamedStats> hostCallStats(const Trace& trace, const KeepRow& keep = {});
/// Ranges with a start and an end; a nested range counts in both.
std::vector<NamedStats> rangeStats(const Trace& trace, const KeepRow& keep = {});

}  // namespace tracesmith
