// SPDX-License-Identifier: Apache-2.0
// How much memory this process may use before the machine or its container runs short.
#pragma once

#include <cstdint>

namespace tracesmith {

/// Three quarters of the memory that is available now, or that the control group may use, whichever
/// is less. 8 GiB if the system reports neither.
uint64_t memoryBudget();

}  // namespace tracesmith
