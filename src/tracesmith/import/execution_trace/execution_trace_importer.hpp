// SPDX-License-Identifier: Apache-2.0
// Imports execution traces: the operators of a PyTorch program with their inputs and outputs (JSON,
// schemas 1.0.1 to 1.1.1), and MLCommons Chakra's graphs of nodes (protobuf and JSON).
//
// These traces record dependencies and hardly ever times. A node with a start becomes a row. A node
// without one is kept unchanged, but is in no table.
#pragma once

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kPyTorchExecutionTraceImporter;
extern const Importer kChakraImporter;
extern const Importer kChakraJsonImporter;

}  // namespace tracesmith::import
