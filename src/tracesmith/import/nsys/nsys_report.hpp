// SPDX-License-Identifier: Apache-2.0
// Imports reports of Nsight Systems (.nsys-rep, .qdrep before 2021). Only the tool can read them:
// `nsys export` converts a report to the database that is then imported. This is the only format
// recognised by file name, and only if no other format matches the content.
#pragma once

#include <string>

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kNsysReportImporter;

/// Path of the `nsys` tool. kNotFound: it is not on PATH; the message says how to get it.
Result<std::string> findNsys();

/// Writes the report at `report` to `database`, including NVTX payloads if the tool supports that.
Status exportNsysReport(const std::string& report, const std::string& database);

}  // namespace tracesmith::import
