// SPDX-License-Identifier: Apache-2.0
// Puts symbols into a trace that lies on a disk, behind what it has.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/stacks/symbols/symbolizer.hpp"

namespace tracesmith {

struct SymbolizedFile {
  SymbolReport report;
  bool written = false;   ///< false: there was nothing to add, and the file is as it was
  bool complete = false;  ///< whether it has an end now
  bool damaged = false;   ///< some of it could not be read
};

/// `path` must be a trace of ours that nobody writes to. `output`: "" for the same file, which is
/// then appended to. Killed on the way, that file has all it had, and perhaps no end; the next call
/// gives it one. A trace that had none before gets none: that something is missing stays visible.
Result<SymbolizedFile> symbolizeFile(const std::string& path, const std::string& output,
                                     const SymbolizerOptions& options);

}  // namespace tracesmith
