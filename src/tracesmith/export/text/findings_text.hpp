// SPDX-License-Identifier: Apache-2.0
// Writes the verdict and the findings as text, wrapped to the terminal's width.
#pragma once

#include <cstddef>

#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/text/terminal_table.hpp"
#include "tracesmith/findings/finding.hpp"

namespace tracesmith {

/// `limit`: findings to show; 0: all.
void writeFindingsText(const Findings& findings, size_t limit, const TerminalStyle& style,
                       Output& out);

}  // namespace tracesmith
