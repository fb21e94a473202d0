// SPDX-License-Identifier: Apache-2.0
// The tables (CSV) of AMD's rocprofv3: a file for each kind of record, known by its columns.
// Several files of one run make one trace: agents get their names, and counters the times of their
// dispatches, from each other.
#pragma once

#include <memory>
#include <vector>

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kRocprofCsvImporter;

/// All of `source`, as an importer does.
Result<ImportCounts> importRocprofCsv(ByteSource& source, TraceWriter& writer, Trace facts);

}  // namespace tracesmith::import
