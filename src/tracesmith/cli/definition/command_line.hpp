// SPDX-License-Identifier: Apache-2.0
// Processes argv: global options, the command's name and its options; then runs the command. For an
// unknown word it prints one line with the nearest known word.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/cli/definition/command.hpp"

namespace tracesmith::cli {

/// The parts of a command line besides bound options.
struct ParsedOptions {
  bool help = false;
  /// After "--", or from the first word that is not a TraceSmith option.
  std::vector<std::string> program;
  std::vector<std::string> second_group;  ///< after "--", for commands with two groups
};

/// Sets the command's variables from `arguments` (without the command's name). Fails with
/// kInvalidArgument and a message for people.
Result<ParsedOptions> parseOptions(Command& command, const std::vector<std::string>& arguments);

/// Runs the whole command line (argv without argv[0]); returns the exit code.
int runCommandLine(const std::vector<std::string>& arguments);

}  // namespace tracesmith::cli
