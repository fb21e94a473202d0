// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "tracesmith/capture/flight/flight_window.hpp"
#include "tracesmith/capture/launch/profile_session.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/runs/recording.hpp"
#include "tracesmith/cli/terminal/messages.hpp"

namespace tracesmith::cli {
namespace {

class RecoverCommand : public Command {
 public:
  RecoverCommand() : Command("recover", "Finish a trace after its recorder was killed") {
    text("DIR", directory_, "DIR",
         "Session directory beside the trace, for example trace.sbt.session", Complete::kDirectory)
        .required();
    flag("--force", force_, "Recover even if the program still runs; its later events are lost");
    describe(
        "While a program is recorded, its newest records are in a directory beside the trace. If "
        "the recorder is killed, the directory remains. This command adds its records to the trace "
        "and removes it.");
    describe(
        "The trace gets the name of the directory without .session. A file of another session "
        "there is not replaced: move it away, or rename the directory. The directory is removed "
        "only after the finished trace has been read back.");
    describe(
        "A program with a TracingSession that is a flight recorder (flight_recorder_ms) leaves the "
        "parts of its window beside its trace if it is killed. Given that trace, this command puts "
        "them together.");
    example("tracesmith recover trace.sbt.session", "Finish trace.sbt");
  }

  int run(Session&) override {
    while (directory_.size() > 1 && directory_.back() == '/') directory_.pop_back();
    std::error_code ec;
    if (std::filesystem::is_regular_file(directory_, ec)) return recoverFile();
    const Result<RecoverOutcome> outcome = recoverSession(directory_, force_);
    if (!outcome) {
      sayError(outcome.error());
      return kExitFailed;
    }
    for (const std::string& warning : outcome->warnings) sayWarning(warning);
    if (outcome->output.empty()) return kExitOk;
    say(fmt::format("{}: complete; added {} events of {} {}; {} kernels in all", outcome->output,
                    outcome->recovered_events, outcome->arenas,
                    outcome->arenas == 1 ? "process" : "processes", outcome->kernels));
    if (outcome->recording) {
      for (const std::string& why : outcome->recording->ended) {
        sayWarning("the recording ended early: " + why);
      }
      say(recordingText(*outcome->recording));
    }
    return kExitOk;
  }

 private:
  int recoverFile() const {
    if (const Status recovered = recoverWindow(directory_); !recovered) {
      return failWith(recovered.error());
    }
    say(directory_ + ": complete");
    return kExitOk;
  }

  std::string directory_;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Command> makeRecoverCommand() { return std::make_unique<RecoverCommand>(); }

}  // namespace tracesmith::cli
