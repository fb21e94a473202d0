// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "tracesmith/cli/definition/command_line.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/terminal.hpp"

int main(int argc, char** argv) {
  namespace cli = tracesmith::cli;
  cli::guardStandardStreams();
  try {
    return cli::runCommandLine(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const std::bad_alloc&) {
    cli::say("out of memory");
  } catch (const std::exception& error) {
    cli::say(std::string("internal error: ") + error.what());
  }
  return cli::kExitFailed;
}
