// SPDX-License-Identifier: Apache-2.0
// What AMD's rocprofv3 writes with --output-format json: {"rocprofiler-sdk-tool": [...]}, an entry
// for each process. Records refer to tables of the document (agents, kernel symbols, names of
// operations), which may stand anywhere in it; so it is read whole.
#pragma once

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kRocprofJsonImporter;

/// Of a document, unpacked: it has to fit in memory.
constexpr uint64_t kLongestRocprofJson = (4ull << 30) - (1u << 20);

/// All of `source`, as an importer does.
Result<ImportCounts> importRocprofJson(ByteSource& source, TraceWriter& writer, Trace facts);

}  // namespace tracesmith::import
