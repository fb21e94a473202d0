// SPDX-License-Identifier: Apache-2.0
// What `tracesmith info FILE` says: processes, devices, clocks with their bounds, counts, losses
// and where the bytes are.
#pragma once

#include <string>

#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/text/terminal_table.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct InfoOptions {
  bool columns = false;  ///< bytes and encoding of every column, not of tables alone
  bool json = false;
};

/// `reader` is the file that `trace` was read from; `path` is what the user called it.
void describeTrace(const Trace& trace, const TraceReader& reader, const std::string& path,
                   const InfoOptions& options, const TerminalStyle& style, Output& out);

}  // namespace tracesmith
