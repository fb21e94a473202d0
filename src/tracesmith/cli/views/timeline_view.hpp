// SPDX-License-Identifier: Apache-2.0
// `view --timeline --interactive`: keys to commands of the timeline, and its screens to the
// terminal.
#pragma once

#include <string>

#include "tracesmith/cli/terminal/terminal.hpp"
#include "tracesmith/export/select/event_filter.hpp"

namespace tracesmith::cli {

/// Shows the events that match until the user quits. Returns the exit code. If a signal asks the
/// program to end, restores the terminal and then ends by that signal.
int browseTimeline(const Trace& trace, const EventMatcher& matches, const std::string& title,
                   const Terminal& terminal);

}  // namespace tracesmith::cli
