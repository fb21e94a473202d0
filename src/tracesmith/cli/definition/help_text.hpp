// SPDX-License-Identifier: Apache-2.0
// The texts of `tracesmith help` and `tracesmith COMMAND -h`.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/cli/definition/command.hpp"

namespace tracesmith::cli {

/// The banner (only on a terminal), all commands, and where to find more help.
std::string overviewText(const CommandSet& commands, const Terminal& terminal);

/// Usage, description, options and examples of one command.
std::string helpText(const Command& command, const Terminal& terminal);

/// "TraceSmith 1.0.0", with the banner above it on a terminal.
std::string versionText(const Terminal& terminal);

/// The large logo. "" unless the terminal shows UTF-8 and 82 columns.
std::string banner(const Terminal& terminal);

/// Wraps `text` to lines of at most `width` columns, each indented by `indent` spaces. Ends with a
/// newline.
std::string wrap(const std::string& text, size_t indent, size_t width);

/// "-o, --output FILE", or the name of a positional argument.
std::string optionHeading(const OptionDoc& option);

/// The description, followed by the choices and "required".
std::string optionMeaning(const OptionDoc& option);

}  // namespace tracesmith::cli
