// SPDX-License-Identifier: Apache-2.0
// Report of a simulated replay: the tables of an executed replay (replay_report.hpp), with a
// simulation's counts and the virtual time.
#pragma once

#include <vector>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/replay/simulate/simulated_executor.hpp"
#include "tracesmith/replay/simulate/simulated_trace.hpp"

namespace tracesmith {

std::vector<ReportTable> simulationReport(const ReplayPlan& plan, const PlanSimulation& simulation,
                                          const StepDurations& durations);
std::vector<ReportTable> simulationReport(const TraceSimulation& simulation);

}  // namespace tracesmith
