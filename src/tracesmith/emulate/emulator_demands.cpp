// SPDX-License-Identifier: Apache-2.0
// Computes how much of a device each kernel of an emulator's graph needs, how much work the device
// did for it, and when there was room.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <tuple>

#include "tracesmith/analysis/timing/kernel_occupancy.hpp"
#include "tracesmith/emulate/emulator_graph_parts.hpp"

namespace tracesmith::emulator_parts {
namespace {

class Demands {
 public:
  explicit Demands(GraphMaker& maker)
      : m_(maker),
        g_(maker.graph),
        unknown_(maker.graph.ops.size(), false),
        start_states_(maker.graph.ops.size()) {}

  void add() {
    fromShapes();
    m_.room_ns.assign(g_.ops.size(), INT64_MIN);
    findRoomOfEngines();
    std::vector<std::vector<Edge>> devices = edgesOfDevices();
    for (std::vector<Edge>& edges : devices) {
      std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
        return std::tie(a.time, a.what, a.op) < std::tie(b.time, b.what, b.op);
      });
      shareEqually(edges);
      measureWork(edges);
    }
    for (EmulatedOp& op : g_.ops) {
      // A kernel without a duration occupies nothing.
      if (op.table == TableId::kKernel && op.end_ns == op.begin_ns) op.demand = 0;
      // All kernels start at their recorded time.
      if (m_.options.recorded_costs) op.squeezes_in = true;
    }
  }

 private:
  /// A change of a device's demand at one time.
  struct Edge {
    int64_t time;
    enum class What : uint8_t { kEnd, kTail, kBegin } what;
    uint32_t op;
  };
  /// State of a device at the start of an operation.
  struct StartState {
    double clock = 0;
    int64_t crowded_ns = 0;
    bool full = false;
  };

  void fromShapes() {
    std::map<std::pair<ShapeId, StreamId>, double> known;  // waves
    for (uint32_t i = 0; i < g_.ops.size(); ++i) {
      EmulatedOp& op = g_.ops[i];
      if (op.table != TableId::kKernel) continue;
      ++g_.facts.kernels;
      const ShapeId shape = m_.trace.kernel.shape_id[op.row];
      const StreamId stream = m_.trace.kernel.stream_id[op.row];
      const auto [it, fresh] = known.try_emplace({shape, stream}, 0);
      if (fresh) {
        const auto occupancy = KernelOccupancy::of(m_.trace, shape, m_.trace.deviceOf(stream));
        if (occupancy) it->second = occupancy->waves;
      }
      setDemand(op, it->second);
      if (it->second > 0) {
        ++g_.facts.kernels_with_demand;
      } else if (op.work == WorkClass::kCompute) {
        unknown_[i] = true;
      }
    }
  }

  void setDemand(EmulatedOp& op, double waves) {
    op.demand = std::min(waves, 1.0);
    const double last_wave = waves - std::floor(waves);
    if (waves > 1 && last_wave > 0 && op.work == WorkClass::kCompute &&
        !m_.options.recorded_costs) {
      op.tail_share = 1 / std::ceil(waves);
      op.tail_demand = last_wave;
    }
  }

  void findRoomOfEngines() {
    using Ends = std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>>;
    std::vector<Ends> engines(g_.engines.size());  // ends of the operations on busy engines
    for (uint32_t i = 0; i < g_.ops.size(); ++i) {
      const EmulatedOp& op = g_.ops[i];
      if (op.engine == kNone) continue;
      Ends& busy = engines[op.engine];
      if (busy.size() == g_.engines[op.engine]) {
        m_.room_ns[i] = busy.top();
        busy.pop();
      }
      busy.push(op.end_ns);
    }
  }

  std::vector<std::vector<Edge>> edgesOfDevices() const {
    std::vector<std::vector<Edge>> devices(g_.devices);
    for (uint32_t i = 0; i < g_.ops.size(); ++i) {
      const EmulatedOp& op = g_.ops[i];
      if (op.table != TableId::kKernel || op.end_ns == op.begin_ns) continue;
      std::vector<Edge>& edges = devices[op.device];
      edges.push_back({op.begin_ns, Edge::What::kBegin, i});
      edges.push_back({op.end_ns, Edge::What::kEnd, i});
      if (op.tail_share == 0) continue;
      const auto head = static_cast<double>(op.end_ns - op.begin_ns) * (1 - op.tail_share);
      edges.push_back({op.begin_ns + std::llround(head), Edge::What::kTail, i});
    }
    return devices;
  }

  /// For kernels of unknown shape the demand is unknown: assume that as many fit as ever ran at
  /// once.
  void shareEqually(const std::vector<Edge>& edges) {
    int64_t open = 0;
    int64_t most = 1;
    for (const Edge& edge : edges) {
      if (!unknown_[edge.op]) continue;
      open += edge.what == Edge::What::kBegin ? 1 : -1;
      most = std::max(most, open);
    }
    for (const Edge& edge : edges) {
      if (unknown_[edge.op]) g_.ops[edge.op].demand = 1.0 / static_cast<double>(most);
    }
  }

  /// The work of a kernel: less than its duration when more kernels ran than fit.
  void measureWork(const std::vector<Edge>& edges) {
    double clock = 0;
    double demand = 0;
    int64_t at = 0;
    int64_t room = INT64_MIN;  // time at which there was room again
    int64_t crowded = 0;       // time in which the demand exceeded the device
    for (const Edge& edge : edges) {
      EmulatedOp& op = g_.ops[edge.op];
      clock += static_cast<double>(edge.time - at) * (demand > 1 + 1e-9 ? 1 / demand : 1);
      if (demand > 1 + 1e-9) crowded += edge.time - at;
      at = edge.time;
      const bool was_full = demand > 1 - 1e-6;
      switch (edge.what) {
        case Edge::What::kBegin:
          start_states_[edge.op] = {clock, crowded, was_full};
          if (!was_full) m_.room_ns[edge.op] = room;
          demand += op.demand;
          break;
        case Edge::What::kTail:
          demand += op.tail_demand - op.demand;
          break;
        case Edge::What::kEnd: {
          demand -= op.tail_share > 0 ? op.tail_demand : op.demand;
          const StartState& start = start_states_[edge.op];
          const int64_t beside = crowded - start.crowded_ns;
          if (start.full) op.squeezes_in = 2 * beside >= op.end_ns - op.begin_ns;
          if (op.work == WorkClass::kCompute) op.work_ns = clock - start.clock;
          break;
        }
      }
      if (was_full && demand <= 1 - 1e-6) room = at;
    }
  }

  GraphMaker& m_;
  EmulatorGraph& g_;
  std::vector<bool> unknown_;             // kernels of unknown demand
  std::vector<StartState> start_states_;  // by operation
};

}  // namespace

void addDemands(GraphMaker& maker) { Demands(maker).add(); }

}  // namespace tracesmith::emulator_parts
