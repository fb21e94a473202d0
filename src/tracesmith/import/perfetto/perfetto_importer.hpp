// SPDX-License-Identifier: Apache-2.0
// Perfetto's protobuf traces.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tracesmith/import/common/byte_source.hpp"
#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kPerfettoImporter;

/// The bytes of one file, from the beginning.
using OpenSource = std::function<Result<std::unique_ptr<ByteSource>>()>;

/// Reads the file twice, first for what must be known before its events can be. If it changes
/// between that is damage.
Result<ImportCounts> importPerfetto(const OpenSource& open, const std::string& path,
                                    TraceWriter& writer, Trace facts);

}  // namespace tracesmith::import
