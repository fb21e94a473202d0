// SPDX-License-Identifier: Apache-2.0
// How much memory this process may use before the machine or its container runs short.
#pragma once

#include <cstdint>
#include <optional>

namespace tracesmith {

/// Three quarters of the memory that is available now, or that the control group may use, whichever
/// is less. 8 GiB if the system reports neither.
uint64_t memoryBudget();

/// The memory of this machine in bytes; nullopt: it cannot be found out.
std::optional<uint64_t> physicalMemoryBytes();

}  // namespace tracesmith
