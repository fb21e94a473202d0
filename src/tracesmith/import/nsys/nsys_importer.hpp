// SPDX-License-Identifier: Apache-2.0
// Imports Nsight Systems traces: the SQLite export, and reports (.nsys-rep), which only the tool
// itself can export (import/nsys/nsys_report.hpp).
//
// Times are in ns since the start of the session; a clock snapshot relates them to Unix time.
// Correlation ids are unique within one process: device work gets the thread of the call with the
// same process and id. Every row of every table is kept (import/sqlite/sqlite_source.hpp).
#pragma once

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kNsysImporter;

}  // namespace tracesmith::import
