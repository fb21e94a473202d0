// SPDX-License-Identifier: Apache-2.0
// Writes a Trace as a Perfetto trace (protobuf) with typed GPU packets, for
// https://ui.perfetto.dev, trace_processor and other readers of .perfetto-trace files.
// docs/perfetto.md describes how each table is mapped and how the file shows that it is complete.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/export/output/output.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct PerfettoOptions {
  bool counters = true;  ///< counter tracks, and allocated memory per context
  /// Flows of the `flow` table (those from launch to kernel are always written).
  bool flows = true;
  /// Host ns; selects events that overlap [from_ns, to_ns). Absent: open.
  std::optional<int64_t> from_ns, to_ns;
  std::vector<StreamId> streams;  ///< empty: all; events without a stream are always written
  /// Also writes values that differ for every event (correlation ids, queue times, user
  /// attributes). Viewers then need several times the memory.
  bool full_args = false;
  /// Writes device work as plain slices, for viewers before Perfetto v55 and readers of
  /// TrackEvents.
  bool compat = false;
  /// Includes stack frames of the interpreter, libffi and the loader
  /// (analysis/timing/runtime_frames.hpp).
  bool all_frames = false;
};

/// Counts of what was written.
struct PerfettoSummary {
  uint64_t packets = 0;
  uint64_t events = 0;  ///< rows of the trace that became events
  uint64_t bytes = 0;
};

/// Writes to `path` ("-": standard output), completely or not at all (export/output/output.hpp).
/// `trace` must be in host time. Errors: file errors, and kInvalidArgument for an empty or reversed
/// time range.
Status exportPerfetto(const Trace& trace, const std::string& path,
                      const PerfettoOptions& options = {});

/// Writes to `out`; the caller must call out.finish().
Result<PerfettoSummary> writePerfetto(const Trace& trace, Output& out,
                                      const PerfettoOptions& options = {});

}  // namespace tracesmith
