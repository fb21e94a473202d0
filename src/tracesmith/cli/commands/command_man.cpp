// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/definition/man_page.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"

namespace tracesmith::cli {
namespace {

class ManCommand : public Command {
 public:
  ManCommand() : Command("man", "Print the manual page") {
    flag("--markdown", markdown_, "Print Markdown instead of roff");
    example("tracesmith man | man -l -", "Read the manual page");
  }

  int run(Session& session) override {
    Output out = standardOutput();
    out.write((markdown_ ? markdownReference(session.commands) : manPage(session.commands)));
    return finishOutput(out, kExitOk);
  }

 private:
  bool markdown_ = false;
};

}  // namespace

std::unique_ptr<Command> makeManCommand() { return std::make_unique<ManCommand>(); }

}  // namespace tracesmith::cli
