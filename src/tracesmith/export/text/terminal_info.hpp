// SPDX-License-Identifier: Apache-2.0
// Prints the output of `tracesmith info FILE`: processes, devices, clocks with their bounds,
// counts, losses, and sizes.
#pragma once

#include <string>

#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/text/terminal_table.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct InfoOptions {
  bool columns = false;  ///< sizes per column and encodings, not just sizes per table
  bool json = false;
};

/// `trace` must have been read from `reader`. `path`: as the user gave it.
void describeTrace(const Trace& trace, const TraceReader& reader, const std::string& path,
                   const InfoOptions& options, const TerminalStyle& style, Output& out);

}  // namespace tracesmith
