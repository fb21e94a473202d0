// SPDX-License-Identifier: Apache-2.0
// Prints the event list of `tracesmith view`: all event tables merged by time.
#pragma once

#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/select/event_filter.hpp"
#include "tracesmith/export/text/terminal_table.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

enum class ListFormat { kText, kJson, kCsv };

/// Writes the first `limit` events that match, ordered by start, and returns how many more match.
/// With `stacks`, each event is followed by its host call stack, innermost frame first.
size_t listEvents(const Trace& trace, const EventMatcher& matches, size_t limit, ListFormat format,
                  bool stacks, const TerminalStyle& style, Output& out);

}  // namespace tracesmith
