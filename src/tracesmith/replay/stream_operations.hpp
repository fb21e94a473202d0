// SPDX-License-Identifier: Apache-2.0
// What StreamScheduler, OperationExecutor and DeterminismChecker work on, made from a recording or
// a trace: operations with what each has to wait for.
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

/// Whether a step is an operation: what a queue does, or what the host waits for. The others make
/// objects and set arguments.
bool isOperation(const ReplayStep& step);

/// In the recorded order, which is a legal one. An operation's id is the index of its step, its
/// stream the queue's number (0: the host's waits); what failed when it was recorded is among them.
/// With `durations` events have theirs, and priorities are set.
std::vector<StreamOperation> operationsOf(const ReplayPlan& plan,
                                          const StepDurations* durations = nullptr);

struct TraceOperations {
  /// In an order that keeps all that they depend on; an id is its number by begin. Waits of the
  /// host have a device of their own (kHost), on which each thread is a stream.
  std::vector<StreamOperation> operations;
  std::vector<std::pair<TableId, uint32_t>> rows;  ///< of the trace, by id
  std::vector<bool> host_wait;                     ///< by id
  /// By id: began before its predecessor in the stream was over, as hardware lets some.
  std::vector<bool> overlaps;
  size_t left_out = 0;  ///< dependencies that contradict the recorded times
  static constexpr uint32_t kHost = ~uint32_t{0};
};
/// `trace` in host time. Priorities are set. Not whole where it was cancelled
/// (base/cancellation.hpp).
TraceOperations operationsOf(const Trace& trace);

/// Gives each operation the time from its begin to the end of the longest chain that waits for it,
/// by the durations of events. `operations` in an order that keeps all that they depend on.
void setPriorities(std::vector<StreamOperation>& operations);

}  // namespace tracesmith
