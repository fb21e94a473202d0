// SPDX-License-Identifier: Apache-2.0
// Logs of LLVM's XRay as traces: a function that was entered and left is a range on its thread;
// custom and typed events are instants. Times are those of the log's time stamp counter in ns, from
// its own zero.
#pragma once

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kXRayImporter;

/// Ticks of a counter in ns, exact to half a ns; a frequency of 0 is not known: a tick is then 1
/// ns.
int64_t ticksToNs(uint64_t ticks, uint64_t frequency);

/// All of `source`, as an importer does. `binary`: the program that wrote it, for names; "": none.
Result<ImportCounts> importXRay(ByteSource& source, const std::string& binary, TraceWriter& writer,
                                Trace facts);

}  // namespace tracesmith::import
