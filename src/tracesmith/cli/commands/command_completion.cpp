// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/definition/completion.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"

namespace tracesmith::cli {
namespace {

class CompletionCommand : public Command {
 public:
  CompletionCommand() : Command("completion", "Print a shell completion script") {
    choice("SHELL", shell_, "SHELL", {"bash", "zsh", "fish"}, "Shell").required();
    example("source <(tracesmith completion bash)", "Enable completion in this shell");
    example("tracesmith completion fish > ~/.config/fish/completions/tracesmith.fish",
            "Install completion for fish");
  }

  int run(Session& session) override {
    Output out = standardOutput();
    if (shell_ == "bash") out.write(bashCompletion(session.commands));
    if (shell_ == "zsh") out.write(zshCompletion(session.commands));
    if (shell_ == "fish") out.write(fishCompletion(session.commands));
    return finishOutput(out, kExitOk);
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> makeCompletionCommand() { return std::make_unique<CompletionCommand>(); }

}  // namespace tracesmith::cli
