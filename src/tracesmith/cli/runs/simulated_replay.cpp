// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/runs/simulated_replay.hpp"

#include <unistd.h>

#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/import/import_trace.hpp"
#include "tracesmith/model/ranks/ranks.hpp"
#include "tracesmith/replay/simulate/simulation_report.hpp"

namespace tracesmith::cli {
namespace {

StepDurations durationsOf(const std::string& path, const ReplaySource& source, int& code) {
  const std::string trace_path = recording::tracePathFor(path);
  if (access(trace_path.c_str(), F_OK) != 0) {
    return StepDurations::none(source.plan, trace_path + ", which would have them, is missing");
  }
  if (const Status same = checkSameSession(source.reader, trace_path); !same) {
    return StepDurations::none(source.plan, same.error().toString());
  }
  Result<TraceFile> file = readTraceFile(trace_path);
  if (!file) return StepDurations::none(source.plan, file.error().toString());
  code = reportLosses(file->reader, trace_path, code);
  return StepDurations::of(source.plan, source.process, file->trace);
}

}  // namespace

Result<std::vector<ReportTable>> simulateRecording(const std::string& path, ReplaySource& source,
                                                   const RunSettings& settings, int& code) {
  const StepDurations durations = durationsOf(path, source, code);
  TS_TRY(const PlanSimulation simulation,
         simulatePlan(source.plan, source.reader, durations, settings));
  return simulationReport(source.plan, simulation, durations);
}

Result<std::vector<ReportTable>> simulateTraceFile(const std::string& path, ReplayOrder order,
                                                   int& code) {
  TS_TRY(const TraceFile file, readTraceFile(path));
  TS_CHECK_OK(haveOneClock(file.trace));
  Result<TraceSimulation> simulation = simulateTrace(file.trace, order);
  if (!simulation) {
    Error error = simulation.error();
    if (error.where.empty()) error.where = path;
    return tl::unexpected<Error>(std::move(error));
  }
  code = reportLosses(file.reader, path, code);
  return simulationReport(*simulation);
}

bool isTraceAlone(const std::string& path) {
  return !RecordingReader::isThere(path) &&
         (TraceReader::open(path).has_value() || import::canImport(path).has_value());
}

Error withoutRecording(const std::string& path, Error error) {
  if (!isTraceAlone(path)) return error;
  error.code = ErrorCode::kNotFound;
  error.where = path;
  error.message =
      "is a trace without a recording: there is nothing to execute. Record the program with "
      "`tracesmith profile --record -- COMMAND`, or time the trace's own operations without "
      "executing anything with `--device simulated`";
  return error;
}

}  // namespace tracesmith::cli
