// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/operation_graph.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <numeric>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/state/host_waits.hpp"
#include "tracesmith/state/memory_dependencies.hpp"

namespace tracesmith {
namespace {

constexpr uint32_t kNoOperation = ~uint32_t{0};

/// Operations and host calls of a process by correlation id.
class ByCorrelation {
 public:
  void add(ProcessId process, uint64_t id, uint32_t value) {
    if (id != 0) first_.try_emplace({process, id}, value);
  }
  uint32_t find(ProcessId process, uint64_t id) const {
    const auto it = first_.find({process, id});
    return it == first_.end() ? kNoOperation : it->second;
  }
  void reserve(size_t n) { first_.reserve(n); }

 private:
  struct Key {
    ProcessId process;
    uint64_t id;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    // Ids of one process are unique and mostly dense; other processes' ids are offset far away.
    size_t operator()(const Key& key) const {
      return std::hash<uint64_t>()(key.id ^ (static_cast<uint64_t>(key.process) << 48));
    }
  };
  std::unordered_map<Key, uint32_t, Hash> first_;
};

class Builder {
 public:
  explicit Builder(const Trace& trace) : trace_(trace) {}

  OperationGraph build() {
    for (const auto part : {&Builder::collect, &Builder::streamOrder, &Builder::events,
                            &Builder::hostWaits, &Builder::memory, &Builder::finish}) {
      (this->*part)();
      if (isCancelled()) return {.operations = {}, .dependencies = {}, .first = {0}};
    }
    return std::move(graph_);
  }

 private:
  void add(uint32_t from, uint32_t to, DependencyType type, Dependency::Why why) {
    if (from != to) graph_.dependencies.push_back({from, to, type, why});
  }

  void collect() {
    calls_.reserve(trace_.host_call.size());
    for (size_t i = 0; i < trace_.host_call.size() && !isCancelledAt(i); ++i) {
      calls_.add(trace_.host_call.process_id[i], trace_.host_call.correlation_id[i],
                 static_cast<uint32_t>(i));
    }
    forEachTable(trace_, [&](const auto& table) {
      using Table = std::decay_t<decltype(table)>;
      if constexpr (std::is_same_v<Table, KernelTable> || std::is_same_v<Table, CopyTable> ||
                    std::is_same_v<Table, FillTable> || std::is_same_v<Table, SyncTable>) {
        for (size_t i = 0; i < table.size() && !isCancelledAt(i); ++i) {
          constexpr uint32_t kNoTime = op_flags::kDeviceClock | op_flags::kNoDeviceTime;
          if ((table.flags[i] & kNoTime) != 0) continue;
          Operation op{.begin_ns = table.start_ns[i],
                       .end_ns = endOf(table.start_ns[i], table.duration_ns[i]),
                       .correlation_id = table.correlation_id[i],
                       .name = table.name[i],
                       .stream = table.stream_id[i],
                       .thread = table.thread_id[i],
                       .process = table.process_id[i],
                       .row = static_cast<uint32_t>(i),
                       .table = Table::kId,
                       .host_wait = (table.flags[i] & op_flags::kHostSide) != 0};
          const uint32_t call = calls_.find(op.process, op.correlation_id);
          if constexpr (std::is_same_v<Table, SyncTable>) {
            if (call != kNoOperation && onlyEnqueued(op, call)) {
              enqueued_.add(op.process, op.correlation_id, static_cast<uint32_t>(i));
              continue;
            }
          }
          if (call != kNoOperation) {
            op.launched_ns = trace_.host_call.start_ns[call];
            if (op.thread == ThreadId::kNone) op.thread = trace_.host_call.thread_id[call];
          }
          graph_.operations.push_back(op);
        }
      }
    });
    if (isCancelled()) return;
    std::stable_sort(graph_.operations.begin(), graph_.operations.end(),
                     [](const Operation& a, const Operation& b) {
                       return std::tie(a.begin_ns, a.end_ns) < std::tie(b.begin_ns, b.end_ns);
                     });
    ops_.reserve(graph_.operations.size());
    for (size_t i = 0; i < graph_.operations.size(); ++i) {
      const Operation& op = graph_.operations[i];
      ops_.add(op.process, op.correlation_id, static_cast<uint32_t>(i));
    }
  }

  /// True if the recorded time of a stream's wait for an event is that of the host's request and
  /// not of the device's wait, as with CUPTI.
  bool onlyEnqueued(const Operation& wait, uint32_t call) const {
    const int64_t begin = trace_.host_call.start_ns[call];
    return trace_.sync.kind[wait.row] == SyncKind::kBarrier && wait.begin_ns >= begin &&
           wait.begin_ns <= endOf(begin, trace_.host_call.duration_ns[call]);
  }

  void streamOrder() {
    struct Last {
      uint32_t any = kNoOperation;    // the previous one
      uint32_t ended = kNoOperation;  // the last one to end
    };
    std::unordered_map<StreamId, Last> last;
    for (size_t i = 0; i < graph_.operations.size(); ++i) {
      const Operation& op = graph_.operations[i];
      if (op.host_wait || op.stream == StreamId::kNone) continue;
      Last& before = last[op.stream];
      const auto here = static_cast<uint32_t>(i);
      if (before.any != kNoOperation) {
        const bool overlap = graph_.operations[before.any].end_ns > op.begin_ns;
        add(before.any, here, DependencyType::Sequential,
            overlap ? Dependency::Why::kOverlapInStream : Dependency::Why::kStreamOrder);
        // An operation that started earlier and is still running.
        if (before.ended != before.any) {
          const bool still = graph_.operations[before.ended].end_ns > op.begin_ns;
          add(before.ended, here, DependencyType::Sequential,
              still ? Dependency::Why::kOverlapInStream : Dependency::Why::kStreamOrder);
        }
      }
      before.any = here;
      if (before.ended == kNoOperation || graph_.operations[before.ended].end_ns <= op.end_ns) {
        before.ended = here;
      }
    }
  }

  void events() {
    const FlowTable& flows = trace_.flow;
    for (size_t i = 0; i < flows.size(); ++i) {
      if (flows.kind[i] != FlowKind::kWait) continue;
      const ProcessId to_process =
          flows.to_process_id[i] == ProcessId::kNone ? flows.process_id[i] : flows.to_process_id[i];
      uint32_t from = ops_.find(flows.process_id[i], flows.from_correlation_id[i]);
      uint32_t to = ops_.find(to_process, flows.to_correlation_id[i]);
      if (from == kNoOperation) {
        const uint32_t record = calls_.find(flows.process_id[i], flows.from_correlation_id[i]);
        if (record == kNoOperation || flows.from_stream_id[i] == StreamId::kNone) continue;
        from = lastLaunched(flows.from_stream_id[i], trace_.host_call.start_ns[record]);
      }
      if (to == kNoOperation) {
        const uint32_t call = calls_.find(to_process, flows.to_correlation_id[i]);
        const uint32_t wait = enqueued_.find(to_process, flows.to_correlation_id[i]);
        if (call == kNoOperation || wait == kNoOperation) continue;
        to = nextLaunched(trace_.sync.stream_id[wait], trace_.host_call.start_ns[call]);
      }
      if (from == kNoOperation || to == kNoOperation) continue;
      if (!graph_.operations[to].host_wait) {
        add(from, to, DependencyType::Synchronization, Dependency::Why::kEventWait);
      } else if (graph_.operations[from].end_ns <= graph_.operations[to].end_ns) {
        add(from, to, DependencyType::HostBarrier, Dependency::Why::kHostWaitedForIt);
      }
    }
  }

  /// The last operation launched on a stream before `time`: the one that an event recorded then
  /// represents.
  uint32_t lastLaunched(StreamId stream, int64_t time) {
    const auto& launches = launchesOf(stream);
    const auto after = std::lower_bound(launches.begin(), launches.end(), std::pair(time, 0U));
    return after == launches.begin() ? kNoOperation : std::prev(after)->second;
  }
  /// The first operation launched on a stream after `time`.
  uint32_t nextLaunched(StreamId stream, int64_t time) {
    const auto& launches = launchesOf(stream);
    const auto at = std::lower_bound(launches.begin(), launches.end(), std::pair(time, 0U));
    return at == launches.end() ? kNoOperation : at->second;
  }
  using Launches = std::vector<std::pair<int64_t, uint32_t>>;  // time and operation
  const Launches& launchesOf(StreamId stream) {
    if (launches_.empty()) {
      for (size_t i = 0; i < graph_.operations.size(); ++i) {
        const Operation& op = graph_.operations[i];
        if (op.host_wait || op.launched_ns == INT64_MIN) continue;
        launches_[op.stream].emplace_back(op.launched_ns, static_cast<uint32_t>(i));
      }
      for (auto& [at, launches] : launches_) std::sort(launches.begin(), launches.end());
    }
    return launches_[stream];
  }

  void hostWaits() {
    forEachHostWait(trace_, graph_.operations,
                    [&](uint32_t from, uint32_t to, Dependency::Why why) {
                      add(from, to, DependencyType::HostBarrier, why);
                    });
  }

  void memory() {
    forEachMemoryDependency(trace_, graph_.operations, [&](uint32_t from, uint32_t to) {
      add(from, to, DependencyType::Memory, Dependency::Why::kSameMemory);
    });
  }

  void finish() {
    auto& all = graph_.dependencies;
    // Sort by `to`, stable; then keep one of each pair: the first kind found.
    graph_.first.assign(graph_.operations.size() + 1, 0);
    for (const Dependency& d : all) ++graph_.first[d.to + 1];
    for (size_t i = 1; i < graph_.first.size(); ++i) graph_.first[i] += graph_.first[i - 1];
    std::vector<Dependency> sorted(all.size());
    std::vector<uint32_t> next(graph_.first.begin(), graph_.first.end() - 1);
    for (const Dependency& d : all) sorted[next[d.to]++] = d;
    all.clear();
    uint32_t begin = 0;
    for (size_t i = 0; i + 1 < graph_.first.size(); ++i) {
      const uint32_t end = graph_.first[i + 1];
      graph_.first[i] = static_cast<uint32_t>(all.size());
      const auto from = sorted.begin() + begin;
      const auto to = sorted.begin() + end;
      std::stable_sort(from, to,
                       [](const Dependency& x, const Dependency& y) { return x.from < y.from; });
      std::unique_copy(from, to, std::back_inserter(all),
                       [](const Dependency& x, const Dependency& y) { return x.from == y.from; });
      begin = end;
    }
    graph_.first.back() = static_cast<uint32_t>(all.size());
  }

  const Trace& trace_;
  OperationGraph graph_;
  ByCorrelation calls_;
  ByCorrelation ops_;
  ByCorrelation enqueued_;  // rows of `sync` that are not operations
  std::unordered_map<StreamId, Launches> launches_;
};

}  // namespace

std::string_view toString(DependencyType type) {
  constexpr std::array<std::string_view, 5> kNames = {"none", "sequential", "synchronization",
                                                      "host barrier", "memory"};
  return kNames[static_cast<size_t>(type)];
}

std::string_view toString(Dependency::Why why) {
  constexpr std::array<std::string_view, 6> kNames = {
      "stream order",           "stream order, although they overlap", "waited for its event",
      "the host waited for it", "launched after the host had waited",  "the same memory"};
  return kNames[static_cast<size_t>(why)];
}

OperationGraph OperationGraph::of(const Trace& trace) { return Builder(trace).build(); }

std::vector<uint32_t> OperationGraph::executionOrder() const {
  std::vector<uint32_t> waits(operations.size(), 0);
  // Index of the followers of each operation.
  std::vector<uint32_t> begins(operations.size() + 1, 0);
  for (const Dependency& d : dependencies) {
    ++waits[d.to];
    ++begins[d.from + 1];
  }
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<uint32_t> followers(dependencies.size());
  std::vector<uint32_t> next(begins.begin(), begins.end() - 1);
  for (const Dependency& d : dependencies) followers[next[d.from]++] = d.to;
  // Operations are sorted by start: the smallest free index comes first.
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> free;
  for (uint32_t i = 0; i < operations.size(); ++i) {
    if (waits[i] == 0) free.push(i);
  }
  std::vector<uint32_t> order;
  order.reserve(operations.size());
  while (!free.empty()) {
    const uint32_t op = free.top();
    free.pop();
    order.push_back(op);
    for (uint32_t k = begins[op]; k < begins[op + 1]; ++k) {
      if (--waits[followers[k]] == 0) free.push(followers[k]);
    }
  }
  if (order.size() < operations.size()) {
    // Contradictory times (of clocks that were not aligned) can form a cycle.
    std::vector<bool> done(operations.size(), false);
    for (const uint32_t op : order) done[op] = true;
    for (uint32_t i = 0; i < operations.size(); ++i) {
      if (!done[i]) order.push_back(i);
    }
  }
  return order;
}

}  // namespace tracesmith
