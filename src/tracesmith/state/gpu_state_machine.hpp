// SPDX-License-Identifier: Apache-2.0
// What each stream was doing at any time, from whatever a trace has: queued, submitted, started and
// ended; or the launch and the kernel; or the kernel alone.
//
// An operation is Idle before it is launched, Queued from its launch on, Waiting while something it
// had to wait for was still running (its predecessor in the stream, or what an event or a barrier
// made it wait for), Queued again until the device began it ("dispatch pending"), Running, and
// Complete from its end on.
//
// A stream is Running while any of its operations is; else Waiting while one waits for work of
// another stream; else Queued while one has been launched and has not begun; else Idle, and
// Complete after the last one of the trace.
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
/// The same, by the name that users know.
inline std::string_view gpuStateToString(GPUState state) { return toString(state); }

struct StateTransition {
  GPUState from = GPUState::Idle;
  GPUState to = GPUState::Idle;
  Timestamp when = 0;
  uint64_t correlation_id = 0;  ///< of the operation that caused it
  std::string reason;           ///< for people; names what was waited for
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
  /// From the first transition to the last; what comes before and after is unknown.
  TimeInStates timeInStates() const;
  /// Running time over the time from the first transition to the last; 0 for none.
  double utilization() const;
  /// Appends a transition; one to the state that it is in, or into the past, is none (false).
  bool transitionTo(GPUState to, Timestamp when, uint64_t correlation_id = 0,
                    std::string reason = {});
  void reset() { transitions_.clear(); }

 private:
  uint32_t device_id_ = 0;
  uint32_t stream_id_ = 0;
  std::vector<StateTransition> transitions_;
};

/// One operation: when it was in which state. Equal times: it was not in the state between.
struct OperationStates {
  uint64_t correlation_id = 0;
  Timestamp launched = 0;  ///< 0: the launch is not in the trace
  Timestamp released = 0;  ///< the last one that it had to wait for had ended
  Timestamp started = 0;
  Timestamp ended = 0;
  uint64_t waited_for = 0;  ///< correlation id of that one; 0: it had to wait for none
};

class GPUStateMachine {
 public:
  struct Statistics {
    size_t total_events = 0;
    size_t total_transitions = 0;
    /// Streams of one number on several devices count together; exportHistory() keeps them apart.
    std::map<uint32_t, size_t> transitions_per_stream;
    std::map<GPUState, uint64_t> total_time_per_state;  ///< ns, over all streams
    /// Mean of the devices' shares of time in which any of their streams was Running, each from
    /// its first transition to its last.
    double overall_utilization = 0;
  };

  void processEvent(const TraceEvent& event);
  void processEvents(std::span<const TraceEvent> events);
  /// In place of events: the operations of a trace in host time.
  void processTrace(Trace trace);

  // What these tell is found when one of them is first asked; where that was cancelled
  // (base/cancellation.hpp) they know of nothing, and it is found when one is asked again.

  /// nullptr: it is not in the trace.
  const GPUStreamState* getStreamState(uint32_t stream_id, uint32_t device_id = 0) const;
  /// By device and stream.
  std::vector<const GPUStreamState*> getAllStreams() const;
  /// A device is Running, Waiting, Queued, Idle or Complete as a stream with all its work would be.
  GPUState deviceStateAt(uint32_t device_id, Timestamp when) const;
  /// Of each operation of the device, by start.
  const std::vector<OperationStates>& operations() const;
  /// ns that streams spent waiting for each operation (by correlation id).
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
