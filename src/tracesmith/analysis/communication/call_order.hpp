// SPDX-License-Identifier: Apache-2.0
// Whether the ranks of a communicator called its collectives in one order, and whether their
// sequence numbers only grow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/analysis/communication/collective_sets.hpp"

namespace tracesmith {

enum class CommMismatchKind : uint8_t;

struct OrderMismatch {
  CommMismatchKind kind{};  ///< kOrder, kRepeated or kRestarted
  uint32_t communicator = 0;
  StringId function{};
  uint64_t sequence = 0;
  uint64_t count = 0;
  std::string example;
};

/// Compares each rank with the one that has the most calls in the communicator: its calls have to
/// be in the same order; and after the last call that both have made, they have to make the same
/// one. At most one kOrder for each rank.
std::vector<OrderMismatch> orderMismatches(const Trace& trace,
                                           const std::vector<CommOperation>& operations,
                                           const JobCommunicators& communicators,
                                           const CollectiveSets& sets);

}  // namespace tracesmith
