// SPDX-License-Identifier: Apache-2.0
// Appends symbols to a trace file.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/stacks/symbols/symbolizer.hpp"

namespace tracesmith {

struct SymbolizedFile {
  SymbolReport report;
  bool written = false;   ///< false: nothing to add; the file is unchanged
  bool complete = false;  ///< the file has an end marker now
  bool damaged = false;   ///< part of the file could not be read
};

/// `path` must be a TraceSmith trace that nobody is writing. `output`: "" to append to the same
/// file. If the process is killed meanwhile, that file keeps its contents but may lack the end
/// marker; the next call adds it. A trace that had no end marker at the start gets none, so that
/// its missing part stays visible.
Result<SymbolizedFile> symbolizeFile(const std::string& path, const std::string& output,
                                     const SymbolizerOptions& options);

}  // namespace tracesmith
