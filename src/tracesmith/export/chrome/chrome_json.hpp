// SPDX-License-Identifier: Apache-2.0
// Writes a Trace as Chrome's JSON trace ("Trace Event Format"), for tools that read nothing newer.
// Times are exact: microseconds with three decimals, made from the integer ns. The typed export
// (perfetto_writer.hpp) is a seventh of the size and says more.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/perfetto/perfetto_writer.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// The same choices. Here `flows` includes the arrows from launch to kernel ("ac2g").
using ChromeJsonOptions = PerfettoOptions;

/// Writes to `path` ("-": standard output), whole or not at all. Host processes keep their pid;
/// each device is a process of its own, each stream a thread of it, and work that overlaps within
/// a stream goes to further threads "(overlapping)". Memory does not grow with the trace but for
/// one bit per device operation and call path, and for rows that are not in order of time.
Status exportChromeJson(const Trace& trace, const std::string& path,
                        const ChromeJsonOptions& options = {});

/// The same into an Output, which the caller finishes.
Status writeChromeJson(const Trace& trace, Output& out, const ChromeJsonOptions& options = {});

}  // namespace tracesmith
