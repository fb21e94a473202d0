// SPDX-License-Identifier: Apache-2.0
// One factory per subcommand; each is defined in command_NAME.cpp.
#pragma once

#include <memory>

#include "tracesmith/cli/definition/command.hpp"

namespace tracesmith::cli {

std::unique_ptr<Command> makeProfileCommand();
std::unique_ptr<Command> makeRecordCommand();
std::unique_ptr<Command> makeArmCommand();
std::unique_ptr<Command> makeReplayCommand();
std::unique_ptr<Command> makeDeterminismCommand();
std::unique_ptr<Command> makeViewCommand();
std::unique_ptr<Command> makeInfoCommand();
std::unique_ptr<Command> makeAnalyzeCommand();
std::unique_ptr<Command> makeDiffCommand();
std::unique_ptr<Command> makeWhatIfCommand();
std::unique_ptr<Command> makeRacesCommand();
std::unique_ptr<Command> makeImportCommand();
std::unique_ptr<Command> makeMergeCommand();
std::unique_ptr<Command> makeSummarizeCommand();
std::unique_ptr<Command> makeFleetCommand();
std::unique_ptr<Command> makeExportCommand();
std::unique_ptr<Command> makeQueryCommand();
std::unique_ptr<Command> makeStudioCommand();
std::unique_ptr<Command> makeReportCommand();
std::unique_ptr<Command> makeDevicesCommand();
std::unique_ptr<Command> makeRecoverCommand();
std::unique_ptr<Command> makeClockCommand();
std::unique_ptr<Command> makeTopologyCommand();
std::unique_ptr<Command> makeTriggerCommand();
std::unique_ptr<Command> makeBenchmarkCommand();
std::unique_ptr<Command> makeSymbolizeCommand();
std::unique_ptr<Command> makeVerifyCommand();
std::unique_ptr<Command> makeCompletionCommand();
std::unique_ptr<Command> makeManCommand();
std::unique_ptr<Command> makeVersionCommand();
std::unique_ptr<Command> makeHelpCommand();

}  // namespace tracesmith::cli
