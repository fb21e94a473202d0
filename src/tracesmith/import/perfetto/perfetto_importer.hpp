// SPDX-License-Identifier: Apache-2.0
// Imports Perfetto's protobuf traces.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tracesmith/import/common/byte_source.hpp"
#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kPerfettoImporter;

/// Opens one file for reading from the start.
using OpenSource = std::function<Result<std::unique_ptr<ByteSource>>()>;

/// Reads the file in two passes (perfetto_first_pass.hpp). A change of the file in between counts
/// as damage.
Result<ImportCounts> importPerfetto(const OpenSource& open, const std::string& path,
                                    TraceWriter& writer, Trace facts);

}  // namespace tracesmith::import
