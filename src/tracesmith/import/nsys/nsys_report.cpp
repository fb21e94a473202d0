// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/nsys/nsys_report.hpp"

#include <unistd.h>

#include <vector>

#include "tracesmith/import/common/tool_run.hpp"
#include "tracesmith/import/nsys/nsys_importer.hpp"

namespace tracesmith::import {

Result<std::string> findNsys() {
  std::string tool = findTool("nsys");
  if (!tool.empty()) return tool;
  return fail(ErrorCode::kNotFound,
              "not found on PATH; it is part of NVIDIA Nsight Systems "
              "(https://developer.nvidia.com/nsight-systems)",
              "nsys");
}

Status exportNsysReport(const std::string& report, const std::string& database) {
  TS_TRY(const std::string tool, findNsys());
  // A name that starts with "-" would be taken for an option.
  const std::string file = report.starts_with('-') ? "./" + report : report;
  std::vector<std::string> command = {tool,
                                      "export",
                                      "--type=sqlite",
                                      "--force-overwrite=true",
                                      "--include-blobs=true",
                                      "--output=" + database,
                                      file};
  const Status whole = runTool(command);
  if (whole) return {};
  // Versions before 2023 have no --include-blobs.
  std::erase(command, "--include-blobs=true");
  ::unlink(database.c_str());
  const Status without = runTool(command);
  if (without) return {};
  return tl::unexpected<Error>(without.error());
}

namespace {

bool recognisesNsysReport(const ImportInput& input) {
  const bool named = input.path.ends_with(".nsys-rep") || input.path.ends_with(".qdrep");
  return named && !input.head.starts_with("SQLite format 3");
}

Result<ImportCounts> runNsysReport(const ImportInput& input, TraceWriter& writer, Trace facts) {
  const Result<std::string> tool = findNsys();
  if (!tool) {
    return fail(ErrorCode::kUnsupported,
                "is a report of Nsight Systems, which only its own tool can read: nsys is " +
                    tool.error().message +
                    "; where it is installed, 'nsys export --type sqlite FILE' creates a database "
                    "that can be imported anywhere",
                input.path);
  }
  TS_TRY(const WorkFolder folder, WorkFolder::create());
  const std::string database = folder.path() + "/export.sqlite";
  TS_CHECK_OK(exportNsysReport(input.path, database));
  TS_TRY(const ImportInput exported, ImportInput::open(database));
  return kNsysImporter.run(exported, writer, std::move(facts));
}

}  // namespace

constinit const Importer kNsysReportImporter = {"Nsight Systems report", "", recognisesNsysReport,
                                                runNsysReport};

}  // namespace tracesmith::import
