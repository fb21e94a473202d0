// SPDX-License-Identifier: Apache-2.0
// State of each stream over time. Works with any level of detail in a trace: queued, submitted,
// started and ended times; or launch and kernel; or the kernel only.
//
// An operation passes through these states:
// - Idle before it is launched.
// - Queued from its launch on.
// - Waiting while something it had to wait for was still running: its predecessor in the stream, or
//   the target of an event or barrier.
// - Queued again until the device started it ("dispatch pending").
// - Running.
// - Complete from its end on.
//
// The state of a stream is the first that applies:
// - Running while any of its operations is running.
// - Waiting while one waits for work of another stream.
// - Queued while one is launched but not started.
// - Complete after the last operation of the trace.
// - Idle otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/model/trace_event.hpp"
#include "tracesmith/state/operation_graph.hpp"

namespace tracesmith {

enum class GPUState : uint8_t { Idle = 0, Queued = 1, Running = 2, Waiting = 3, Complete = 4 };
constexpr size_t kGpuStates = 5;
std::string_view toString(GPUState state);
/// Alias of toString(); part of the public API.
inline std::string_view gpuStateToString(GPUState state) { return toString(state); }

struct StateTransition {
  GPUState from = GPUState::Idle;
  GPUState to = GPUState::Idle;
  Timestamp when = 0;
  uint64_t correlation_id = 0;  ///< correlation id of the operation that caused it
  std::string reason;           ///< readable text; names what was waited for
};

struct StateHistory {
  uint32_t device_id = 0;
  uint32_t stream_id = 0;
  std::vector<StateTransition> transitions;
};

/// ns in each state, by GPUState.
using TimeInStates = std::array<uint64_t, kGpuStates>;

/// One stream.
class GPUStreamState {
 public:
  GPUStreamState() = default;
  GPUStreamState(uint32_t device_id, uint32_t stream_id)
      : device_id_(device_id), stream_id_(stream_id) {}

  uint32_t deviceId() const { return device_id_; }
  uint32_t streamId() const { return stream_id_; }
  GPUState currentState() const;  ///< after the last transition
  GPUState stateAt(Timestamp when) const;
  const std::vector<StateTransition>& transitions() const { return transitions_; }
  /// Covers the first to the last transition; the time before and after is unknown.
  TimeInStates timeInStates() const;
  /// Running time divided by the time from the first to the last transition; 0 if there is none.
  double utilization() const;
  /// Appends a transition. Returns false without change for a transition to the current state or
  /// into the past.
  bool transitionTo(GPUState to, Timestamp when, uint64_t correlation_id = 0,
                    std::string reason = {});
  void reset() { transitions_.clear(); }

 private:
  uint32_t device_id_ = 0;
  uint32_t stream_id_ = 0;
  std::vector<StateTransition> transitions_;
};

/// The times at which an operation changed state. If two times are equal, it skipped the state
/// between.
struct OperationStates {
  uint64_t correlation_id = 0;
  Timestamp launched = 0;  ///< 0: the launch is not in the trace
  Timestamp released = 0;  ///< end of the last operation that it had to wait for
  Timestamp started = 0;
  Timestamp ended = 0;
  uint64_t waited_for = 0;  ///< correlation id of that operation; 0: it waited for none
};

class GPUStateMachine {
 public:
  struct Statistics {
    size_t total_events = 0;
    size_t total_transitions = 0;
    /// By stream number; streams with the same number on several devices count together.
    /// exportHistory() keeps them apart.
    std::map<uint32_t, size_t> transitions_per_stream;
    std::map<GPUState, uint64_t> total_time_per_state;  ///< ns, over all streams
    /// Mean over the devices of the share of time in which any of their streams was Running, each
    /// from its first to its last transition.
    double overall_utilization = 0;
  };

  void processEvent(const TraceEvent& event);
  void processEvents(std::span<const TraceEvent> events);
  /// Instead of events: the operations of a trace in host time.
  void processTrace(Trace trace);

  // The first query computes the results. If that was cancelled (base/cancellation.hpp), queries
  // return empty results and the next query computes them again.

  /// nullptr: the stream is not in the trace.
  const GPUStreamState* getStreamState(uint32_t stream_id, uint32_t device_id = 0) const;
  /// By device and stream.
  std::vector<const GPUStreamState*> getAllStreams() const;
  /// The device's state, as for a single stream with all its work.
  GPUState deviceStateAt(uint32_t device_id, Timestamp when) const;
  /// States of each device operation, by start.
  const std::vector<OperationStates>& operations() const;
  /// Time in ns that streams spent waiting for each operation, by correlation id.
  const std::map<uint64_t, uint64_t>& waitedFor() const;
  Statistics getStatistics() const;
  std::vector<StateHistory> exportHistory() const;
  void reset();

 private:
  struct Built {
    std::map<std::pair<uint32_t, uint32_t>, GPUStreamState> streams;
    std::vector<OperationStates> operations;
    std::map<uint64_t, uint64_t> waited_for;
  };
  class Builder;
  const Built& built() const;

  size_t events_seen_ = 0;
  Trace trace_;
  mutable std::vector<TraceEvent> events_;  // not yet in trace_
  mutable Trace whole_;
  mutable Built built_;
  mutable bool stale_ = false;
};

}  // namespace tracesmith
