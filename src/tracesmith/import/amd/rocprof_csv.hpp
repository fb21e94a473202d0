// SPDX-License-Identifier: Apache-2.0
// Imports the CSV tables of AMD's rocprofv3. There is one file per kind of record, recognised by
// its columns. Several files of one run become one trace: *_agent_info.csv gives the agents their
// names, and a kernel trace gives counters the times of their dispatches.
#pragma once

#include <memory>
#include <vector>

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kRocprofCsvImporter;

/// Does what Importer::run does, for all of `source`.
Result<ImportCounts> importRocprofCsv(ByteSource& source, TraceWriter& writer, Trace facts);

}  // namespace tracesmith::import
