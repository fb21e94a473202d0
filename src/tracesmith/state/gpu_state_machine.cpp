// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/gpu_state_machine.hpp"

#include <algorithm>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/state/timeline.hpp"

namespace tracesmith {
namespace {

Timestamp stamp(int64_t ns) { return ns < 0 ? 0 : static_cast<Timestamp>(ns); }

/// What happens to a stream at one time.
struct Change {
  int64_t time = 0;
  enum class What : uint8_t { kEnd, kRelease, kLaunch, kBlock, kStart } what{};
  uint32_t op = 0;
};

}  // namespace

std::string_view toString(GPUState state) {
  constexpr std::array<std::string_view, kGpuStates> kNames = {"idle", "queued", "running",
                                                               "waiting", "complete"};
  return kNames[static_cast<size_t>(state)];
}

GPUState GPUStreamState::currentState() const {
  return transitions_.empty() ? GPUState::Idle : transitions_.back().to;
}

GPUState GPUStreamState::stateAt(Timestamp when) const {
  const auto after = std::upper_bound(
      transitions_.begin(), transitions_.end(), when,
      [](Timestamp t, const StateTransition& transition) { return t < transition.when; });
  return after == transitions_.begin() ? GPUState::Idle : std::prev(after)->to;
}

TimeInStates GPUStreamState::timeInStates() const {
  TimeInStates out{};
  for (size_t i = 0; i + 1 < transitions_.size(); ++i) {
    out[static_cast<size_t>(transitions_[i].to)] += transitions_[i + 1].when - transitions_[i].when;
  }
  return out;
}

double GPUStreamState::utilization() const {
  if (transitions_.size() < 2) return 0;
  const Timestamp span = transitions_.back().when - transitions_.front().when;
  const TimeInStates times = timeInStates();
  return span == 0 ? 0
                   : static_cast<double>(times[static_cast<size_t>(GPUState::Running)]) /
                         static_cast<double>(span);
}

bool GPUStreamState::transitionTo(GPUState to, Timestamp when, uint64_t correlation_id,
                                  std::string reason) {
  const GPUState from = currentState();
  if (to == from || (!transitions_.empty() && when < transitions_.back().when)) return false;
  if (!transitions_.empty() && transitions_.back().when == when) {
    // It was in that state for no time at all.
    const GPUState before = transitions_.back().from;
    transitions_.pop_back();
    if (to == before) return true;
    transitions_.push_back({before, to, when, correlation_id, std::move(reason)});
    return true;
  }
  transitions_.push_back({from, to, when, correlation_id, std::move(reason)});
  return true;
}

void GPUStateMachine::processEvent(const TraceEvent& event) {
  events_.push_back(event);
  ++events_seen_;
  stale_ = true;
}

void GPUStateMachine::processEvents(std::span<const TraceEvent> events) {
  for (const TraceEvent& event : events) processEvent(event);
}

void GPUStateMachine::processTrace(Trace trace) {
  reset();
  events_seen_ = trace.kernel.size() + trace.copy.size() + trace.fill.size() + trace.sync.size() +
                 trace.host_call.size();
  trace_ = std::move(trace);
  stale_ = true;
}

void GPUStateMachine::reset() { *this = GPUStateMachine(); }

const GPUStateMachine::Built& GPUStateMachine::built() const {
  if (!stale_) return built_;
  built_ = {};
  whole_ = trace_;
  appendEvents(whole_, events_);
  const Trace& trace = whole_;
  const OperationGraph graph = OperationGraph::of(trace);
  const std::vector<uint32_t> stream_numbers = streamNumbers(trace);
  const std::vector<uint32_t> device_numbers = deviceNumbers(trace);

  struct Times {
    int64_t launched = INT64_MIN, released = INT64_MIN;
    uint32_t waited_for = ~uint32_t{0};
    bool other_stream = false;
  };
  std::vector<Times> times(graph.operations.size());
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Change>> changes;
  for (size_t i = 0; i < graph.operations.size(); ++i) {
    if (isCancelledAt(i)) return built_ = {};
    const Operation& op = graph.operations[i];
    if (op.host_wait) continue;
    Times& t = times[i];
    t.launched = std::min(op.launched_ns, op.begin_ns);
    const auto queued_before = [&](const auto& table) {
      if ((table.flags[op.row] & op_flags::kQueueTimes) != 0) {
        t.launched = op.begin_ns - std::max<int64_t>(table.queued_before_ns[op.row], 0);
      }
    };
    if (op.table == TableId::kKernel) queued_before(trace.kernel);
    if (op.table == TableId::kCopy) queued_before(trace.copy);
    if (op.table == TableId::kFill) queued_before(trace.fill);
    if (op.table == TableId::kSync) queued_before(trace.sync);
    if (op.launched_ns == INT64_MIN && t.launched == INT64_MIN) t.launched = op.begin_ns;
    t.released = t.launched;
    for (const Dependency& d : graph.of(i)) {
      const Operation& before = graph.operations[d.from];
      if (before.host_wait || before.end_ns <= t.released || before.end_ns > op.begin_ns) continue;
      t.released = before.end_ns;
      t.waited_for = d.from;
      t.other_stream = before.stream != op.stream;
    }
    const auto s = static_cast<size_t>(op.stream);
    const auto d = static_cast<size_t>(trace.deviceOf(op.stream));
    const std::pair<uint32_t, uint32_t> key = {
        d == 0 || d > device_numbers.size() ? 0 : device_numbers[d - 1],
        s == 0 || s > stream_numbers.size() ? 0 : stream_numbers[s - 1]};
    auto& of_stream = changes[key];
    const auto here = static_cast<uint32_t>(i);
    of_stream.push_back({t.launched, Change::What::kLaunch, here});
    if (t.other_stream && t.released > t.launched) {
      of_stream.push_back({t.launched, Change::What::kBlock, here});
      of_stream.push_back({t.released, Change::What::kRelease, here});
    }
    // A barrier does nothing but wait.
    if (op.table == TableId::kSync) {
      of_stream.push_back({op.begin_ns, Change::What::kBlock, here});
      of_stream.push_back({op.end_ns, Change::What::kRelease, here});
      of_stream.push_back({op.end_ns, Change::What::kEnd, here});
    } else {
      of_stream.push_back({op.begin_ns, Change::What::kStart, here});
      of_stream.push_back({op.end_ns, Change::What::kEnd, here});
    }
    built_.operations.push_back(
        {.correlation_id = op.correlation_id,
         .launched =
             op.launched_ns == INT64_MIN && t.launched == op.begin_ns ? 0 : stamp(t.launched),
         .released = stamp(t.released),
         .started = stamp(op.begin_ns),
         .ended = stamp(op.end_ns),
         .waited_for =
             t.waited_for == ~uint32_t{0} ? 0 : graph.operations[t.waited_for].correlation_id});
    if (t.waited_for != ~uint32_t{0}) {
      built_.waited_for[graph.operations[t.waited_for].correlation_id] +=
          static_cast<uint64_t>(t.released - t.launched);
    }
  }
  for (auto& [key, of_stream] : changes) {
    if (isCancelled()) return built_ = {};
    std::stable_sort(of_stream.begin(), of_stream.end(), [](const Change& a, const Change& b) {
      return a.time != b.time ? a.time < b.time : a.what < b.what;
    });
    GPUStreamState state(key.first, key.second);
    size_t running = 0, blocked = 0, queued = 0, left = 0;
    for (const Change& c : of_stream) left += c.what == Change::What::kLaunch;
    for (const Change& c : of_stream) {
      const Operation& op = graph.operations[c.op];
      const bool barrier = op.table == TableId::kSync;
      switch (c.what) {
        case Change::What::kLaunch:
          ++queued;
          break;
        case Change::What::kBlock:
          ++blocked;
          break;
        case Change::What::kRelease:
          --blocked;
          break;
        case Change::What::kStart:
          --queued;
          ++running;
          break;
        case Change::What::kEnd:
          barrier ? --queued : --running;
          --left;
          break;
      }
      const GPUState to = running > 0   ? GPUState::Running
                          : blocked > 0 ? GPUState::Waiting
                          : queued > 0  ? GPUState::Queued
                          : left > 0    ? GPUState::Idle
                                        : GPUState::Complete;
      std::string reason;
      const Times& t = times[c.op];
      if (to == GPUState::Waiting && t.waited_for != ~uint32_t{0}) {
        const Operation& other = graph.operations[t.waited_for];
        reason = "waits for " + std::string(trace.text(other.name));
      } else {
        reason = trace.text(op.name);
      }
      state.transitionTo(to, stamp(c.time), op.correlation_id, std::move(reason));
    }
    built_.streams.emplace(key, std::move(state));
  }
  if (isCancelled()) return built_ = {};
  stale_ = false;
  return built_;
}

const GPUStreamState* GPUStateMachine::getStreamState(uint32_t stream_id,
                                                      uint32_t device_id) const {
  const auto it = built().streams.find({device_id, stream_id});
  return it == built_.streams.end() ? nullptr : &it->second;
}

std::vector<const GPUStreamState*> GPUStateMachine::getAllStreams() const {
  std::vector<const GPUStreamState*> out;
  for (const auto& [key, stream] : built().streams) out.push_back(&stream);
  return out;
}

GPUState GPUStateMachine::deviceStateAt(uint32_t device_id, Timestamp when) const {
  // The strongest state of any stream; Complete only when all are.
  bool any = false, all_complete = true;
  GPUState strongest = GPUState::Idle;
  const auto rank = [](GPUState s) {
    return s == GPUState::Running ? 3 : s == GPUState::Waiting ? 2 : s == GPUState::Queued ? 1 : 0;
  };
  for (const auto& [key, stream] : built().streams) {
    if (key.first != device_id) continue;
    any = true;
    const GPUState state = stream.stateAt(when);
    all_complete = all_complete && state == GPUState::Complete;
    if (rank(state) > rank(strongest)) strongest = state;
  }
  return any && all_complete ? GPUState::Complete : strongest;
}

const std::vector<OperationStates>& GPUStateMachine::operations() const {
  return built().operations;
}

const std::map<uint64_t, uint64_t>& GPUStateMachine::waitedFor() const {
  return built().waited_for;
}

GPUStateMachine::Statistics GPUStateMachine::getStatistics() const {
  Statistics out;
  out.total_events = events_seen_;
  std::map<uint32_t, std::vector<Interval>> running;
  std::map<uint32_t, std::pair<Timestamp, Timestamp>> spans;
  for (const auto& [key, stream] : built().streams) {
    const auto& transitions = stream.transitions();
    out.total_transitions += transitions.size();
    out.transitions_per_stream[key.second] += transitions.size();
    const TimeInStates times = stream.timeInStates();
    for (size_t s = 0; s < kGpuStates; ++s) {
      if (times[s] > 0) out.total_time_per_state[static_cast<GPUState>(s)] += times[s];
    }
    if (transitions.empty()) continue;
    const auto [it, fresh] = spans.try_emplace(
        key.first, std::make_pair(transitions.front().when, transitions.back().when));
    it->second.first = std::min(it->second.first, transitions.front().when);
    it->second.second = std::max(it->second.second, transitions.back().when);
    for (size_t i = 0; i + 1 < transitions.size(); ++i) {
      if (transitions[i].to != GPUState::Running) continue;
      running[key.first].push_back({static_cast<int64_t>(transitions[i].when),
                                    static_cast<int64_t>(transitions[i + 1].when)});
    }
  }
  for (const auto& [device, span] : spans) {
    const std::vector<Interval> busy = unionOf(running[device]);
    if (span.second > span.first) {
      out.overall_utilization +=
          static_cast<double>(totalNs(busy)) / static_cast<double>(span.second - span.first);
    }
  }
  if (!spans.empty()) out.overall_utilization /= static_cast<double>(spans.size());
  return out;
}

std::vector<StateHistory> GPUStateMachine::exportHistory() const {
  std::vector<StateHistory> out;
  for (const auto& [key, stream] : built().streams) {
    out.push_back({key.first, key.second, stream.transitions()});
  }
  return out;
}

}  // namespace tracesmith
