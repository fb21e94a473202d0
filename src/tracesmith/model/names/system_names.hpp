// SPDX-License-Identifier: Apache-2.0
// Texts in what `profile --system` records that have a meaning of their own.
#pragma once

#include <string_view>

namespace tracesmith {

/// Who had a processor before a thread got it, or who woke it, if that was no program.
constexpr std::string_view kIdleProcessor = "[idle]", kInterrupt = "[interrupt]";

/// The counter of the time in which a cgroup was held back: "cgroup /jobs/one: held back by its
/// limit".
constexpr std::string_view kCgroup = "cgroup ", kHeldBack = ": held back by its limit";

}  // namespace tracesmith
