// SPDX-License-Identifier: Apache-2.0
// Execution traces: the operators of a PyTorch program with their inputs and outputs (JSON, schemas
// 1.0.1 to 1.1.1), and MLCommons Chakra's graphs of nodes (protobuf, and JSON).
//
// They say what depends on what, and hardly ever when anything ran. A node becomes a row only where
// it has a start: without one it is kept as it was, and is in no table.
#pragma once

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kPyTorchExecutionTraceImporter;
extern const Importer kChakraImporter;
extern const Importer kChakraJsonImporter;

}  // namespace tracesmith::import
