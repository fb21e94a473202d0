// SPDX-License-Identifier: Apache-2.0
// Builds the operations that StreamScheduler, OperationExecutor and DeterminismChecker work on,
// from a recording or a trace, with their dependencies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/replay/replay_config.hpp"

namespace tracesmith {

class ReplayPlan;
struct ReplayStep;
struct StepDurations;

enum class OperationKind : uint8_t { kKernel, kMemory, kSync, kOther };
OperationKind kindOf(EventType type);

/// True if a step is an operation: queue work, or a wait of the host. Other steps create objects
/// and set arguments.
bool isOperation(const ReplayStep& step);

/// Returns the operations in recorded order, which is a legal one. The operation id is the index of
/// the step; the stream is the queue's number (0: the host's waits). Includes operations that
/// failed when they were recorded. With `durations`, events get their duration and priorities are
/// set.
std::vector<StreamOperation> operationsOf(const ReplayPlan& plan,
                                          const StepDurations* durations = nullptr);

struct TraceOperations {
  /// In an order that respects dependencies. The id is the operation's position by start time.
  /// Waits of the host use a separate device (kHost), on which each thread is a stream.
  std::vector<StreamOperation> operations;
  std::vector<std::pair<TableId, uint32_t>> rows;  ///< rows of the trace, by id
  std::vector<bool> host_wait;                     ///< by id
  /// By id: started before its predecessor in the stream had ended, which some hardware permits.
  std::vector<bool> overlaps;
  size_t left_out = 0;  ///< dependencies that contradict the recorded times
  static constexpr uint32_t kHost = ~uint32_t{0};
};
/// `trace` must be in host time. Sets priorities. Incomplete after cancellation
/// (base/cancellation.hpp).
TraceOperations operationsOf(const Trace& trace);

/// Sets the priority of each operation to the time from its start to the end of the longest chain
/// that waits for it, using the durations of events. `operations` must be in an order that respects
/// dependencies.
void setPriorities(std::vector<StreamOperation>& operations);

}  // namespace tracesmith
