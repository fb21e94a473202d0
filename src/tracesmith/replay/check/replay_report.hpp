// SPDX-License-Identifier: Apache-2.0
// What replays found, as tables and lines for people and programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/replay/check/determinism.hpp"

namespace tracesmith {

/// "set argument".
std::string commandName(recording::CommandKind kind);
/// How long the recorded calls took, from the first to the end of the last.
int64_t recordedNs(const ReplayPlan& plan);
/// "read of buffer 3 after launch 42 (matmul)".
std::string stepName(const ReplayPlan& plan, StepIndex step);

/// What no count says: where, and what. (In JSON "notes" are those of tables.)
ReportTable notesTable(const std::vector<std::pair<std::string, std::string>>& notes);

/// What would be executed: commands by kind, of the steps that are `chosen` (stepsChosen());
/// memory, programs, what the plan lacks.
std::vector<ReportTable> planReport(const ReplayPlan& plan, const RecordingReader& reader,
                                    const std::vector<bool>& chosen);

/// Of one replay. `of` and `runs`: which of several it was.
std::vector<ReportTable> replayReport(const ReplayPlan& plan, const RunResult& result);

/// "divergent KERNEL launch 12 argument 0 (float*) buffer 3: …", one line. What launches and reads
/// that diverge have in common; no other line of ours begins so.
std::string divergenceLine(const ReplayPlan& plan, const Divergence& divergence);
std::vector<ReportTable> determinismReport(const ReplayPlan& plan, const DeterminismReport& report);

}  // namespace tracesmith
