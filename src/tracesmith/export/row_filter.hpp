// SPDX-License-Identifier: Apache-2.0
// Takes the events that are not wanted out of a loaded trace, so that every export has what is left
// and none has to know why.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tracesmith/export/name_pattern.hpp"
#include "tracesmith/export/selection.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Which rows of the tables were left, by their numbers before; a table that is not in it is whole.
using KeptRows = std::map<TableId, std::vector<uint64_t>>;

/// Leaves the events that `selection` takes and whose name matches (export/event_filter.hpp says
/// what an event's name is; that of a counter is its track's). Attributes go and move with their
/// rows. Tables that are no events stay as they are, so that ids hold.
KeptRows keepRows(Trace& trace, const Selection& selection, const NamePattern& names);

}  // namespace tracesmith
