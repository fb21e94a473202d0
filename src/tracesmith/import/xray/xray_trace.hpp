// SPDX-License-Identifier: Apache-2.0
// Imports logs of LLVM's XRay. A call of a function becomes a range on its thread; custom and typed
// events become instants. Times are those of the log's time stamp counter, converted to ns and
// counted from the counter's zero.
#pragma once

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kXRayImporter;

/// Converts counter ticks to ns, exact to half a ns. A frequency of 0 is unknown; a tick then
/// counts as 1 ns.
int64_t ticksToNs(uint64_t ticks, uint64_t frequency);

/// Does what Importer::run does, for all of `source`. `binary`: the program that wrote the log, for
/// function names; "": none.
Result<ImportCounts> importXRay(ByteSource& source, const std::string& binary, TraceWriter& writer,
                                Trace facts);

}  // namespace tracesmith::import
