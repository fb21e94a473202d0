// SPDX-License-Identifier: Apache-2.0
// The dependencies between the operations of a trace, as far as the trace shows them. Takes linear
// time except for sorting.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

enum class DependencyType : uint8_t {
  None,
  Sequential,       ///< the order of one stream
  Synchronization,  ///< an event recorded on one stream and waited for on another
  HostBarrier,      ///< a wait of the host, before or after the operation
  Memory,           ///< both use the same bytes and one writes some of them
};
std::string_view toString(DependencyType type);

/// Device work, and waits of the host.
struct Operation {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t launched_ns = INT64_MIN;  ///< start of its host call; INT64_MIN: not in the trace
  uint64_t correlation_id = 0;
  StringId name{};
  StreamId stream{};
  ThreadId thread{};
  ProcessId process{};
  uint32_t row = 0;
  TableId table{};
  bool host_wait = false;
};

struct Dependency {
  enum class Why : uint8_t {
    kStreamOrder,  ///< exact: streams run one after the other
    /// inferred: stream order, but the two overlap (dependent launch, for example)
    kOverlapInStream,
    kEventWait,          ///< exact: the trace states that one waited for the other
    kHostWaitedForIt,    ///< exact: the host waited until it had ended
    kLaunchedAfterWait,  ///< exact: launched afterwards by the thread that had waited
    kSameMemory,         ///< inferred: their addresses overlap, and one of them writes
  };
  uint32_t from = 0;
  uint32_t to = 0;
  DependencyType type{};
  Why why{};
  bool exact() const { return why != Why::kOverlapInStream && why != Why::kSameMemory; }
};
std::string_view toString(Dependency::Why why);

struct OperationGraph {
  std::vector<Operation> operations;     ///< by start
  std::vector<Dependency> dependencies;  ///< by `to`; at most one between two operations
  std::vector<uint32_t> first;  ///< dependencies [first[i], first[i + 1]) are those of operation i

  /// Empty if cancelled (base/cancellation.hpp).
  static OperationGraph of(const Trace& trace);
  std::span<const Dependency> of(size_t operation) const {
    return std::span(dependencies)
        .subspan(first[operation], first[operation + 1] - first[operation]);
  }
  /// An order that respects all dependencies. Sorted by start where the dependencies permit, and
  /// where contradictory times form a cycle.
  std::vector<uint32_t> executionOrder() const;
};

/// What a drawing of a graph shows (InstructionStreamBuilder::exportToDot()).
struct DotOptions {
  /// true: operations of one stream with the same name become one node, with their count and time.
  /// false: each is a node.
  bool collapse = true;
  size_t most_nodes = 40;  ///< keeps the longest ones; the graph states how many are left out
  int64_t from_ns = std::numeric_limits<int64_t>::min();
  int64_t to_ns = std::numeric_limits<int64_t>::max();  ///< operations that overlap [from, to)
};

}  // namespace tracesmith
