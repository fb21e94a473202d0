// SPDX-License-Identifier: Apache-2.0
// Imports the output of AMD's rocprofv3 with --output-format json: {"rocprofiler-sdk-tool": [...]},
// with one entry per process. Records refer to tables of the document (agents, kernel symbols,
// operation names) that may appear anywhere in it. The importer therefore reads the whole document
// into memory.
#pragma once

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kRocprofJsonImporter;

/// Largest supported document, unpacked, because it must fit in memory.
constexpr uint64_t kLongestRocprofJson = (4ull << 30) - (1u << 20);

/// Does what Importer::run does, for all of `source`.
Result<ImportCounts> importRocprofJson(ByteSource& source, TraceWriter& writer, Trace facts);

}  // namespace tracesmith::import
