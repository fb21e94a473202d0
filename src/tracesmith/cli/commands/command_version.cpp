// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/definition/help_text.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"

namespace tracesmith::cli {
namespace {

class VersionCommand : public Command {
 public:
  VersionCommand() : Command("version", "Show the version") {}

  int run(Session& session) override {
    Output out = standardOutput();
    out.write(versionText(session.terminal));
    return finishOutput(out, kExitOk);
  }
};

}  // namespace

std::unique_ptr<Command> makeVersionCommand() { return std::make_unique<VersionCommand>(); }

}  // namespace tracesmith::cli
