// SPDX-License-Identifier: Apache-2.0
// `tracesmith help`, `tracesmith COMMAND -h`.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/cli/definition/command.hpp"

namespace tracesmith::cli {

/// The banner (only when `terminal` is a person's), all commands and how to go on.
std::string overviewText(const CommandSet& commands, const Terminal& terminal);

/// Usage, description, options and examples of one command.
std::string helpText(const Command& command, const Terminal& terminal);

/// "TraceSmith 1.0.0", with the banner above it on a terminal.
std::string versionText(const Terminal& terminal);

/// The big letters. Needs a terminal that shows UTF-8 and 82 columns; "" otherwise.
std::string banner(const Terminal& terminal);

/// `text` in lines of at most `width` columns, each begun with `indent` spaces; ends with a
/// newline.
std::string wrap(const std::string& text, size_t indent, size_t width);

/// "-o, --output FILE", or the name of a positional argument.
std::string optionHeading(const OptionDoc& option);

/// The description with the choices and "required" added.
std::string optionMeaning(const OptionDoc& option);

}  // namespace tracesmith::cli
