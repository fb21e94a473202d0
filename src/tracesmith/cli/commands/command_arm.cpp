// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tracesmith/capture/launch/agent_environment.hpp"
#include "tracesmith/capture/launch/armed_process.hpp"
#include "tracesmith/capture/launch/program_eligibility.hpp"
#include "tracesmith/capture/processes/launcher.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/runs/recording.hpp"
#include "tracesmith/cli/terminal/messages.hpp"

namespace tracesmith::cli {
namespace {

class ArmCommand : public Command {
 public:
  ArmCommand() : Command("arm", "Start a program that can be recorded later") {
    flag("-l,--list", list_, "List armed processes and those being recorded");
    takeProgram(false);
    setUsageExitCode(kExitNotStarted);
    describe(
        "This process is replaced by the program. Nothing is recorded, and CUPTI is not loaded, "
        "until 'tracesmith record --pid PID'; afterwards it can be recorded again. The same "
        "applies to the processes that it starts. This works for CUDA and NVTX; OpenCL programs "
        "run unchanged, and are not recorded.");
    example("tracesmith arm -- python train.py", "Start a program that can be recorded later");
    example("tracesmith record --pid 4711 -d 10", "Record ten seconds of it");
  }

  int run(Session& session) override {
    if (list_) return list();
    if (session.program.empty()) {
      say("arm: which program? for example: tracesmith arm -- python train.py (or: arm --list)");
      return kExitNotStarted;
    }
    const std::string& program = session.program[0];
    const ProgramEligibility eligibility = checkEligibility(program);
    if (eligibility.eligibility == Eligibility::kPrivileged) {
      sayError({ErrorCode::kUnsupported,
                "cannot be recorded: it is " + eligibility.why +
                    ", so the system does not load TraceSmith's library into it",
                eligibility.path});
      return kExitNotStarted;
    }
    warnOfStaticProgram(program);
    const Result<std::string> directory = controlDirectory();
    if (!directory) return refuse(directory.error());
    const Result<Environment> environment = armedEnvironment(*directory);
    if (!environment) return refuse(environment.error());
    for (const char* const variable : {kCudaInjection, kNvtxInjection}) {
      const std::string other = otherTool(variable);
      if (!other.empty()) sayWarning(fmt::format("{} is already set to {}", variable, other));
    }
    for (const auto& [name, value] : *environment) setenv(name.c_str(), value.c_str(), 1);
    // Of a session that recorded this process; the program must not join it.
    unsetenv(arena::kEnvSession);
    std::vector<char*> arguments;
    for (std::string& word : session.program) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) {
      (void)refuse({ErrorCode::kNotFound, "command not found", program});
      return kExitCommandNotFound;
    }
    (void)refuse({ErrorCode::kPermission,
                  std::string("cannot be executed: ") + std::strerror(error), program});
    return kExitNotExecutable;
  }

 private:
  static int refuse(const Error& error) {
    sayError(error);
    return kExitNotStarted;
  }

  static int list() {
    const Result<std::string> directory = controlDirectory();
    if (!directory) return failWith(directory.error());
    const std::vector<ArmedProcessInfo> armed = listArmed(*directory);
    if (armed.empty()) say("no process of this user is armed and uses CUDA or NVTX");
    for (const ArmedProcessInfo& process : armed) {
      const auto facts = readProcessFacts(process.pid);
      fmt::print("{:>8}  {:<9}  {}\n", process.pid, process.is_captured ? "recording" : "waiting",
                 facts ? facts->command_line : "");
    }
    return kExitOk;
  }

  bool list_ = false;
};

}  // namespace

std::unique_ptr<Command> makeArmCommand() { return std::make_unique<ArmCommand>(); }

}  // namespace tracesmith::cli
