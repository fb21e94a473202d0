// SPDX-License-Identifier: Apache-2.0
// What had to wait for what: the dependencies among the operations of a trace, as far as it tells
// them. Linear but for sorting.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

enum class DependencyType : uint8_t {
  None,
  Sequential,       ///< the order of one stream
  Synchronization,  ///< an event that was recorded and waited for
  HostBarrier,      ///< a wait of the host, before which or after which it was
  Memory,           ///< the same bytes, of which one of the two wrote some
};
std::string_view toString(DependencyType type);

/// Device work, and waits of the host.
struct Operation {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t launched_ns = INT64_MIN;  ///< begin of its host call; INT64_MIN: not in the trace
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
    kStreamOrder,        ///< exact: streams run one after the other
    kOverlapInStream,    ///< inferred: the same, but the two overlap (dependent launch, say)
    kEventWait,          ///< exact: the trace says that one waited for the other
    kHostWaitedForIt,    ///< exact: the host waited until it had ended
    kLaunchedAfterWait,  ///< exact: the thread that had waited launched it afterwards
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
  std::vector<Operation> operations;     ///< by begin
  std::vector<Dependency> dependencies;  ///< by `to`; one between two operations at most
  std::vector<uint32_t> first;  ///< dependencies [first[i], first[i + 1]) are those of operation i

  /// Of nothing where it was cancelled (base/cancellation.hpp).
  static OperationGraph of(const Trace& trace);
  std::span<const Dependency> of(size_t operation) const {
    return std::span(dependencies)
        .subspan(first[operation], first[operation + 1] - first[operation]);
  }
  /// An order that keeps all dependencies, and goes by begin where it is free, or where times that
  /// contradict each other make a circle.
  std::vector<uint32_t> executionOrder() const;
};

}  // namespace tracesmith
