// SPDX-License-Identifier: Apache-2.0
// Imports the JSON of NCCL Inspector, a profiler plugin that comes with NCCL: an object on a line
// for each collective, send or receive that ended. A file is of one process, with all of its
// communicators. Format 4.0, of NCCL 2.28 to 2.31.
#pragma once

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kNcclInspectorImporter;

}  // namespace tracesmith::import
