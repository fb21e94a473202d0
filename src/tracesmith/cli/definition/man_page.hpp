// SPDX-License-Identifier: Apache-2.0
// The manual page and docs/cli_reference.md, generated from the commands' definitions.
#pragma once

#include <string>

#include "tracesmith/cli/definition/command.hpp"

namespace tracesmith::cli {

/// tracesmith(1) as roff with the man(7) macros.
std::string manPage(const CommandSet& commands);

/// The same as Markdown, for docs/cli_reference.md.
std::string markdownReference(const CommandSet& commands);

}  // namespace tracesmith::cli
