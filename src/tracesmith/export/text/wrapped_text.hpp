// SPDX-License-Identifier: Apache-2.0
// Breaks text into lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/export/text/terminal_table.hpp"

namespace tracesmith {

/// Lines of at most `width` columns (0: one line), broken at white space; at least one line. A
/// longer word gets its own line. `cut`: such words, for example names of kernels, are cut in the
/// middle.
std::vector<std::string> wrapText(std::string_view text, int width,
                                  const TerminalStyle* cut = nullptr);

}  // namespace tracesmith
