// SPDX-License-Identifier: Apache-2.0
// Host steps are timed as soon as everything they wait for is known. Operations pass through the
// event queue in time order, because they compete for engines and devices.
//
// A kernel starts when the device has any room for it, in order of readiness. While running kernels
// demand more than there is (the sum D of their demands exceeds 1), each runs at 1/D of its speed.
// Because this is the same for all, a device has its own clock that runs at 1/D, and a kernel ends
// when that clock has advanced by its work.
//
// emulate/emulator_bench.cpp measures it.
#include "tracesmith/emulate/emulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <queue>

#include "tracesmith/base/cancellation.hpp"

namespace tracesmith {
namespace {

/// A device with less free share than this starts no further kernel.
constexpr double kLeastRoom = 1e-6;
/// Larger values could make sums overflow (36 years).
constexpr double kLongestNs = static_cast<double>(int64_t{1} << 60);

struct Device {
  double clock = 0;   // the device's clock, in ns of work
  int64_t at_ns = 0;  // time for which `clock` holds
  double demand = 0;
  uint64_t version = 0;
  uint32_t running = 0;          // running operations with a demand
  std::deque<uint32_t> waiting;  // kernels waiting for room
  bool full() const { return demand > 1 - kLeastRoom; }
  using Ending = std::pair<double, uint32_t>;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings;

  double rate() const { return demand > 1 ? 1 / demand : 1; }
  void advance(int64_t now) {
    clock += static_cast<double>(now - at_ns) * rate();
    at_ns = now;
  }
};

struct Engine {
  uint32_t busy = 0;
  std::deque<uint32_t> waiting;
};

struct Group {
  uint32_t missing = 0;
  int64_t last_ns = INT64_MIN;
};

struct Event {
  int64_t time_ns = 0;
  uint64_t number = 0;  // keeps events of equal time in insertion order
  enum class What : uint8_t { kReady, kDone, kDevice } what{};
  uint32_t which = 0;
  uint64_t version = 0;
  bool operator>(const Event& other) const {
    return time_ns != other.time_ns ? time_ns > other.time_ns : number > other.number;
  }
};

class Machine {
 public:
  explicit Machine(const EmulatorGraph& graph)
      : graph_(graph),
        devices_(graph.devices),
        engines_(graph.engines.size()),
        groups_(graph.groups.size()),
        in_tail_(graph.ops.size(), false) {}

  Result<Emulation> run() {
    TS_CHECK_OK(checkLengths());
    prepare();
    start();
    for (size_t step = 0; !events_.empty(); ++step) {
      if (isCancelledAt(step)) return tl::unexpected<Error>(checkCancelled().error());
      const Event event = events_.top();
      events_.pop();
      now_ = event.time_ns;
      switch (event.what) {
        case Event::What::kReady:
          makeReady(event.which);
          break;
        case Event::What::kDone:
          done(event.which);
          break;
        case Event::What::kDevice:
          endKernels(event.which, event.version);
          break;
      }
    }
    if (left_ > 0) {
      return fail(
          ErrorCode::kDamaged,
          fmt::format(
              "{} of {} calls and operations wait for each other in a cycle: the times of the "
              "trace contradict each other, or the requested change does not keep its order",
              left_, graph_.nodes()));
    }
    out_.first_ns = INT64_MAX;
    out_.last_ns = INT64_MIN;
    for (uint32_t node = 0; node < graph_.nodes(); ++node) {
      if (graph_.isOp(node) && graph_.ops[graph_.opOf(node)].gone) continue;
      out_.first_ns = std::min(out_.first_ns, out_.begin_ns[node]);
      out_.last_ns = std::max(out_.last_ns, out_.end_ns[node]);
    }
    if (out_.first_ns > out_.last_ns) out_.first_ns = out_.last_ns = graph_.begin_ns;
    return std::move(out_);
  }

 private:
  /// No time can exceed the start plus the sum of all durations; starts are below 2^61.
  Status checkLengths() const {
    double sum = 0;
    for (const HostStep& step : graph_.steps) sum += std::abs(static_cast<double>(step.own_ns));
    for (const EmulatedOp& op : graph_.ops) {
      sum += op.work_ns * std::max(1.0, op.demand) + static_cast<double>(op.unexplained_ns);
    }
    for (const EmulatedEdge& edge : graph_.edges) {
      sum += std::abs(static_cast<double>(edge.offset_ns));
    }
    if (sum < kLongestNs) return {};
    return fail(ErrorCode::kDamaged, "durations add up to more than 36 years, which is impossible");
  }

  void prepare() {
    const uint32_t nodes = graph_.nodes();
    first_.assign(nodes + 1, 0);
    pending_.assign(nodes, 0);
    for (const EmulatedEdge& edge : graph_.edges) {
      ++first_[edge.from + 1];
      ++pending_[edge.to];
    }
    for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    out_edges_.resize(graph_.edges.size());
    std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
    for (uint32_t i = 0; i < graph_.edges.size(); ++i) {
      out_edges_[next[graph_.edges[i].from]++] = i;
    }
    for (uint32_t i = 0; i < graph_.steps.size(); ++i) pending_[i] += graph_.steps[i].first ? 0 : 1;
    for (size_t i = 0; i < graph_.groups.size(); ++i) {
      for (const uint32_t member : graph_.groups[i]) {
        if (!graph_.ops[member].gone) ++groups_[i].missing;
      }
    }
    out_.ready_ns.assign(nodes, INT64_MIN);
    out_.begin_ns.assign(nodes, graph_.begin_ns);
    out_.end_ns.assign(nodes, graph_.begin_ns);
    out_.held_by.assign(nodes, Emulation::kNone);
    left_ = nodes;
  }

  void start() {
    now_ = graph_.begin_ns;
    for (uint32_t i = 0; i < graph_.steps.size(); ++i) {
      if (graph_.steps[i].first)
        reach(i, graph_.begin_ns + graph_.steps[i].own_ns, Emulation::kNone);
      if (pending_[i] == 0) steps_to_time_.push_back(i);
    }
    for (uint32_t i = 0; i < graph_.ops.size(); ++i) {
      const uint32_t node = graph_.nodeOf(i);
      reach(node, std::max(graph_.ops[i].earliest_ns, graph_.begin_ns), Emulation::kNone);
      if (pending_[node] == 0) push(Event::What::kReady, readyOf(node), i);
    }
    timeSteps();
  }

  int64_t readyOf(uint32_t node) const {
    return std::max(out_.ready_ns[node] + graph_.ops[graph_.opOf(node)].unexplained_ns, now_);
  }

  void reach(uint32_t node, int64_t time, uint32_t edge) {
    if (time <= out_.ready_ns[node]) return;
    out_.ready_ns[node] = time;
    out_.held_by[node] = edge;
  }

  void resolve(uint32_t node) {
    if (--pending_[node] > 0) return;
    if (!graph_.isOp(node)) {
      steps_to_time_.push_back(node);
    } else {
      push(Event::What::kReady, readyOf(node), graph_.opOf(node));
    }
  }

  void follow(uint32_t node, int64_t time, bool start) {
    for (uint32_t k = first_[node]; k < first_[node + 1]; ++k) {
      const EmulatedEdge& edge = graph_.edges[out_edges_[k]];
      if (edge.from_start != start) continue;
      reach(edge.to, time + edge.offset_ns, out_edges_[k]);
      resolve(edge.to);
    }
  }

  void timeSteps() {
    while (!steps_to_time_.empty()) {
      const uint32_t i = steps_to_time_.back();
      steps_to_time_.pop_back();
      const int64_t time = out_.ready_ns[i];
      out_.begin_ns[i] = out_.end_ns[i] = time;
      --left_;
      follow(i, time, false);
      if (i + 1 < graph_.steps.size() && !graph_.steps[i + 1].first) {
        reach(i + 1, time + graph_.steps[i + 1].own_ns, Emulation::kNone);
        resolve(i + 1);
      }
    }
  }

  void push(Event::What what, int64_t time, uint32_t which, uint64_t version = 0) {
    events_.push({time, count_++, what, which, version});
  }

  /// Called when everything an operation waited for has ended.
  void makeReady(uint32_t i) {
    const EmulatedOp& op = graph_.ops[i];
    if (op.engine != EmulatedOp::kNone && !op.gone) {
      Engine& engine = engines_[op.engine];
      if (engine.busy == graph_.engines[op.engine]) {
        engine.waiting.push_back(i);
        return;
      }
      ++engine.busy;
    }
    if (needsRoom(op) && devices_[op.device].full()) {
      devices_[op.device].waiting.push_back(i);
      return;
    }
    begin(i);
  }

  static bool needsRoom(const EmulatedOp& op) {
    return !op.gone && !op.squeezes_in && op.demand > 0 && op.work == WorkClass::kCompute;
  }

  void begin(uint32_t i) {
    const EmulatedOp& op = graph_.ops[i];
    const uint32_t node = graph_.nodeOf(i);
    out_.begin_ns[node] = now_;
    follow(node, now_, true);
    timeSteps();
    if (op.gone) {
      push(Event::What::kDone, now_, i);
      return;
    }
    if (op.demand > 0) {
      devices_[op.device].advance(now_);
      ++devices_[op.device].running;
      load(op.device, op.demand);
    }
    if (op.group != EmulatedOp::kNone) {
      Group& group = groups_[op.group];
      group.last_ns = std::max(group.last_ns, now_);
      if (--group.missing > 0) return;
      for (const uint32_t member : graph_.groups[op.group]) {
        if (graph_.ops[member].gone) continue;
        push(Event::What::kDone, group.last_ns + std::llround(graph_.ops[member].work_ns), member);
      }
    } else if (op.demand > 0 && op.work == WorkClass::kCompute) {
      Device& device = devices_[op.device];
      device.endings.emplace(device.clock + op.work_ns * (1 - op.tail_share), i);
      schedule(op.device);
    } else {
      push(Event::What::kDone, now_ + std::llround(op.work_ns), i);
    }
  }

  /// Adds demand to a device, or removes it.
  void load(uint32_t d, double demand) {
    Device& device = devices_[d];
    device.advance(now_);
    device.demand = device.running == 0 ? 0 : device.demand + demand;
    if (device.running == 0) device.clock = 0;
    schedule(d);
  }

  void admitWaiting(uint32_t d) {
    Device& device = devices_[d];
    while (!device.waiting.empty() && !device.full()) {
      const uint32_t next = device.waiting.front();
      device.waiting.pop_front();
      begin(next);
    }
  }

  void schedule(uint32_t d) {
    Device& device = devices_[d];
    ++device.version;
    if (device.endings.empty()) return;
    const double left = (device.endings.top().first - device.clock) / device.rate();
    push(Event::What::kDevice, now_ + std::max<int64_t>(std::llround(left), 0), d, device.version);
  }

  void endKernels(uint32_t d, uint64_t version) {
    Device& device = devices_[d];
    if (version != device.version) return;
    const auto [clock, i] = device.endings.top();
    device.endings.pop();
    const EmulatedOp& op = graph_.ops[i];
    if (op.tail_share == 0 || in_tail_[i]) {
      done(i);
      return;
    }
    in_tail_[i] = true;
    device.endings.emplace(clock + op.work_ns * op.tail_share, i);
    load(d, op.tail_demand - op.demand);
    admitWaiting(d);
  }

  void done(uint32_t i) {
    const EmulatedOp& op = graph_.ops[i];
    const uint32_t node = graph_.nodeOf(i);
    out_.end_ns[node] = now_;
    --left_;
    if (!op.gone && op.demand > 0) {
      --devices_[op.device].running;
      load(op.device, in_tail_[i] ? -op.tail_demand : -op.demand);
      admitWaiting(op.device);
    }
    if (!op.gone && op.engine != EmulatedOp::kNone) {
      Engine& engine = engines_[op.engine];
      --engine.busy;
      if (!engine.waiting.empty()) {
        const uint32_t next = engine.waiting.front();
        engine.waiting.pop_front();
        ++engine.busy;
        begin(next);
      }
    }
    follow(node, now_, false);
    timeSteps();
  }

  const EmulatorGraph& graph_;
  std::vector<Device> devices_;
  std::vector<Engine> engines_;
  std::vector<Group> groups_;
  std::vector<bool> in_tail_;
  std::vector<uint32_t> first_;  // out_edges_[first_[n], first_[n + 1]) leave node n
  std::vector<uint32_t> out_edges_;
  std::vector<uint32_t> pending_;
  std::vector<uint32_t> steps_to_time_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t count_ = 0;
  uint64_t left_ = 0;
  int64_t now_ = 0;
  Emulation out_;
};

}  // namespace

Result<Emulation> emulate(const EmulatorGraph& graph) { return Machine(graph).run(); }

}  // namespace tracesmith
