// SPDX-License-Identifier: Apache-2.0
// Prints `tracesmith view --stats`: count, total, mean, percentiles and extremes per name.
#pragma once

#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/select/event_filter.hpp"
#include "tracesmith/export/text/terminal_events.hpp"
#include "tracesmith/export/text/terminal_table.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Shows matching kernels, then copies and fills, then host calls. Each group is sorted by total
/// time and has at most `limit` names (the text says how many more there are). Text has short
/// labels of kernels unless `full_names`; other formats always have the names.
void showStats(const Trace& trace, const EventMatcher& matches, size_t limit, ListFormat format,
               bool full_names, const TerminalStyle& style, Output& out);

}  // namespace tracesmith
