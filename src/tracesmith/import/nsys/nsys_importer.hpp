// SPDX-License-Identifier: Apache-2.0
// Nsight Systems: its SQLite export, and its reports (.nsys-rep), which only the tool itself can
// export (import/nsys/nsys_report.hpp).
//
// Times are ns from the beginning of the session; a snapshot of the clock says what Unix time that
// is. Correlation ids are of one process: work has the thread of the call with its process and id.
// Every row of every table is kept (import/sqlite/sqlite_source.hpp).
#pragma once

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kNsysImporter;

}  // namespace tracesmith::import
