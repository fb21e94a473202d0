// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/emulate/stream_change.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "tracesmith/emulate/what_if.hpp"

namespace tracesmith {
namespace {

/// 1.5 GiB of edges.
constexpr size_t kMostEdges = size_t{1} << 26;

class StreamChange {
 public:
  StreamChange(const Trace& trace, EmulatorGraph& graph) : trace_(trace), graph_(graph) {}

  Result<uint64_t> run(uint32_t count) {
    orderByLaunch();
    if (!distribute(count)) return 0;
    TS_CHECK_OK(rewire());
    uint64_t moved = 0;
    for (uint32_t i = 0; i < graph_.ops.size(); ++i) {
      moved += !graph_.ops[i].gone && fresh_[i] != EmulatedOp::kNone && lane_[i] != 0;
      if (fresh_[i] != EmulatedOp::kNone) graph_.ops[i].stream = fresh_[i];
    }
    graph_.streams = streams_;
    chain();
    return moved;
  }

 private:
  int64_t launchedNs(uint32_t i) const {
    const EmulatedOp& op = graph_.ops[i];
    return op.launch == EmulatedOp::kNone ? INT64_MIN : trace_.host_call.start_ns[op.launch];
  }

  /// Launch order, starting with work launched before the trace started.
  void orderByLaunch() {
    order_.resize(graph_.ops.size());
    for (uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
    std::stable_sort(order_.begin(), order_.end(),
                     [&](uint32_t a, uint32_t b) { return launchedNs(a) < launchedNs(b); });
    rank_.resize(order_.size());
    for (uint32_t r = 0; r < order_.size(); ++r) rank_[order_[r]] = r;
  }

  /// Assigns operations to lanes. Returns true if any device changes its number of streams.
  bool distribute(uint32_t count) {
    using Place = std::pair<ProcessId, uint32_t>;
    std::map<Place, std::vector<uint32_t>> streams_of;
    std::vector<uint32_t> place_in(graph_.streams, EmulatedOp::kNone);
    for (const EmulatedOp& op : graph_.ops) {
      if (place_in[op.stream] != EmulatedOp::kNone) continue;
      auto& list = streams_of[{processOf(trace_, op), op.device}];
      place_in[op.stream] = static_cast<uint32_t>(list.size());
      list.push_back(op.stream);
    }
    const auto fits = [&](const auto& place) { return place.second.size() == count; };
    if (std::all_of(streams_of.begin(), streams_of.end(), fits)) return false;
    // First lane and number of lanes of each old stream.
    lanes_.assign(graph_.streams, 1);
    std::vector<uint32_t> first(graph_.streams, 0);
    for (const auto& [place, list] : streams_of) {
      const auto there = static_cast<uint32_t>(list.size());
      if (count <= there) {
        for (uint32_t k = 0; k < there; ++k) first[list[k]] = streams_ + k % count;
        for (uint32_t k = 0; k < there; ++k) joined_[list[k]] = k >= count;
        streams_ += count;
        continue;
      }
      for (uint32_t k = 0; k < there; ++k) {
        lanes_[list[k]] = count / there + (k < count % there ? 1 : 0);
        first[list[k]] = streams_;
        streams_ += lanes_[list[k]];
      }
    }
    fresh_.assign(graph_.ops.size(), EmulatedOp::kNone);
    lane_.assign(graph_.ops.size(), 0);
    before_.assign(graph_.ops.size(), EmulatedOp::kNone);
    std::vector<uint32_t> next(graph_.streams, 0);
    std::vector<uint32_t> last(graph_.streams, EmulatedOp::kNone);
    for (const uint32_t i : order_) {
      const EmulatedOp& op = graph_.ops[i];
      before_[i] = last[op.stream];
      if (op.gone) continue;
      lane_[i] = next[op.stream]++ % lanes_[op.stream];
      fresh_[i] = first[op.stream] + lane_[i];
      if (joined_[op.stream]) lane_[i] = 1;
      last[op.stream] = i;
    }
    return true;
  }

  /// A wait for an operation covered everything before it in its stream, which is now in several
  /// streams.
  Status rewire() {
    std::vector<EmulatedEdge> kept;
    kept.reserve(graph_.edges.size());
    for (const EmulatedEdge& edge : graph_.edges) {
      const auto kind = edge.kind;
      if (kind == EmulatedEdgeKind::kStreamOrder || kind == EmulatedEdgeKind::kOverlap) continue;
      if (!graph_.isOp(edge.from)) {
        kept.push_back(edge);
        continue;
      }
      const uint32_t from = graph_.opOf(edge.from);
      if (graph_.isOp(edge.to) && rank_[from] > rank_[graph_.opOf(edge.to)]) continue;
      const EmulatedOp& op = graph_.ops[from];
      const bool own = !graph_.isOp(edge.to) && op.launch == graph_.steps[edge.to].call;
      const bool all = kind != EmulatedEdgeKind::kMemory && kind != EmulatedEdgeKind::kQueueFull;
      uint32_t at = op.gone ? before_[from] : from;
      for (uint32_t n = own || !all ? 1 : lanes_[op.stream]; n > 0 && at != EmulatedOp::kNone;
           --n) {
        EmulatedEdge copy = edge;
        copy.from = graph_.nodeOf(at);
        kept.push_back(copy);
        if (kept.size() > kMostEdges) {
          return fail(ErrorCode::kUnsupported,
                      "this many streams need too many waits for a trace of this size; use fewer",
                      "--streams");
        }
        at = before_[at];
      }
    }
    graph_.edges = std::move(kept);
    return {};
  }

  void chain() {
    std::vector<uint32_t> last(graph_.streams, EmulatedOp::kNone);
    for (const uint32_t i : order_) {
      if (fresh_[i] == EmulatedOp::kNone) continue;
      uint32_t& before = last[fresh_[i]];
      if (before != EmulatedOp::kNone) {
        graph_.edges.push_back({graph_.nodeOf(before), graph_.nodeOf(i), graph_.facts.stream_gap_ns,
                                EmulatedEdgeKind::kStreamOrder, false});
      }
      before = i;
    }
  }

  const Trace& trace_;
  EmulatorGraph& graph_;
  std::vector<uint32_t> order_;  // operations by launch
  std::vector<uint32_t> rank_;   // position of operations in `order_`
  std::vector<uint32_t> lanes_;  // by old stream: number of new streams
  std::map<uint32_t, bool> joined_;
  std::vector<uint32_t> fresh_;  // new streams
  std::vector<uint32_t> lane_;
  std::vector<uint32_t> before_;  // previous operation in the old stream that is not removed
  uint32_t streams_ = 0;
};

}  // namespace

Result<uint64_t> changeStreams(const Trace& trace, EmulatorGraph& graph, uint32_t count) {
  return StreamChange(trace, graph).run(count);
}

}  // namespace tracesmith
