// SPDX-License-Identifier: Apache-2.0
// Where Holistic Trace Analysis (HTA) counts device work differently (AnalysisOptions::as_hta).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tracesmith/analysis/timing/device_ops.hpp"

namespace tracesmith::hta {

/// The class of work by its name alone: of version 0.5.0, or of the main branch.
WorkClass classOf(std::string_view name, bool main_branch);

/// Starts and ends in whole microseconds: it takes them for doubles, and rounds starts up and ends
/// down.
int64_t beginOf(int64_t start_ns);
int64_t endOf(int64_t start_ns, int64_t duration_ns);

/// With several steps, only work launched before the start of the last one counts. Returns that
/// start; nullopt: there are not several steps.
std::optional<int64_t> lastStepBegin(const Trace& trace);

}  // namespace tracesmith::hta
