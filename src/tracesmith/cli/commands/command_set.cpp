// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/terminal/suggest.hpp"

// A command that records, executes or serves: a build that only reads knows its name, to say why it
// is not there.
#ifdef TRACESMITH_READING_ONLY
#define TS_RUNNING_COMMAND(name, make) absent_.emplace_back(name)
#else
#define TS_RUNNING_COMMAND(name, make) commands_.push_back(make())
#endif

namespace tracesmith::cli {

CommandSet::CommandSet() {
  TS_RUNNING_COMMAND("profile", makeProfileCommand);
  TS_RUNNING_COMMAND("record", makeRecordCommand);
  TS_RUNNING_COMMAND("arm", makeArmCommand);
  TS_RUNNING_COMMAND("replay", makeReplayCommand);
  TS_RUNNING_COMMAND("determinism", makeDeterminismCommand);
  commands_.push_back(makeViewCommand());
  commands_.push_back(makeInfoCommand());
  commands_.push_back(makeAnalyzeCommand());
  commands_.push_back(makeDiffCommand());
  commands_.push_back(makeWhatIfCommand());
  TS_RUNNING_COMMAND("races", makeRacesCommand);
  commands_.push_back(makeImportCommand());
  commands_.push_back(makeMergeCommand());
  commands_.push_back(makeSummarizeCommand());
  commands_.push_back(makeFleetCommand());
  commands_.push_back(makeExportCommand());
  commands_.push_back(makeQueryCommand());
  TS_RUNNING_COMMAND("studio", makeStudioCommand);
  TS_RUNNING_COMMAND("report", makeReportCommand);
  TS_RUNNING_COMMAND("devices", makeDevicesCommand);
  commands_.push_back(makeTopologyCommand());
  TS_RUNNING_COMMAND("clock", makeClockCommand);
  TS_RUNNING_COMMAND("recover", makeRecoverCommand);
  TS_RUNNING_COMMAND("trigger", makeTriggerCommand);
  TS_RUNNING_COMMAND("symbolize", makeSymbolizeCommand);
  TS_RUNNING_COMMAND("benchmark", makeBenchmarkCommand);
  commands_.push_back(makeVerifyCommand());
  commands_.push_back(makeCompletionCommand());
  commands_.push_back(makeManCommand());
  commands_.push_back(makeVersionCommand());
  commands_.push_back(makeHelpCommand());
}

std::string CommandSet::whyUnknown(const std::string& name) const {
  if (std::find(absent_.begin(), absent_.end(), name) != absent_.end()) {
    return fmt::format(
        "'{}' is not in this build, which only reads traces; the whole one is for Linux", name);
  }
  const std::string near = closest(name, names());
  return fmt::format("'{}' is not a command{}", name,
                     near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
}

}  // namespace tracesmith::cli
