// SPDX-License-Identifier: Apache-2.0
// Tables and lines that present the results of replays to people and programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/replay/check/determinism.hpp"

namespace tracesmith {

/// "set argument".
std::string commandName(recording::CommandKind kind);
/// Time from the start of the first recorded call to the end of the last.
int64_t recordedNs(const ReplayPlan& plan);
/// "read of buffer 3 after launch 42 (matmul)".
std::string stepName(const ReplayPlan& plan, StepIndex step);
/// Where a replay that did not finish ended: "at launch 4 (hang)"; kNoStep: "before its first
/// command".
std::string stepPlace(const ReplayPlan& plan, StepIndex step);

/// Table of notes: where, and what. (In JSON, "notes" holds the notes of tables.)
ReportTable notesTable(const std::vector<std::pair<std::string, std::string>>& notes);

/// What a replay would execute: commands by kind, counting the `chosen` steps (stepsChosen());
/// memory; programs; what the plan lacks.
std::vector<ReportTable> planReport(const ReplayPlan& plan, const RecordingReader& reader,
                                    const std::vector<bool>& chosen);

/// Tables for one replay.
std::vector<ReportTable> replayReport(const ReplayPlan& plan, const RunResult& result);

/// The contents in a file that has the bytes of all dumps, one after the other.
ReportTable dumpsTable(const ReplayPlan& plan, const std::vector<Dump>& dumps);

/// One line, "divergent KERNEL launch 12 argument 0 (float*) buffer 3: …". Launches and reads that
/// diverge share this prefix; no other output line starts with it.
std::string divergenceLine(const ReplayPlan& plan, const Divergence& divergence);
std::vector<ReportTable> determinismReport(const ReplayPlan& plan, const DeterminismReport& report);

}  // namespace tracesmith
