// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/commands/commands.hpp"

namespace tracesmith::cli {

CommandSet::CommandSet() {
#ifndef TRACESMITH_READING_ONLY
  commands_.push_back(makeProfileCommand());
  commands_.push_back(makeRecordCommand());
  commands_.push_back(makeArmCommand());
  commands_.push_back(makeReplayCommand());
  commands_.push_back(makeDeterminismCommand());
#endif
  commands_.push_back(makeViewCommand());
  commands_.push_back(makeInfoCommand());
  commands_.push_back(makeAnalyzeCommand());
  commands_.push_back(makeDiffCommand());
  commands_.push_back(makeWhatIfCommand());
#ifndef TRACESMITH_READING_ONLY
  commands_.push_back(makeRacesCommand());
#endif
  commands_.push_back(makeImportCommand());
  commands_.push_back(makeMergeCommand());
  commands_.push_back(makeExportCommand());
  commands_.push_back(makeQueryCommand());
#ifndef TRACESMITH_READING_ONLY
  commands_.push_back(makeStudioCommand());
  commands_.push_back(makeReportCommand());
  commands_.push_back(makeDevicesCommand());
  commands_.push_back(makeRecoverCommand());
  commands_.push_back(makeTriggerCommand());
  commands_.push_back(makeSymbolizeCommand());
  commands_.push_back(makeBenchmarkCommand());
#endif
  commands_.push_back(makeVerifyCommand());
  commands_.push_back(makeCompletionCommand());
  commands_.push_back(makeManCommand());
  commands_.push_back(makeVersionCommand());
  commands_.push_back(makeHelpCommand());
}

std::string CommandSet::whyAbsent([[maybe_unused]] const std::string& name) const {
#ifdef TRACESMITH_READING_ONLY
  for (const char* absent : {"profile", "record", "arm", "replay", "determinism", "races", "studio",
                             "report", "devices", "recover", "trigger", "symbolize", "benchmark"}) {
    if (name == absent) return "is only in a build for Linux; this one only reads traces";
  }
#endif
  return {};
}

}  // namespace tracesmith::cli
