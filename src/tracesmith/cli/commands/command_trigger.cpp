// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tracesmith/capture/launch/recording_trigger.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/values.hpp"

namespace tracesmith::cli {
namespace {

class TriggerCommand : public Command {
 public:
  TriggerCommand() : Command("trigger", "Start or stop the range of a waiting recording") {
    text("PID", pid_, "PID",
         "Process id of 'tracesmith profile --record --range trigger', or of its program")
        .required();
    describe(
        "The first trigger saves the content of all memory and starts recording commands; the next "
        "one stops it, and so on. A trigger takes effect at the program's next OpenCL call. "
        "SIGUSR2 to 'tracesmith profile' does the same.");
    example("tracesmith trigger 4711", "Start or stop a range");
  }

  int run(Session&) override {
    const Result<uint64_t> pid = parseCount(pid_, INT32_MAX);
    if (!pid) return failWith({ErrorCode::kInvalidArgument, "is not a process id", pid_});
    const Result<TriggerOutcome> outcome = triggerRecording(static_cast<uint32_t>(*pid));
    if (!outcome) return failWith(outcome.error());
    std::string pids;
    for (const uint32_t recorded_pid : outcome->pids) pids += fmt::format(" {}", recorded_pid);
    say(fmt::format("the range {} in process{}", outcome->begins ? "begins" : "ends", pids));
    return kExitOk;
  }

 private:
  std::string pid_;
};

}  // namespace

std::unique_ptr<Command> makeTriggerCommand() { return std::make_unique<TriggerCommand>(); }

}  // namespace tracesmith::cli
