// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/definition/help_text.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/cli/views/components.hpp"

namespace tracesmith::cli {
namespace {

class VersionCommand : public Command {
 public:
  VersionCommand() : Command("version", "Show the version") {
    flag("--long", long_, "Also show the commit, and the libraries of others with their licences");
    flag("--spdx", spdx_, "Print the same for programs, as SPDX 2.3 (JSON)");
    example("tracesmith version --long", "Show what this build was made from");
  }

  int run(Session& session) override {
    Output out = standardOutput();
    if (spdx_) {
      JsonWriter json(out, 2);
      writeSpdx(json);
      out.put('\n');
    } else {
      out.write(long_ ? componentsText() : versionText(session.terminal));
    }
    return finishOutput(out, kExitOk);
  }

 private:
  bool long_ = false;
  bool spdx_ = false;
};

}  // namespace

std::unique_ptr<Command> makeVersionCommand() { return std::make_unique<VersionCommand>(); }

}  // namespace tracesmith::cli
