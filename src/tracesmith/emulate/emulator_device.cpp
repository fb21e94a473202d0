// SPDX-License-Identifier: Apache-2.0
// Finds what operations of an emulator's graph wait for on the device, and the costs of launches
// and gaps.
#include <algorithm>
#include <map>

#include "tracesmith/analysis/timing/launch_index.hpp"
#include "tracesmith/emulate/emulator_graph_parts.hpp"
#include "tracesmith/emulate/typical_costs.hpp"
#include "tracesmith/state/operation_graph.hpp"

namespace tracesmith::emulator_parts {
namespace {

/// An operation that starts this much later than all known causes waited for something that the
/// trace does not show.
constexpr int64_t kUnexplainedNs = 50'000;

/// Assumed when every launch of a trace met a busy stream, so that none shows the latency: about
/// what CUDA and ROCm need in the traces of docs/whatif.md. Never more than the trace shows.
constexpr int64_t kAssumedLatencyNs = 8'000;

/// Adds events recorded in the trace, and infers others from the order of calls.
class Events {
 public:
  explicit Events(GraphMaker& maker) : m_(maker) {}

  void add() {
    addKnownEdges();
    addInferredEdges();
  }

 private:
  void event(uint32_t from, uint32_t to, EmulatedEdgeKind kind) {
    m_.edge(m_.graph.nodeOf(from), m_.graph.nodeOf(to), 0, kind);
    m_.has_event[to] = true;
  }

  void addKnownEdges() {
    const Trace& t = m_.trace;
    const auto any = [](const auto& column, auto value) {
      return std::find(column.begin(), column.end(), value) != column.end();
    };
    const auto anyOther = [](const auto& column) {
      return std::any_of(column.begin(), column.end(), [](uint64_t v) { return v != 0; });
    };
    if (!any(t.flow.kind, FlowKind::kWait) && !anyOther(t.copy.source) &&
        !anyOther(t.copy.destination) && !anyOther(t.fill.destination)) {
      return;
    }
    const OperationGraph graph = OperationGraph::of(t);
    std::map<std::pair<TableId, uint32_t>, uint32_t> op_of;
    for (uint32_t i = 0; i < m_.graph.ops.size(); ++i) {
      op_of[{m_.graph.ops[i].table, m_.graph.ops[i].row}] = i;
    }
    // Markers and barriers are not operations here: an event on one is moved to its neighbour.
    const auto& all = graph.operations;
    std::vector<uint32_t> ours(all.size(), kNone);
    std::unordered_map<StreamId, uint32_t> last;
    std::vector<uint32_t> marker_before(all.size(), kNone);
    for (uint32_t i = 0; i < all.size(); ++i) {
      const auto it = op_of.find({all[i].table, all[i].row});
      if (it != op_of.end()) ours[i] = last[all[i].stream] = it->second;
      const auto before = last.find(all[i].stream);
      if (before != last.end()) marker_before[i] = before->second;
    }
    std::vector<uint32_t> marker_after(all.size(), kNone);
    last.clear();
    for (auto i = static_cast<uint32_t>(all.size()); i-- > 0;) {
      if (ours[i] != kNone) last[all[i].stream] = ours[i];
      const auto after = last.find(all[i].stream);
      if (after != last.end()) marker_after[i] = after->second;
    }
    for (const Dependency& d : graph.dependencies) {
      if (d.why != Dependency::Why::kEventWait && d.why != Dependency::Why::kSameMemory) continue;
      const uint32_t from = ours[d.from] == kNone ? marker_before[d.from] : ours[d.from];
      const uint32_t to = ours[d.to] == kNone ? marker_after[d.to] : ours[d.to];
      if (from == kNone || to == kNone || from == to) continue;
      const EmulatedOp& a = m_.graph.ops[from];
      const EmulatedOp& b = m_.graph.ops[to];
      // A dependency that contradicts the times was not waited for.
      if (a.end_ns > b.begin_ns || (a.stream == b.stream && m_.ordered[a.stream])) continue;
      event(from, to,
            d.why == Dependency::Why::kEventWait ? EmulatedEdgeKind::kEvent
                                                 : EmulatedEdgeKind::kMemory);
    }
  }

  /// Infers that a stream waits for the last work that its thread gave to another stream before the
  /// wait call.
  void addInferredEdges() {
    const HostCallTable& calls = m_.trace.host_call;
    std::unordered_map<uint32_t, StreamId> stream_of;  // call to the stream that waits
    const SyncTable& syncs = m_.trace.sync;
    const std::vector<uint32_t> call_of = LaunchIndex(m_.trace).launchesOf(syncs);
    for (uint32_t i = 0; i < syncs.size(); ++i) {
      if ((syncs.flags[i] & op_flags::kHostSide) != 0) continue;
      if (call_of[i] != LaunchIndex::kNone) stream_of.try_emplace(call_of[i], syncs.stream_id[i]);
    }
    // Launches of each thread by time; launches of each process are in m_.launches.
    std::map<std::pair<ProcessId, ThreadId>, std::vector<GraphMaker::Launch>> by_thread;
    for (const auto& [process, launches] : m_.launches) {
      for (const GraphMaker::Launch& launch : launches) {
        by_thread[{process, calls.thread_id[m_.graph.ops[launch.op].launch]}].push_back(launch);
      }
    }
    const auto later = [](int64_t time, const GraphMaker::Launch& l) { return time < l.time_ns; };
    for (uint32_t i = 0; i < calls.size(); ++i) {
      if (!m_.roles[i].stream_wait) continue;
      const int64_t at = m_.callBegin(i);
      const auto thread = by_thread.find({calls.process_id[i], calls.thread_id[i]});
      const auto process = m_.launches.find(calls.process_id[i]);
      if (thread == by_thread.end() || process == m_.launches.end()) continue;
      auto next = std::upper_bound(thread->second.begin(), thread->second.end(), at, later);
      StreamId named = calls.stream_id[i];
      const auto sync = stream_of.find(i);
      if (sync != stream_of.end()) named = sync->second;
      const auto known = m_.stream_of.find(named);
      // The stream waits but never works, so its dependents are unknown.
      if (named != StreamId::kNone && known == m_.stream_of.end()) continue;
      const uint32_t waiting = named == StreamId::kNone ? kNone : known->second;
      // The next launch of the thread on the waiting stream; after a few calls, it belongs to
      // another wait.
      for (int tries = 0; waiting != kNone && tries < 256 && next != thread->second.end();
           ++tries, ++next) {
        if (m_.graph.ops[next->op].stream == waiting) break;
      }
      if (next == thread->second.end()) continue;
      const EmulatedOp& to = m_.graph.ops[next->op];
      if (waiting != kNone && to.stream != waiting) continue;
      if (m_.has_event[next->op]) continue;
      const auto& launches = process->second;
      auto from = std::upper_bound(launches.begin(), launches.end(), at, later);
      for (int tries = 0; tries < 256 && from != launches.begin(); ++tries) {
        const EmulatedOp& op = m_.graph.ops[(--from)->op];
        if (op.stream == to.stream || op.device != to.device || op.end_ns > to.begin_ns) continue;
        event(from->op, next->op, EmulatedEdgeKind::kLikelyEvent);
        break;
      }
    }
  }

  GraphMaker& m_;
};

/// Determines latencies and gaps, and stores them in edges.
class Costs {
 public:
  explicit Costs(GraphMaker& maker) : m_(maker), g_(maker.graph) {}

  void add() {
    findEventEnds();
    estimateLatencies();
    estimateGaps();
    streamEdges();
    launchEdges();
    for (EmulatedEdge& edge : g_.edges) {
      if (!isEvent(edge.kind)) continue;
      edge.offset_ns = eventGap(edge.kind, edge.to);
    }
    addUnmatched();
    settle();
    g_.facts.latency_assumed = latencies_.count(kAll) == 0;
    g_.facts.launch_latency_ns =
        latencies_.of({kernels(), kAll}, std::min(least_, kAssumedLatencyNs));
    g_.facts.stream_gap_ns = gaps_.of({kernels()}, 0);
  }

 private:
  static bool isEvent(EmulatedEdgeKind kind) {
    return kind == EmulatedEdgeKind::kEvent || kind == EmulatedEdgeKind::kLikelyEvent ||
           kind == EmulatedEdgeKind::kMemory;
  }
  static uint64_t kernels() {
    return TypicalCosts::key(1, static_cast<uint64_t>(TableId::kKernel));
  }

  uint64_t nameOf(uint32_t i) const {
    const EmulatedOp& op = g_.ops[i];
    if (op.table != TableId::kCopy) {
      return static_cast<uint64_t>(op.name) << 8 | static_cast<uint64_t>(op.table);
    }
    return uint64_t{1} << 48 | static_cast<uint64_t>(m_.trace.copy.kind[op.row]);
  }

  void findEventEnds() {
    event_end_.assign(g_.ops.size(), INT64_MIN);
    for (const EmulatedEdge& edge : g_.edges) {
      if (!isEvent(edge.kind) || !g_.isOp(edge.to)) continue;
      int64_t& end = event_end_[g_.opOf(edge.to)];
      end = std::max(end, g_.ops[g_.opOf(edge.from)].end_ns);
    }
  }

  bool isLaunched(uint32_t i) const {
    return g_.ops[i].launch != kNone && m_.begin_step[g_.ops[i].launch] != kNone;
  }
  bool firstOfLaunch(uint32_t i) const {
    return m_.before[i] == kNone || g_.ops[m_.before[i]].launch != g_.ops[i].launch;
  }
  int64_t earlierEnd(uint32_t i) const {
    int64_t end = event_end_[i];
    if (m_.before[i] != kNone) end = std::max(end, g_.ops[m_.before[i]].end_ns);
    if (m_.ended_last[i] != kNone) end = std::max(end, g_.ops[m_.ended_last[i]].end_ns);
    return end;
  }

  /// Latencies from calls to work on an idle stream: measured from the start or from the end of
  /// calls, whichever varies less for that function.
  void estimateLatencies() {
    for (uint32_t i = 0; i < g_.ops.size(); ++i) {
      const EmulatedOp& op = g_.ops[i];
      if (!isLaunched(i) || !firstOfLaunch(i)) continue;
      const int64_t begin = m_.callBegin(op.launch);
      const int64_t end = m_.callEnd(op.launch);
      if (earlierEnd(i) > begin || m_.room_ns[i] > begin || op.begin_ns < begin) continue;
      // Blocked for another reason, or by an unknown event: not a latency.
      if (op.begin_ns - end > 20 * kUnexplainedNs) continue;
      const uint64_t function = functionOf(i);
      from_begin_.add(function, op.begin_ns - begin);
      from_end_.add(function, op.begin_ns - end);
      functions_.try_emplace(function, false);
    }
    for (auto& [function, by_end] : functions_) {
      by_end = from_begin_.count(function) >= TypicalCosts::kFewest &&
               from_end_.spread(function) < from_begin_.spread(function);
    }
    for (uint32_t i = 0; i < g_.ops.size(); ++i) {
      const EmulatedOp& op = g_.ops[i];
      if (!isLaunched(i) || !firstOfLaunch(i) || op.begin_ns < m_.callBegin(op.launch)) continue;
      const int64_t cost = op.begin_ns - referenceOf(i);
      if (std::max(earlierEnd(i), m_.room_ns[i]) <= m_.callBegin(op.launch) &&
          op.begin_ns - m_.callEnd(op.launch) <= 20 * kUnexplainedNs) {
        latencies_.add(functionOf(i), cost);
        latencies_.add(TypicalCosts::key(1, static_cast<uint64_t>(op.table)), cost);
        latencies_.add(kAll, cost);
      }
      least_ = std::min(least_, op.begin_ns - m_.callBegin(op.launch));
    }
  }
  uint64_t functionOf(uint32_t i) const {
    const EmulatedOp& op = g_.ops[i];
    return TypicalCosts::key(2, static_cast<uint64_t>(m_.trace.host_call.name[op.launch]),
                             static_cast<uint64_t>(op.table) << 8 | (inItsCall(i) ? 1 : 0));
  }
  /// True for copies for which their call waited, completely or in part (of pageable memory).
  bool inItsCall(uint32_t i) const {
    const EmulatedOp& op = g_.ops[i];
    return op.table == TableId::kCopy &&
           (m_.waits_for_own[op.launch] || op.begin_ns < m_.callEnd(op.launch));
  }
  bool fromEnd(uint32_t i) const {
    const EmulatedOp& op = g_.ops[i];
    if (m_.waits_for_own[op.launch] || inItsCall(i)) return false;
    const auto it = functions_.find(functionOf(i));
    return it != functions_.end() && it->second;
  }
  int64_t referenceOf(uint32_t i) const {
    const uint32_t call = g_.ops[i].launch;
    return fromEnd(i) ? m_.callEnd(call) : m_.callBegin(call);
  }
  int64_t latencyOf(uint32_t i) {
    const EmulatedOp& op = g_.ops[i];
    const int64_t otherwise = std::min(least_, kAssumedLatencyNs);
    return latencies_.of(
        {functionOf(i), TypicalCosts::key(1, static_cast<uint64_t>(op.table)), kAll}, otherwise);
  }

  /// Gaps before work that was ready before its predecessor in the stream had ended.
  void estimateGaps() {
    for (uint32_t i = 0; i < g_.ops.size(); ++i) {
      const EmulatedOp& op = g_.ops[i];
      const uint32_t before = m_.before[i];
      if (before == kNone || m_.ended_last[i] != before) continue;
      const int64_t end = g_.ops[before].end_ns;
      if (end > op.begin_ns || event_end_[i] > end || m_.room_ns[i] > end) continue;
      const bool ready = isLaunched(i) ? m_.callEnd(op.launch) + latencyOf(i) < end
                                       : op.begin_ns - end < kUnexplainedNs;
      const int64_t gap = op.begin_ns - end;
      if (!ready) continue;
      gaps_.add(TypicalCosts::key(3, nameOf(before), nameOf(i)), gap);
      gaps_.add(tablesOf(before, i), gap);
      if (op.table == TableId::kKernel && g_.ops[before].table == TableId::kKernel) {
        gaps_.add(kernels(), gap);
      }
      gaps_.add(kAll, gap);
    }
    for (uint32_t i = 0; i < g_.ops.size(); ++i) {
      const int64_t end = event_end_[i];
      if (end == INT64_MIN || end > g_.ops[i].begin_ns || m_.room_ns[i] > end) continue;
      if (isLaunched(i) && m_.callEnd(g_.ops[i].launch) + latencyOf(i) >= end) continue;
      if (m_.before[i] != kNone && g_.ops[m_.before[i]].end_ns >= end) continue;
      event_gaps_.add(kAll, g_.ops[i].begin_ns - end);
    }
  }
  uint64_t tablesOf(uint32_t before, uint32_t i) const {
    return TypicalCosts::key(4, static_cast<uint64_t>(g_.ops[before].table),
                             static_cast<uint64_t>(g_.ops[i].table));
  }
  int64_t gapOf(uint32_t before, uint32_t i) {
    return gaps_.of({TypicalCosts::key(3, nameOf(before), nameOf(i)), tablesOf(before, i), kAll},
                    0);
  }
  int64_t eventGap(EmulatedEdgeKind kind, uint32_t node) {
    if (kind == EmulatedEdgeKind::kMemory || !g_.isOp(node)) return 0;
    return std::max<int64_t>(event_gaps_.of({kAll}, gaps_.of({kAll}, 0)), 0);
  }

  void streamEdges() {
    for (uint32_t i = 0; i < g_.ops.size(); ++i) {
      const auto follows = [&](uint32_t before) {
        const EmulatedOp& a = g_.ops[before];
        const EmulatedOp& b = g_.ops[i];
        if (a.end_ns > b.begin_ns) {
          m_.edge(g_.nodeOf(before), g_.nodeOf(i), b.begin_ns - a.begin_ns,
                  EmulatedEdgeKind::kOverlap, true);
        } else {
          m_.edge(g_.nodeOf(before), g_.nodeOf(i), gapOf(before, i),
                  EmulatedEdgeKind::kStreamOrder);
        }
      };
      if (m_.before[i] == kNone) continue;
      follows(m_.before[i]);
      if (m_.ended_last[i] != m_.before[i]) follows(m_.ended_last[i]);
    }
  }

  void launchEdges() {
    for (uint32_t i = 0; i < g_.ops.size(); ++i) {
      if (!isLaunched(i)) continue;
      const uint32_t call = g_.ops[i].launch;
      m_.edge(fromEnd(i) ? m_.end_step[call] : m_.begin_step[call], g_.nodeOf(i), latencyOf(i),
              EmulatedEdgeKind::kLaunch);
    }
  }

  /// Handles operations without a known launch. Those at the start of a stream that never idled
  /// were launched before the trace started, and waited only for the stream. The dependencies of
  /// others are unknown.
  void addUnmatched() {
    std::vector<bool> queued(g_.streams, true);
    for (uint32_t i = 0; i < g_.ops.size(); ++i) {
      EmulatedOp& op = g_.ops[i];
      if (isLaunched(i)) {
        queued[op.stream] = false;
        continue;
      }
      const uint32_t before = m_.before[i];
      const bool first = before == kNone;
      const bool idled = !first && op.begin_ns - g_.ops[m_.ended_last[i]].end_ns > kUnexplainedNs;
      if (!m_.ordered[op.stream] || idled) queued[op.stream] = false;
      // A stream's first operation at the very start was already queued; one that comes later was
      // not.
      if (first && op.begin_ns - g_.begin_ns > 20 * kUnexplainedNs) queued[op.stream] = false;
      if (queued[op.stream]) {
        ++g_.facts.unmatched_queued;
        if (first) op.earliest_ns = op.begin_ns;
        continue;
      }
      ++g_.facts.unmatched_unknown;
      g_.facts.unmatched_unknown_ns += op.end_ns - op.begin_ns;
      op.earliest_ns = op.begin_ns;
    }
  }

  /// Computes the delays that the edges do not explain, from recorded times.
  void settle() {
    std::vector<int64_t> bound(g_.ops.size(), INT64_MIN);
    std::vector<uint32_t> by(g_.ops.size(), kNone);
    for (uint32_t e = 0; e < g_.edges.size(); ++e) {
      EmulatedEdge& edge = g_.edges[e];
      if (!g_.isOp(edge.to)) continue;
      const uint32_t to = g_.opOf(edge.to);
      const int64_t from = g_.isOp(edge.from)
                               ? (edge.from_start ? g_.ops[g_.opOf(edge.from)].begin_ns
                                                  : g_.ops[g_.opOf(edge.from)].end_ns)
                               : g_.steps[edge.from].recorded_ns;
      if (m_.options.recorded_costs) {
        edge.offset_ns = std::min(edge.offset_ns, g_.ops[to].begin_ns - from);
      }
      if (from + edge.offset_ns > bound[to] || by[to] == kNone) {
        bound[to] = from + edge.offset_ns;
        by[to] = e;
      }
    }
    for (uint32_t i = 0; i < g_.ops.size(); ++i) {
      EmulatedOp& op = g_.ops[i];
      if (by[i] == kNone) {
        op.earliest_ns = op.begin_ns;
        continue;
      }
      if (m_.options.recorded_costs) {
        g_.edges[by[i]].offset_ns += op.begin_ns - bound[i];
        continue;
      }
      const int64_t late = op.begin_ns - std::max({bound[i], m_.room_ns[i], op.earliest_ns});
      if (late > kUnexplainedNs) {
        op.unexplained_ns = late;
        ++g_.facts.unexplained;
        g_.facts.unexplained_ns += late;
      }
    }
  }

  static constexpr uint64_t kAll = 0;
  GraphMaker& m_;
  EmulatorGraph& g_;
  std::vector<int64_t> event_end_;  // end of the last event that an operation waited for
  TypicalCosts from_begin_, from_end_, latencies_, gaps_, event_gaps_;
  // By function: latencies count from the call's end.
  std::unordered_map<uint64_t, bool> functions_;
  int64_t least_ = INT64_MAX;
};

}  // namespace

void addEvents(GraphMaker& maker) { Events(maker).add(); }
void addDeviceCosts(GraphMaker& maker) { Costs(maker).add(); }

}  // namespace tracesmith::emulator_parts
