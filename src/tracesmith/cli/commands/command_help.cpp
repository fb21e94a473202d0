// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/definition/help_text.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"

namespace tracesmith::cli {
namespace {

class HelpCommand : public Command {
 public:
  HelpCommand() : Command("help", "Show help for all commands or for one") {
    text("COMMAND", topic_, "COMMAND", "Command to explain", Complete::kCommandName);
    example("tracesmith help view", "Show help for view");
  }

  int run(Session& session) override {
    Output out = standardOutput();
    if (topic_.empty()) {
      out.write(overviewText(session.commands, session.terminal));
      return finishOutput(out, kExitOk);
    }
    const Command* command = session.commands.find(topic_);
    if (command == nullptr) {
      say(session.commands.whyUnknown(topic_));
      return kExitUsage;
    }
    out.write(helpText(*command, session.terminal));
    return finishOutput(out, kExitOk);
  }

 private:
  std::string topic_;
};

}  // namespace

std::unique_ptr<Command> makeHelpCommand() { return std::make_unique<HelpCommand>(); }

}  // namespace tracesmith::cli
