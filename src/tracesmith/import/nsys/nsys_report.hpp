// SPDX-License-Identifier: Apache-2.0
// Reports of Nsight Systems (.nsys-rep, .qdrep before 2021). What is in them only the tool knows:
// `nsys export` makes the database of them that is imported. This is the one format that is told
// by its name, and only where the content is that of no other.
#pragma once

#include <string>

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kNsysReportImporter;

/// The tool itself. kNotFound: it is not on PATH; the message says how to get it.
Result<std::string> findNsys();

/// Writes the report at `report` to `database`, with the payloads of NVTX where the tool can.
Status exportNsysReport(const std::string& report, const std::string& database);

}  // namespace tracesmith::import
