// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tracesmith/capture/flight/window_requests.hpp"
#include "tracesmith/capture/launch/recording_trigger.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/values.hpp"

namespace tracesmith::cli {
namespace {

class TriggerCommand : public Command {
 public:
  TriggerCommand()
      : Command("trigger", "Save what a flight recorder keeps, or start a waiting recording") {
    text("RECORDING", recording_, "RECORDING",
         "Process id of 'tracesmith profile' or 'record', or of its program; or its output file")
        .required();
    text("--reason", reason_, "TEXT",
         "Of a flight recorder: why; goes into the metadata of the saved trace");
    describe(
        "Of a recording with --flight-recorder: saves the last seconds until now beside the "
        "output, "
        "as OUTPUT.trigger-N.sbt, and prints that name. The recording goes on.");
    describe(
        "Of 'tracesmith profile --record --range trigger': the first trigger saves the content of "
        "all memory and starts recording commands; the next one stops it, and so on. It takes "
        "effect at the program's next OpenCL call.");
    describe("SIGUSR2 to 'tracesmith profile' or 'record' does the same.");
    example("tracesmith trigger trace.sbt",
            "Save the last seconds of the recording into trace.sbt");
    example("tracesmith trigger 4711", "The same, or start or stop a range");
  }

  int run(Session&) override {
    const Result<RunningSession> session = find();
    if (!session) return failWith(session.error());
    if (session->is_flight_recorder) return saveWindow(*session);
    if (!reason_.empty()) {
      return failWith({ErrorCode::kInvalidArgument,
                       "--reason is for a recording with "
                       "--flight-recorder, and this is none",
                       recording_});
    }
    const Result<TriggerOutcome> outcome = triggerRange(*session);
    if (!outcome) return failWith(outcome.error());
    std::string pids;
    for (const uint32_t recorded_pid : outcome->pids) pids += fmt::format(" {}", recorded_pid);
    say(fmt::format("the range {} in process{}", outcome->begins ? "begins" : "ends", pids));
    return kExitOk;
  }

 private:
  Result<RunningSession> find() const {
    const bool is_number = recording_.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number) return findRunningSession(recording_);
    TS_TRY(const uint64_t pid, parseCount(recording_, INT32_MAX));
    return findRunningSession(static_cast<uint32_t>(pid));
  }
  int saveWindow(const RunningSession& session) const {
    constexpr int64_t kPatienceNs = int64_t{120} * 1'000'000'000;  // a large window, a slow disk
    const Result<std::string> saved = requestWindow(
        session.directory, reason_.empty() ? "tracesmith trigger" : reason_, kPatienceNs);
    if (!saved) return failWith(saved.error());
    fmt::print("{}\n", *saved);
    return kExitOk;
  }

  std::string recording_;
  std::string reason_;
};

}  // namespace

std::unique_ptr<Command> makeTriggerCommand() { return std::make_unique<TriggerCommand>(); }

}  // namespace tracesmith::cli
