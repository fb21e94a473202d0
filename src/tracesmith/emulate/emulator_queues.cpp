// SPDX-License-Identifier: Apache-2.0
// Finds launches of an emulator's graph that waited because a device queue was full.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <vector>

#include "tracesmith/emulate/emulator_graph_parts.hpp"
#include "tracesmith/emulate/typical_costs.hpp"

namespace tracesmith::emulator_parts {
namespace {

/// Least number of launches in a full queue.
constexpr int64_t kLeastQueue = 256;
/// Most time from the device taking an operation out of a full queue to the launch continuing.
constexpr int64_t kQueueReturnNs = 50'000;

template <class Value>
Value middleOf(std::vector<Value>& all) {
  const auto at = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), at, all.end());
  return *at;
}

/// A queue is per process and device. A launch occupies it from its call until its work starts.
/// Calls without device work (an empty fill, a copy between host addresses, a failed call) take no
/// place. Work without a known launch takes one only if it was launched before the trace started:
/// ahead of all later work of its stream.
class FullQueues {
 public:
  explicit FullQueues(GraphMaker& maker)
      : m_(maker), g_(maker.graph), calls_(maker.trace.host_call) {}

  void add() {
    estimateLengths();
    fillQueues();
    for (auto& [place, queue] : queues_) addWaits(queue);
  }

 private:
  struct Entry {
    int64_t launched_ns;
    uint32_t call;  // kNone: before the trace
  };
  struct Queue {
    std::vector<uint32_t> by_begin;  // operations by start
    std::vector<Entry> entries;      // by launch
  };
  /// A launch that met a full queue.
  struct Full {
    uint32_t call;
    uint32_t taken;  // the operation whose start made room
    int64_t held;    // launches in the queue
  };

  void estimateLengths() {
    for (uint32_t i = 0; i < calls_.size(); ++i) {
      if (m_.begin_step[i] == kNone || calls_.kind[i] == CallKind::kSync) continue;
      lengths_.add(static_cast<uint64_t>(calls_.name[i]), m_.callEnd(i) - m_.callBegin(i));
    }
  }

  void fillQueues() {
    std::vector<bool> stream_has_launch(g_.streams, false);
    for (uint32_t i = 0; i < g_.ops.size(); ++i) {
      const EmulatedOp& op = g_.ops[i];
      if (op.launch == kNone && stream_has_launch[op.stream]) continue;
      if (op.launch != kNone) stream_has_launch[op.stream] = true;
      Queue& queue = queues_[{m_.processes[i], op.device}];
      queue.by_begin.push_back(i);
      queue.entries.push_back({m_.launched_ns[i], op.launch});
    }
  }

  int64_t typicalLength(uint32_t call) {
    return lengths_.low(static_cast<uint64_t>(calls_.name[call]), 0);
  }
  /// True if a call is in the graph and waits for nothing but room.
  bool mayWait(uint32_t call) const {
    return call != kNone && m_.begin_step[call] != kNone && !m_.waits_for_own[call];
  }
  /// False if the operation was launched after the call: the launch did not wait for it, whatever
  /// the times suggest. Clocks of host and device may disagree, and several calls may share a
  /// correlation id.
  bool couldHold(uint32_t taken, uint32_t call) const {
    return m_.launched_ns[taken] < m_.callBegin(call) && g_.ops[taken].launch != call;
  }

  void addWaits(Queue& queue) {
    std::stable_sort(queue.entries.begin(), queue.entries.end(),
                     [](const Entry& a, const Entry& b) { return a.launched_ns < b.launched_ns; });
    if (queue.entries.size() < kLeastQueue) return;
    std::vector<Full> full;
    for (size_t n = 0; n < queue.entries.size(); ++n) {
      if (const std::optional<Full> found = fullAt(queue, n)) full.push_back(*found);
    }
    // Occasional launches are long for another reason.
    if (full.size() < 3) return;
    const int64_t back = addReturns(full);
    std::vector<int64_t> held;
    for (const Full& f : full) held.push_back(f.held);
    const auto room = static_cast<size_t>(middleOf(held));
    g_.facts.queue_room = std::max<uint64_t>(g_.facts.queue_room, room);
    addLikelyWaits(queue, full, room, back);
  }

  /// Detects a full queue at launch `n`: it took so long, and returned so soon after the device had
  /// taken another operation, that the queue was full.
  std::optional<Full> fullAt(const Queue& queue, size_t n) {
    const uint32_t call = queue.entries[n].call;
    if (!mayWait(call) || (n > 0 && queue.entries[n - 1].call == call)) return std::nullopt;
    const int64_t end = m_.callEnd(call);
    if (end - m_.callBegin(call) < std::max(kQueueReturnNs, 10 * typicalLength(call))) {
      return std::nullopt;
    }
    const auto after =
        std::upper_bound(queue.by_begin.begin(), queue.by_begin.end(), end,
                         [&](int64_t time, uint32_t op) { return time < g_.ops[op].begin_ns; });
    const auto started = after - queue.by_begin.begin();
    const int64_t held = static_cast<int64_t>(n) - started;
    if (started == 0 || held < kLeastQueue) return std::nullopt;
    const uint32_t taken = *std::prev(after);
    if (!couldHold(taken, call) || g_.ops[taken].begin_ns <= m_.callBegin(call) ||
        end - g_.ops[taken].begin_ns > kQueueReturnNs) {
      return std::nullopt;
    }
    return Full{call, taken, held};
  }

  /// Returns how soon after the start of other work launches typically continued.
  int64_t addReturns(const std::vector<Full>& full) {
    std::vector<int64_t> returns;
    for (const Full& f : full) {
      const uint32_t step = m_.end_step[f.call];
      const int64_t back = m_.callEnd(f.call) - g_.ops[f.taken].begin_ns;
      g_.steps[step].own_ns = std::min(g_.steps[step].own_ns, typicalLength(f.call));
      m_.edge(g_.nodeOf(f.taken), step, back, EmulatedEdgeKind::kQueueFull, true);
      returns.push_back(back);
    }
    return middleOf(returns);
  }

  /// The other launches had room, but slower work could leave none.
  void addLikelyWaits(const Queue& queue, const std::vector<Full>& full, size_t room,
                      int64_t back) {
    std::vector<bool> known(calls_.size(), false);
    for (const Full& f : full) known[f.call] = true;
    for (size_t n = room; n < queue.entries.size(); ++n) {
      const uint32_t call = queue.entries[n].call;
      if (!mayWait(call) || known[call] || n - room >= queue.by_begin.size()) continue;
      known[call] = true;
      const uint32_t taken = queue.by_begin[n - room];
      const int64_t offset = std::min(back, m_.callEnd(call) - g_.ops[taken].begin_ns);
      if (offset < 0 || !couldHold(taken, call)) continue;
      m_.edge(g_.nodeOf(taken), m_.end_step[call], offset, EmulatedEdgeKind::kQueueFull, true);
    }
  }

  GraphMaker& m_;
  EmulatorGraph& g_;
  const HostCallTable& calls_;
  TypicalCosts lengths_;  // durations of calls, by name
  std::map<std::pair<ProcessId, uint32_t>, Queue> queues_;
};

}  // namespace

void addFullQueues(GraphMaker& maker) { FullQueues(maker).add(); }

}  // namespace tracesmith::emulator_parts
