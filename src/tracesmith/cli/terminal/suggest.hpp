// SPDX-License-Identifier: Apache-2.0
// "Did you mean ...?" for commands, options and their values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tracesmith::cli {

/// Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours
/// cost 1 each (Damerau 1964, restricted form).
size_t editDistance(std::string_view a, std::string_view b);

/// The candidate that `typed` most likely means, or "" if none is similar: at most a third of the
/// letters (but at least one) may differ. A candidate that starts with `typed` is similar as well.
std::string closest(std::string_view typed, const std::vector<std::string>& candidates);

}  // namespace tracesmith::cli
