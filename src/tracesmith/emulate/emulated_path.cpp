// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/emulate/emulated_path.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace tracesmith {
namespace {

PathPart partOf(const EmulatedOp& op) {
  switch (op.work) {
    case WorkClass::kCommunication:
      return PathPart::kCommunication;
    case WorkClass::kMemory:
      return PathPart::kMemory;
    default:
      return PathPart::kCompute;
  }
}

class Walk {
 public:
  Walk(const EmulatorGraph& graph, const Emulation& times) : graph_(graph), times_(times) {}

  EmulatedPath run() {
    uint32_t node = Emulation::kNone;
    for (uint32_t n = 0; n < graph_.nodes(); ++n) {
      if (graph_.isOp(n) && graph_.ops[graph_.opOf(n)].gone) continue;
      if (node == Emulation::kNone || times_.end_ns[n] > times_.end_ns[node]) node = n;
    }
    at_ = times_.last_ns;
    // Each edge is walked at most once: a dependency is always known before its dependent.
    for (uint64_t steps = 0; node != Emulation::kNone && steps <= graph_.nodes(); ++steps) {
      node = graph_.isOp(node) ? overOp(node) : overStep(node);
    }
    add(PathPart::kUnexplained, times_.first_ns);
    for (const auto& [key, on] : work_) path_.work.push_back(on);
    std::stable_sort(path_.work.begin(), path_.work.end(),
                     [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
    return std::move(path_);
  }

 private:
  /// Adds the time between `begin` and the current position.
  int64_t add(PathPart part, int64_t begin) {
    const int64_t length = std::max<int64_t>(at_ - std::max(begin, times_.first_ns), 0);
    path_.total_ns[static_cast<size_t>(part)] += length;
    at_ = std::min(at_, begin);
    return length;
  }

  uint32_t overOp(uint32_t node) {
    const EmulatedOp& op = graph_.ops[graph_.opOf(node)];
    uint32_t from = node;
    if (!op.gone && op.group != Emulation::kNone) {
      for (const uint32_t member : graph_.groups[op.group]) {
        const uint32_t other = graph_.nodeOf(member);
        if (!graph_.ops[member].gone && times_.begin_ns[other] > times_.begin_ns[from]) {
          from = other;  // all members waited for the last one
        }
      }
    }
    const int64_t length = add(partOf(op), times_.begin_ns[from]);
    if (!op.gone && length > 0) {
      EmulatedPath::OnPath& on = work_[{op.table, op.name}];
      on.name = op.name;
      on.table = op.table;
      ++on.count;
      on.total_ns += length;
    }
    const int64_t ready = times_.ready_ns[from];
    const int64_t unexplained = graph_.ops[graph_.opOf(from)].unexplained_ns;
    add(PathPart::kContention, ready + unexplained);
    add(PathPart::kUnexplained, ready);
    return over(from);
  }

  uint32_t overStep(uint32_t node) {
    if (times_.held_by[node] != Emulation::kNone) return over(node);
    const HostStep& step = graph_.steps[node];
    const PathPart part = step.end ? PathPart::kHostCalls : PathPart::kHostCode;
    if (step.first) {
      add(part, times_.first_ns);
      return Emulation::kNone;
    }
    add(part, times_.end_ns[node - 1]);
    return node - 1;
  }

  /// Walks back along the edge that held a node.
  uint32_t over(uint32_t node) {
    const uint32_t e = times_.held_by[node];
    if (e == Emulation::kNone) return Emulation::kNone;
    const EmulatedEdge& edge = graph_.edges[e];
    PathPart part = PathPart::kGap;
    switch (edge.kind) {
      case EmulatedEdgeKind::kLaunch:
        part = PathPart::kLaunch;
        break;
      case EmulatedEdgeKind::kHostWait:
      case EmulatedEdgeKind::kLikelyWait:
      case EmulatedEdgeKind::kQueueFull:
        part = PathPart::kHostReturn;
        break;
      case EmulatedEdgeKind::kHandOff:
        part = PathPart::kHostCode;
        break;
      case EmulatedEdgeKind::kOverlap:
        part = partOf(graph_.ops[graph_.opOf(edge.from)]);
        break;
      default:
        break;
    }
    add(part, edge.from_start ? times_.begin_ns[edge.from] : times_.end_ns[edge.from]);
    // Only the start of the other operation was waited for.
    if (edge.from_start) {
      const int64_t ready = times_.ready_ns[edge.from];
      add(PathPart::kContention, ready);
      return over(edge.from);
    }
    return edge.from;
  }

  const EmulatorGraph& graph_;
  const Emulation& times_;
  EmulatedPath path_;
  std::map<std::pair<TableId, StringId>, EmulatedPath::OnPath> work_;
  int64_t at_ = 0;
};

}  // namespace

std::string_view toString(PathPart part) {
  constexpr std::array<std::string_view, kPathParts> kNames = {
      "host code",     "host calls", "return of waits",   "launch latency", "compute",
      "communication", "copies",     "gaps between work", "contention",     "not explained"};
  return kNames[static_cast<size_t>(part)];
}

EmulatedPath EmulatedPath::of(const EmulatorGraph& graph, const Emulation& emulation) {
  return Walk(graph, emulation).run();
}

int64_t EmulatedPath::length() const {
  return std::accumulate(total_ns.begin(), total_ns.end(), int64_t{0});
}

}  // namespace tracesmith
