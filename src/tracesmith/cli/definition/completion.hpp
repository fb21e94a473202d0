// SPDX-License-Identifier: Apache-2.0
// Shell completion, generated from the commands' definitions.
#pragma once

#include <string>

#include "tracesmith/cli/definition/command.hpp"

namespace tracesmith::cli {

std::string bashCompletion(const CommandSet& commands);
std::string zshCompletion(const CommandSet& commands);
std::string fishCompletion(const CommandSet& commands);

}  // namespace tracesmith::cli
