// SPDX-License-Identifier: Apache-2.0
// Builds the host threads of an emulator's graph: their calls in order, and what they waited for.
// Time spent waiting is removed from a thread's own time.
#include <algorithm>
#include <map>
#include <tuple>

#include "tracesmith/analysis/timing/launch_index.hpp"
#include "tracesmith/emulate/emulator_graph_parts.hpp"
#include "tracesmith/state/operation_graph.hpp"

namespace tracesmith::emulator_parts {
namespace {

/// A thread idle for this long between two calls may have waited for another thread.
constexpr int64_t kRestNs = 50'000;
/// Most calls of other threads between the two ends of a hand-off.
constexpr size_t kMostBack = 64;
/// Most time that a wait call takes when there is nothing to wait for. If all calls of a function
/// did wait, their durations show nothing.
constexpr int64_t kMostEntryNs = 5'000;
/// Tolerance between device and host clocks: work that seems to end this much after the host saw
/// its end had ended. (In Nsight Systems the difference is up to 12 us.)
constexpr int64_t kClocksNs = 20'000;

bool holds(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

/// Finds host waits and adds them to the graph.
class HostWaits {
 public:
  explicit HostWaits(GraphMaker& maker) : m_(maker), calls_(maker.trace.host_call) {}

  void add() {
    learn();
    ownCopies();
    for (const auto& [process, launches] : m_.launches) ofProcess(process, launches);
  }

 private:
  struct Last {
    uint32_t op = kNone;  // operation launched last
    bool fresh = false;   // launched since all were waited for
  };

  /// Duration of wait calls with nothing to wait for: the shortest of each name.
  void learn() {
    for (uint32_t i = 0; i < calls_.size(); ++i) {
      const int64_t length = m_.callEnd(i) - m_.callBegin(i);
      const auto [it, fresh] = shortest_.try_emplace(calls_.name[i], length);
      if (!fresh) it->second = std::min(it->second, length);
    }
    const SyncTable& syncs = m_.trace.sync;
    const std::vector<uint32_t> call_of = LaunchIndex(m_.trace).launchesOf(syncs);
    for (uint32_t i = 0; i < syncs.size(); ++i) {
      if ((syncs.flags[i] & op_flags::kHostSide) == 0) continue;
      if (call_of[i] != LaunchIndex::kNone) sync_of_.try_emplace(call_of[i], i);
    }
    eventTargets();
  }

  /// Targets of event waits, where the trace has them.
  void eventTargets() {
    const auto& kinds = m_.trace.flow.kind;
    if (std::find(kinds.begin(), kinds.end(), FlowKind::kWait) == kinds.end()) return;
    std::map<std::pair<TableId, uint32_t>, uint32_t> op_of;
    for (uint32_t i = 0; i < m_.graph.ops.size(); ++i) {
      op_of[{m_.graph.ops[i].table, m_.graph.ops[i].row}] = i;
    }
    const OperationGraph known = OperationGraph::of(m_.trace);
    for (const Dependency& d : known.dependencies) {
      const Operation& to = known.operations[d.to];
      if (d.why != Dependency::Why::kHostWaitedForIt || to.table != TableId::kSync ||
          m_.trace.sync.kind[to.row] != SyncKind::kEventWait) {
        continue;
      }
      const Operation& from = known.operations[d.from];
      const auto it = op_of.find({from.table, from.row});
      if (it != op_of.end()) event_of_.try_emplace(to.row, it->second);
    }
  }

  /// Copies that their call waited for.
  void ownCopies() {
    for (uint32_t i = 0; i < m_.graph.ops.size(); ++i) {
      const EmulatedOp& op = m_.graph.ops[i];
      if (op.launch == kNone || m_.begin_step[op.launch] == kNone) continue;
      if (op.table != TableId::kCopy) continue;
      const int64_t after = op.end_ns - m_.callEnd(op.launch);
      // If the clock tolerance permits both, assume that a long call that copied to the host waited
      // for the copy.
      const bool likely = m_.trace.copy.kind[op.row] == CopyKind::kDeviceToHost &&
                          after <= kClocksNs &&
                          m_.callEnd(op.launch) - m_.callBegin(op.launch) > 3 * kClocksNs;
      if (after > 0 && !likely) continue;
      m_.waits_for_own[op.launch] = true;
      wait(op.launch, {i}, EmulatedEdgeKind::kHostWait);
    }
  }

  void ofProcess(ProcessId process, const std::vector<GraphMaker::Launch>& launches) {
    std::vector<uint32_t> waits;
    for (uint32_t i = 0; i < calls_.size(); ++i) {
      if (calls_.process_id[i] == process && m_.roles[i].waits && !m_.waits_for_own[i] &&
          m_.begin_step[i] != kNone) {
        waits.push_back(i);
      }
    }
    std::stable_sort(waits.begin(), waits.end(),
                     [&](uint32_t a, uint32_t b) { return m_.callBegin(a) < m_.callBegin(b); });
    std::vector<uint32_t> by_end;
    for (const GraphMaker::Launch& launch : launches) by_end.push_back(launch.op);
    std::stable_sort(by_end.begin(), by_end.end(), [&](uint32_t a, uint32_t b) {
      return m_.graph.ops[a].end_ns < m_.graph.ops[b].end_ns;
    });
    last_.assign(m_.graph.streams, {});
    touched_.clear();
    size_t next = 0;
    for (const uint32_t call : waits) {
      for (; next < launches.size() && launches[next].time_ns <= m_.callBegin(call); ++next) {
        Last& last = last_[m_.graph.ops[launches[next].op].stream];
        if (!last.fresh) touched_.push_back(m_.graph.ops[launches[next].op].stream);
        last = {launches[next].op, true};
      }
      resolve(call, by_end);
    }
  }

  void resolve(uint32_t call, const std::vector<uint32_t>& by_end) {
    const auto sync = sync_of_.find(call);
    StreamId stream = calls_.stream_id[call];
    bool whole = m_.roles[call].whole_device;
    if (sync != sync_of_.end()) {
      const SyncKind kind = m_.trace.sync.kind[sync->second];
      const StreamId named = m_.trace.sync.stream_id[sync->second];
      if (kind == SyncKind::kStreamWait && named != StreamId::kNone) stream = named;
      whole = whole || kind == SyncKind::kDeviceWait;
      const auto event = event_of_.find(sync->second);
      if (event != event_of_.end()) {
        wait(call, {event->second}, EmulatedEdgeKind::kHostWait);
        return;
      }
    }
    if (whole) {
      std::vector<uint32_t> all;
      for (const uint32_t s : touched_) {
        all.push_back(last_[s].op);
        last_[s].fresh = false;
      }
      touched_.clear();
      wait(call, all, EmulatedEdgeKind::kHostWait);
      return;
    }
    if (stream != StreamId::kNone && !m_.roles[call].one_event) {
      const auto it = m_.stream_of.find(stream);
      if (it == m_.stream_of.end() || last_[it->second].op == kNone) return;
      wait(call, {last_[it->second].op}, EmulatedEdgeKind::kHostWait);
      return;
    }
    guess(call, by_end);
  }

  /// For a call that does not state what it waits for: assumes the work that ended last before it
  /// returned.
  void guess(uint32_t call, const std::vector<uint32_t>& by_end) {
    const std::vector<EmulatedOp>& ops = m_.graph.ops;
    const int64_t begin = m_.callBegin(call);
    auto at = std::upper_bound(by_end.begin(), by_end.end(), m_.callEnd(call) + kClocksNs,
                               [&](int64_t time, uint32_t op) { return time < ops[op].end_ns; });
    // Looks back a few operations, because some were launched by other threads meanwhile and do not
    // qualify.
    for (int tries = 0; tries < 64 && at != by_end.begin(); ++tries) {
      const uint32_t op = *--at;
      if (m_.launched_ns[op] > begin) continue;
      const bool waited = ops[op].end_ns > begin;
      if (!waited && m_.roles[call].one_event) return;
      const uint32_t last = last_[ops[op].stream].op;
      const bool stream =
          !m_.roles[call].one_event && last != kNone && ops[last].end_ns <= m_.callEnd(call);
      wait(call, {stream ? last : op}, EmulatedEdgeKind::kLikelyWait);
      return;
    }
  }

  /// Adds edges: `call` continued when the last of `ops` had ended.
  void wait(uint32_t call, const std::vector<uint32_t>& ops, EmulatedEdgeKind kind) {
    EmulatorGraph& graph = m_.graph;
    const int64_t end = m_.callEnd(call);
    int64_t over = INT64_MIN;
    for (const uint32_t op : ops) {
      if (graph.ops[op].end_ns <= end + kClocksNs) over = std::max(over, graph.ops[op].end_ns);
    }
    if (over == INT64_MIN) return;
    // The first step after the end of the wait; calls may be nested.
    uint32_t step = m_.begin_step[call] + 1;
    while (step < m_.end_step[call] && graph.steps[step].recorded_ns < over) ++step;
    const HostStep& before = graph.steps[step - 1];
    const int64_t shortest = std::clamp<int64_t>(shortest_[calls_.name[call]], 0, kMostEntryNs);
    int64_t back = std::min(shortest, end - m_.callBegin(call));
    if (over > before.recorded_ns) {
      back = graph.steps[step].recorded_ns - over;
      graph.steps[step].own_ns = std::min(graph.steps[step].own_ns, shortest);
    }
    for (const uint32_t op : ops) {
      if (graph.ops[op].end_ns > end + kClocksNs) continue;
      // An operation that ended earlier must not delay the call more than it did.
      const int64_t offset = std::min(back, graph.steps[step].recorded_ns - graph.ops[op].end_ns);
      m_.edge(graph.nodeOf(op), step, offset, kind);
    }
  }

  GraphMaker& m_;
  const HostCallTable& calls_;
  std::unordered_map<StringId, int64_t> shortest_;
  std::unordered_map<uint32_t, uint32_t> sync_of_;   // call to row of sync
  std::unordered_map<uint32_t, uint32_t> event_of_;  // row of sync to operation
  std::vector<Last> last_;                           // by stream
  std::vector<uint32_t> touched_;
};

}  // namespace

CallRole roleOf(CallKind kind, std::string_view name) {
  CallRole role;
  role.stream_wait = holds(name, "StreamWait");
  if (kind == CallKind::kMemory) {
    // Freeing memory waits for all work that may use it; most calls find nothing to wait for.
    role.waits = role.whole_device =
        holds(name, "Free") && !holds(name, "Async") && !holds(name, "FreeHost");
    return role;
  }
  if (kind != CallKind::kSync) return role;
  role.waits = true;
  for (const std::string_view part :
       {"Record", "StreamWait", "Query", "Barrier", "Marker", "Flush"}) {
    if (holds(name, part)) role.waits = false;
  }
  role.whole_device = holds(name, "DeviceSync") || holds(name, "CtxSync") ||
                      holds(name, "DeviceWaitIdle") || holds(name, "ContextSync");
  role.one_event = holds(name, "Event");
  return role;
}

void addHostSteps(GraphMaker& maker) {
  EmulatorGraph& graph = maker.graph;
  const HostCallTable& calls = maker.trace.host_call;
  maker.begin_step.assign(calls.size(), kNone);
  maker.end_step.assign(calls.size(), kNone);
  maker.waits_for_own.assign(calls.size(), false);
  maker.roles.resize(calls.size());
  // Larger times are impossible (as in DeviceOps).
  constexpr int64_t kLastNs = int64_t{1} << 61;
  std::map<std::pair<ProcessId, ThreadId>, std::vector<uint32_t>> threads;
  std::unordered_map<uint64_t, CallRole> known;
  for (uint32_t i = 0; i < calls.size(); ++i) {
    const uint64_t key =
        static_cast<uint64_t>(calls.name[i]) << 8 | static_cast<uint8_t>(calls.kind[i]);
    const auto [it, fresh] = known.try_emplace(key);
    if (fresh) it->second = roleOf(calls.kind[i], maker.trace.text(calls.name[i]));
    maker.roles[i] = it->second;
    if (maker.callBegin(i) < -kLastNs || maker.callEnd(i) > kLastNs) {
      ++graph.facts.left_out;
      continue;
    }
    threads[{calls.process_id[i], calls.thread_id[i]}].push_back(i);
  }
  std::vector<bool> has_work(calls.size(), false);
  for (const EmulatedOp& op : graph.ops) {
    if (op.launch != kNone) has_work[op.launch] = true;
  }
  // Ignore threads that launch nothing and wait for nothing: a polling watchdog may end last.
  const auto works = [&](uint32_t call) {
    return has_work[call] || maker.roles[call].waits || calls.kind[call] == CallKind::kLaunch ||
           calls.kind[call] == CallKind::kCopy || calls.kind[call] == CallKind::kFill;
  };
  struct Act {
    int64_t time;
    uint32_t order;  // position of the call in its thread
    bool end;
    uint32_t call;
  };
  std::vector<Act> acts;
  uint32_t number = 0;
  for (auto& [thread, list] : threads) {
    if (std::none_of(list.begin(), list.end(), works)) {
      ++graph.facts.ignored_threads;
      continue;
    }
    std::stable_sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(maker.callBegin(a), -maker.callEnd(a)) <
             std::pair(maker.callBegin(b), -maker.callEnd(b));
    });
    acts.clear();
    for (uint32_t k = 0; k < list.size(); ++k) {
      acts.push_back({maker.callBegin(list[k]), k, false, list[k]});
      acts.push_back({maker.callEnd(list[k]), k, true, list[k]});
    }
    std::stable_sort(acts.begin(), acts.end(), [](const Act& a, const Act& b) {
      return std::tie(a.time, a.order, a.end) < std::tie(b.time, b.order, b.end);
    });
    for (size_t k = 0; k < acts.size(); ++k) {
      const Act& act = acts[k];
      const auto step = static_cast<uint32_t>(graph.steps.size());
      graph.steps.push_back({.recorded_ns = act.time,
                             .own_ns = k == 0 ? 0 : act.time - acts[k - 1].time,
                             .call = act.call,
                             .end = act.end,
                             .first = k == 0});
      maker.thread_of_step.push_back(number);
      (act.end ? maker.end_step : maker.begin_step)[act.call] = step;
    }
    ++number;
  }
}

void addHostWaits(GraphMaker& maker) { HostWaits(maker).add(); }

void addHandOffs(GraphMaker& maker) {
  EmulatorGraph& graph = maker.graph;
  const HostCallTable& calls = maker.trace.host_call;
  std::map<ProcessId, std::vector<uint32_t>> processes;
  for (uint32_t i = 0; i < graph.steps.size(); ++i) {
    processes[calls.process_id[graph.steps[i].call]].push_back(i);
  }
  // Ignore threads that launch nothing, such as polling watchdogs.
  std::vector<bool> works(maker.thread_of_step.empty() ? 0 : maker.thread_of_step.back() + 1,
                          false);
  for (const EmulatedOp& op : graph.ops) {
    if (op.launch != kNone && maker.begin_step[op.launch] != kNone) {
      works[maker.thread_of_step[maker.begin_step[op.launch]]] = true;
    }
  }
  // True if the thread of a step makes no call from that step until `time` plus a margin.
  const auto restsUntil = [&](uint32_t step, int64_t time) {
    if (!graph.steps[step].end) return false;  // inside a call
    const uint32_t next = step + 1;
    return next == graph.steps.size() || graph.steps[next].first ||
           graph.steps[next].recorded_ns > time + kRestNs;
  };
  for (auto& [process, steps] : processes) {
    std::stable_sort(steps.begin(), steps.end(), [&](uint32_t a, uint32_t b) {
      return graph.steps[a].recorded_ns < graph.steps[b].recorded_ns;
    });
    for (size_t k = 1; k < steps.size(); ++k) {
      HostStep& step = graph.steps[steps[k]];
      const bool rested = step.first || (!step.end && step.own_ns > kRestNs);
      if (!rested || !works[maker.thread_of_step[steps[k]]]) continue;
      for (size_t back = 1; back <= std::min<size_t>(k, kMostBack); ++back) {
        const uint32_t from = steps[k - back];
        const int64_t since = step.recorded_ns - graph.steps[from].recorded_ns;
        // The thread's own previous step is as likely a cause if it is not much older.
        if (!step.first && step.own_ns < 2 * since) break;
        const uint32_t thread = maker.thread_of_step[from];
        if (thread == maker.thread_of_step[steps[k]] || !works[thread] ||
            !restsUntil(from, step.recorded_ns)) {
          continue;
        }
        maker.edge(from, steps[k], since, EmulatedEdgeKind::kHandOff);
        step.own_ns = 0;
        break;
      }
    }
  }
}

}  // namespace tracesmith::emulator_parts
