// SPDX-License-Identifier: Apache-2.0
// Writes a Trace as a Perfetto trace (protobuf) with typed GPU packets, for
// https://ui.perfetto.dev, trace_processor and whatever else reads .perfetto-trace files.
// docs/perfetto.md says how each table appears there and how the file tells that it is complete.
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
  bool flows = true;  ///< dependency arrows of the `flow` table (launch to kernel is always there)
  /// Host ns; events that overlap [from_ns, to_ns) are taken. Absent: open.
  std::optional<int64_t> from_ns, to_ns;
  std::vector<StreamId> streams;  ///< empty: all; events that belong to no stream always stay
  /// Also what differs for every event (correlation ids, queue times, user attributes): complete,
  /// but a viewer then needs several times the memory.
  bool full_args = false;
  /// Device work as plain slices, for viewers before Perfetto v55 and readers of TrackEvents.
  bool compat = false;
  /// In stacks also the frames of the interpreter, libffi and the loader
  /// (analysis/timing/runtime_frames.hpp).
  bool all_frames = false;
};

/// What was written.
struct PerfettoSummary {
  uint64_t packets = 0;
  uint64_t events = 0;  ///< rows of the trace that became events
  uint64_t bytes = 0;
};

/// Writes to `path` ("-": standard output), whole or not at all (export/output/output.hpp). `trace`
/// is in host time. Errors: those of the file, and kInvalidArgument for an empty or reversed
/// stretch.
Status exportPerfetto(const Trace& trace, const std::string& path,
                      const PerfettoOptions& options = {});

/// The same into an Output, which the caller finishes.
Result<PerfettoSummary> writePerfetto(const Trace& trace, Output& out,
                                      const PerfettoOptions& options = {});

}  // namespace tracesmith
