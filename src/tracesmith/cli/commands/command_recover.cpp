// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tracesmith/capture/launch/profile_session.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/runs/recording.hpp"
#include "tracesmith/cli/terminal/messages.hpp"

namespace tracesmith::cli {
namespace {

class RecoverCommand : public Command {
 public:
  RecoverCommand() : Command("recover", "Finish a trace whose recording was killed") {
    text("DIR", directory_, "DIR", "The directory beside the trace, for example trace.sbt.session",
         Complete::kDirectory)
        .required();
    flag("--force", force_, "Recover also while the program still runs; the rest of it is lost");
    describe(
        "While a program is recorded its newest records lie in a directory beside the trace. When "
        "the recording is killed that directory stays; this command puts what is in it into the "
        "trace and removes it.");
    describe(
        "The trace goes to the name of the directory without .session. A file there that is not of "
        "this session is left alone: move it away, or rename the directory. The directory is "
        "removed only after the finished trace has been read back.");
    example("tracesmith recover trace.sbt.session", "Finish trace.sbt");
  }

  int run(Session&) override {
    while (directory_.size() > 1 && directory_.back() == '/') directory_.pop_back();
    const Result<RecoverOutcome> outcome = recoverSession(directory_, force_);
    if (!outcome) {
      sayError(outcome.error());
      return kExitFailed;
    }
    for (const std::string& warning : outcome->warnings) sayWarning(warning);
    if (outcome->output.empty()) return kExitOk;
    say(fmt::format("{}: complete; {} events were added from {} arenas, {} kernels in all",
                    outcome->output, outcome->recovered_events, outcome->arenas, outcome->kernels));
    if (outcome->recording) {
      for (const std::string& why : outcome->recording->ended) {
        sayWarning("the recording ended early: " + why);
      }
      say(recordingText(*outcome->recording));
    }
    return kExitOk;
  }

 private:
  std::string directory_;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Command> makeRecoverCommand() { return std::make_unique<RecoverCommand>(); }

}  // namespace tracesmith::cli
