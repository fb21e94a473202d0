// SPDX-License-Identifier: Apache-2.0
// Writes a Trace as Chrome's JSON trace ("Trace Event Format"), for tools that read no newer
// format. Times are exact: microseconds with three decimals, computed from integer ns. The typed
// export (perfetto_writer.hpp) is a seventh of the size and contains more.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/perfetto/perfetto_writer.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// The same options. Here `flows` also controls the flows from launch to kernel ("ac2g").
using ChromeJsonOptions = PerfettoOptions;

/// Writes to `path` ("-": standard output), either completely or not at all. Host processes keep
/// their pid. Each device becomes a process and each stream a thread of it; work that overlaps
/// within a stream goes to additional threads "(overlapping)". Memory does not grow with the trace,
/// except for one bit per device operation and call path, and for rows that are not in time order.
Status exportChromeJson(const Trace& trace, const std::string& path,
                        const ChromeJsonOptions& options = {});

/// Writes to `out`; the caller must call out.finish().
Status writeChromeJson(const Trace& trace, Output& out, const ChromeJsonOptions& options = {});

}  // namespace tracesmith
