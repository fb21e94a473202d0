// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/gpu_state_machine.hpp"

#include <algorithm>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/state/timeline.hpp"

namespace tracesmith {
namespace {

Timestamp stamp(int64_t ns) { return ns < 0 ? 0 : static_cast<Timestamp>(ns); }

/// A change of a stream's load at one time.
struct Change {
  int64_t time = 0;
  enum class What : uint8_t { kEnd, kRelease, kLaunch, kBlock, kStart } what{};
  uint32_t op = 0;
};

/// Number of operations of a stream in each state, while its changes are processed.
struct StreamLoad {
  size_t running = 0, blocked = 0, queued = 0;
  size_t left = 0;  ///< not ended yet

  void apply(Change::What what, bool barrier) {
    switch (what) {
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
  }
  GPUState state() const {
    return running > 0   ? GPUState::Running
           : blocked > 0 ? GPUState::Waiting
           : queued > 0  ? GPUState::Queued
           : left > 0    ? GPUState::Idle
                         : GPUState::Complete;
  }
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
    // The previous state lasted no time: remove it.
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

/// Computes the states of all streams of a trace from the dependencies between its operations.
class GPUStateMachine::Builder {
 public:
  Builder(const Trace& trace, Built& built)
      : trace_(trace),
        graph_(OperationGraph::of(trace)),
        stream_numbers_(streamNumbers(trace)),
        device_numbers_(deviceNumbers(trace)),
        times_(graph_.operations.size()),
        built_(built) {}

  /// False: cancelled, and the result is incomplete.
  bool build();

 private:
  static constexpr uint32_t kNothing = ~uint32_t{0};
  struct Times {
    int64_t launched = INT64_MIN, released = INT64_MIN;
    uint32_t waited_for = kNothing;  // of the operations it had to wait for, the last to end
    bool other_stream = false;       // that operation is in another stream
  };

  int64_t launchOf(const Operation& op) const;
  Times timesOf(uint32_t number) const;
  std::pair<uint32_t, uint32_t> placeOf(const Operation& op) const;
  void addChanges(uint32_t number, std::vector<Change>& changes) const;
  void addStates(uint32_t number);
  GPUStreamState streamState(uint32_t device, uint32_t stream,
                             const std::vector<Change>& changes) const;
  std::string reasonOf(GPUState to, uint32_t number) const;

  const Trace& trace_;
  const OperationGraph graph_;
  const std::vector<uint32_t> stream_numbers_;
  const std::vector<uint32_t> device_numbers_;
  std::vector<Times> times_;  // by operation
  Built& built_;
};

bool GPUStateMachine::Builder::build() {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Change>> changes;
  for (uint32_t i = 0; i < graph_.operations.size(); ++i) {
    if (isCancelledAt(i)) return false;
    const Operation& op = graph_.operations[i];
    if (op.host_wait) continue;
    times_[i] = timesOf(i);
    addChanges(i, changes[placeOf(op)]);
    addStates(i);
  }
  for (auto& [place, of_stream] : changes) {
    if (isCancelled()) return false;
    std::stable_sort(of_stream.begin(), of_stream.end(), [](const Change& a, const Change& b) {
      return a.time != b.time ? a.time < b.time : a.what < b.what;
    });
    built_.streams.emplace(place, streamState(place.first, place.second, of_stream));
  }
  return !isCancelled();
}

/// The operation's start if the trace has no launch of it.
int64_t GPUStateMachine::Builder::launchOf(const Operation& op) const {
  int64_t launched = std::min(op.launched_ns, op.begin_ns);
  const auto queued_before = [&](const auto& table) {
    if ((table.flags[op.row] & op_flags::kQueueTimes) != 0) {
      launched = op.begin_ns - std::max<int64_t>(table.queued_before_ns[op.row], 0);
    }
  };
  if (op.table == TableId::kKernel) queued_before(trace_.kernel);
  if (op.table == TableId::kCopy) queued_before(trace_.copy);
  if (op.table == TableId::kFill) queued_before(trace_.fill);
  if (op.table == TableId::kSync) queued_before(trace_.sync);
  return op.launched_ns == INT64_MIN && launched == INT64_MIN ? op.begin_ns : launched;
}

GPUStateMachine::Builder::Times GPUStateMachine::Builder::timesOf(uint32_t number) const {
  const Operation& op = graph_.operations[number];
  Times t;
  t.launched = launchOf(op);
  t.released = t.launched;
  for (const Dependency& d : graph_.of(number)) {
    const Operation& before = graph_.operations[d.from];
    if (before.host_wait || before.end_ns <= t.released || before.end_ns > op.begin_ns) continue;
    t.released = before.end_ns;
    t.waited_for = d.from;
    t.other_stream = before.stream != op.stream;
  }
  return t;
}

/// The numbers of its device and stream.
std::pair<uint32_t, uint32_t> GPUStateMachine::Builder::placeOf(const Operation& op) const {
  const auto s = static_cast<size_t>(op.stream);
  const auto d = static_cast<size_t>(trace_.deviceOf(op.stream));
  return {d == 0 || d > device_numbers_.size() ? 0 : device_numbers_[d - 1],
          s == 0 || s > stream_numbers_.size() ? 0 : stream_numbers_[s - 1]};
}

void GPUStateMachine::Builder::addChanges(uint32_t number, std::vector<Change>& changes) const {
  const Operation& op = graph_.operations[number];
  const Times& t = times_[number];
  changes.push_back({t.launched, Change::What::kLaunch, number});
  if (t.other_stream && t.released > t.launched) {
    changes.push_back({t.launched, Change::What::kBlock, number});
    changes.push_back({t.released, Change::What::kRelease, number});
  }
  // A barrier only waits.
  if (op.table == TableId::kSync) {
    changes.push_back({op.begin_ns, Change::What::kBlock, number});
    changes.push_back({op.end_ns, Change::What::kRelease, number});
  } else {
    changes.push_back({op.begin_ns, Change::What::kStart, number});
  }
  changes.push_back({op.end_ns, Change::What::kEnd, number});
}

void GPUStateMachine::Builder::addStates(uint32_t number) {
  const Operation& op = graph_.operations[number];
  const Times& t = times_[number];
  const bool waited = t.waited_for != kNothing;
  const uint64_t waited_for = waited ? graph_.operations[t.waited_for].correlation_id : 0;
  const bool unknown_launch = op.launched_ns == INT64_MIN && t.launched == op.begin_ns;
  built_.operations.push_back({.correlation_id = op.correlation_id,
                               .launched = unknown_launch ? 0 : stamp(t.launched),
                               .released = stamp(t.released),
                               .started = stamp(op.begin_ns),
                               .ended = stamp(op.end_ns),
                               .waited_for = waited_for});
  if (waited) built_.waited_for[waited_for] += static_cast<uint64_t>(t.released - t.launched);
}

/// `changes` must be sorted by time.
GPUStreamState GPUStateMachine::Builder::streamState(uint32_t device, uint32_t stream,
                                                     const std::vector<Change>& changes) const {
  GPUStreamState state(device, stream);
  StreamLoad load;
  for (const Change& c : changes) load.left += c.what == Change::What::kLaunch;
  for (const Change& c : changes) {
    const Operation& op = graph_.operations[c.op];
    load.apply(c.what, op.table == TableId::kSync);
    const GPUState to = load.state();
    state.transitionTo(to, stamp(c.time), op.correlation_id, reasonOf(to, c.op));
  }
  return state;
}

std::string GPUStateMachine::Builder::reasonOf(GPUState to, uint32_t number) const {
  const Times& t = times_[number];
  if (to == GPUState::Waiting && t.waited_for != kNothing) {
    const Operation& other = graph_.operations[t.waited_for];
    return "waits for " + std::string(trace_.text(other.name));
  }
  return std::string(trace_.text(graph_.operations[number].name));
}

const GPUStateMachine::Built& GPUStateMachine::built() const {
  if (!stale_) return built_;
  built_ = {};
  whole_ = trace_;
  appendEvents(whole_, events_);
  if (!Builder(whole_, built_).build()) return built_ = {};
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
