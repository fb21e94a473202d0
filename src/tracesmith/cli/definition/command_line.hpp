// SPDX-License-Identifier: Apache-2.0
// From argv to a command that runs: global options, the command's name, its options, and one clear
// line with the nearest right word when something is not known.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/cli/definition/command.hpp"

namespace tracesmith::cli {

/// What a command line asks for beyond its options.
struct ParsedOptions {
  bool help = false;
  std::vector<std::string> program;       ///< behind "--" or from the first word that is not ours
  std::vector<std::string> second_group;  ///< behind "--", where it parts two groups
};

/// Fills the command's variables from `arguments` (without the command's name). Fails with
/// kInvalidArgument and a message for people.
Result<ParsedOptions> parseOptions(Command& command, const std::vector<std::string>& arguments);

/// Runs the whole command line (argv without argv[0]); returns the exit code.
int runCommandLine(const std::vector<std::string>& arguments);

}  // namespace tracesmith::cli
