// SPDX-License-Identifier: Apache-2.0
// The calls of different ranks that are one collective: those with the same communicator, function
// and sequence number.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/analysis/communication/comm_operations.hpp"

namespace tracesmith {

/// One rank's call of a collective.
struct CollectiveCall {
  uint32_t communicator = 0;
  StringId function{};
  bool uses_copy_engines = false;  ///< NCCL numbers these apart
  uint64_t sequence = 0;           ///< 0: its source has none
  /// Which of the calls that this rank made with the same number, in the order of time: more than 0
  /// where numbers repeat, because they start again or because the source of the trace has none.
  uint32_t occurrence = 0;
  uint32_t member = 0;     ///< in JobCommunicators::members
  uint32_t operation = 0;  ///< index in the operations

  /// "#3", or if its source has no numbers "call 3".
  std::string numberText() const {
    return sequence != 0 ? "#" + std::to_string(sequence)
                         : "call " + std::to_string(uint64_t{occurrence} + 1);
  }
};

struct CollectiveSet {
  uint32_t first = 0;  ///< in CollectiveSets::calls
  uint32_t count = 0;
};

/// Of communicators of which several ranks are in the trace.
struct CollectiveSets {
  std::vector<CollectiveCall> calls;  ///< by set, then member
  std::vector<CollectiveSet> sets;    ///< by communicator, function and number
  /// Calls left out because they have no number while others of their function have one.
  uint64_t unnumbered = 0;

  std::span<const CollectiveCall> of(const CollectiveSet& set) const {
    return {calls.data() + set.first, set.count};
  }
};

/// Takes time and memory by the number of calls, whatever the communicators say of their size.
CollectiveSets collectiveSets(const Trace& trace, const std::vector<CommOperation>& operations,
                              const JobCommunicators& communicators);

/// Calls f(sets) for the sets of each function in each communicator; `sets` is a span of them.
template <class F>
void forEachFunction(const CollectiveSets& all, F&& f) {
  const auto isOne = [&](const CollectiveSet& a, const CollectiveSet& b) {
    const CollectiveCall &x = all.calls[a.first], &y = all.calls[b.first];
    return x.communicator == y.communicator && x.function == y.function &&
           x.uses_copy_engines == y.uses_copy_engines;
  };
  for (size_t begin = 0, end = 0; begin < all.sets.size(); begin = end) {
    while (end < all.sets.size() && isOne(all.sets[begin], all.sets[end])) ++end;
    f(std::span<const CollectiveSet>(all.sets.data() + begin, end - begin));
  }
}

}  // namespace tracesmith
