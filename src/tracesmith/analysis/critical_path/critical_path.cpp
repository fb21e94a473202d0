// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/critical_path/critical_path.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tracesmith/analysis/critical_path/last_ended.hpp"
#include "tracesmith/analysis/critical_path/latest_ends.hpp"
#include "tracesmith/analysis/timing/covered_time.hpp"
#include "tracesmith/base/huge_pages.hpp"
#include "tracesmith/state/operation_graph.hpp"

namespace tracesmith {
namespace {

BoundBy boundOf(WorkClass work) {
  switch (work) {
    case WorkClass::kCommunication:
      return BoundBy::kCommunication;
    case WorkClass::kMemory:
      return BoundBy::kMemory;
    default:
      return BoundBy::kCompute;
  }
}

/// The work that a call waits for: one op, or all work of a stream, a device or a process.
struct WaitedWork {
  uint32_t last = DeviceOp::kNone;  ///< op of this work that ended last
  bool only_last = false;
  StreamId stream{};  ///< kNone: any stream
  DeviceId device{};  ///< kNone: any device
  ProcessId process{};
};

/// A call of a thread that lasted until a piece of device work had ended.
struct HostWait {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint32_t op = 0;
  uint32_t call = 0;
  WaitedWork work;
};

class Walk {
 public:
  using OnSegment = std::function<void(const PathSegment&)>;

  Walk(const Trace& trace, const DeviceOps& ops, const OpOrders& orders,
       const AnalysisOptions& options, const OnSegment* on_segment = nullptr)
      : trace_(trace),
        ops_(ops),
        orders_(orders),
        on_segment_(on_segment),
        short_gap_ns_(options.kernel_wait_ns),
        ended_(ops, orders) {
    findPredecessors();
    findHostWaits();
  }

  enum class End : uint8_t { kLast, kHost, kDevice };

  CriticalPath run(int64_t from, int64_t to, End where) {
    path_ = {};
    path_.begin_ns = from;
    path_.end_ns = to;
    is_on_path_.assign(ops_.ops.size(), false);
    // The last end: of a piece of device work or of a thread.
    const uint32_t last_op = lastOp(from, to);
    const auto [thread, host_end] = lastThread(from, to);
    bool on_device = last_op != DeviceOp::kNone && ops_.ops[last_op].end_ns >= host_end &&
                     ops_.ops[last_op].end_ns > from;
    if (where == End::kHost) on_device = false;
    if (where == End::kDevice) on_device = last_op != DeviceOp::kNone;
    if (!on_device && host_end <= from) {
      computeSlack();
      return std::move(path_);
    }
    int64_t at = on_device ? ops_.ops[last_op].end_ns : host_end;
    path_.end_ns = at;
    countLeftOut(to);
    uint32_t op = last_op;
    ThreadId on = thread;
    // Each step goes back in time, except over work without a duration.
    for (size_t steps = 0; at > from && steps < 4 * (ops_.ops.size() + waits_ + 16); ++steps) {
      if (on_device) {
        const DeviceOp& o = ops_.ops[op];
        at = add(o.begin_ns, at, from, boundOf(o.work), op, DeviceOp::kNone, {});
        const int64_t launched =
            o.launch == DeviceOp::kNone ? INT64_MIN : ops_.calls.beginNs(o.launch);
        const uint32_t before = waitedFor(op, launched);
        if (before != DeviceOp::kNone && ops_.ops[before].end_ns >= launched) {
          const bool short_gap = o.begin_ns - ops_.ops[before].end_ns < short_gap_ns_;
          at = add(ops_.ops[before].end_ns, at, from,
                   short_gap ? BoundBy::kDevice : BoundBy::kUnknown, op, DeviceOp::kNone, {});
          op = before;
        } else if (o.launch != DeviceOp::kNone) {
          at = add(launched, at, from, BoundBy::kLaunch, op, o.launch, {});
          on = trace_.host_call.thread_id[o.launch];
          on_device = false;
        } else {
          at = add(from, at, from, BoundBy::kUnknown, op, DeviceOp::kNone, {});
        }
        continue;
      }
      const HostWait* wait = lastWait(on, at);
      if (wait == nullptr || ops_.ops[wait->op].end_ns <= from) {
        at = add(from, at, from, BoundBy::kHost, DeviceOp::kNone, DeviceOp::kNone, on);
        break;
      }
      at =
          add(ops_.ops[wait->op].end_ns, at, from, BoundBy::kHost, DeviceOp::kNone, wait->call, on);
      op = wait->op;
      on_device = true;
    }
    std::reverse(path_.segments.begin(), path_.segments.end());
    computeSlack();
    return std::move(path_);
  }

  /// Reduces host time on the path to operators and calls.
  void countOperatorsOnly(CriticalPath& path, int64_t from, int64_t to) const {
    std::unordered_map<ThreadId, std::vector<Interval>> inside;
    const HostCallTable& calls = trace_.host_call;
    for (size_t i = 0; i < calls.size(); ++i) {
      if (calls.kind[i] == CallKind::kSync) continue;
      inside[calls.thread_id[i]].push_back({ops_.calls.beginNs(i), ops_.calls.endNs(i)});
    }
    const RangeTable& ranges = trace_.range;
    for (size_t i = 0; i < ranges.size(); ++i) {
      const int64_t end = endOf(ranges.start_ns[i], ranges.duration_ns[i]);
      if (ranges.kind[i] != RangeKind::kRange || ranges.stream_id[i] != StreamId::kNone ||
          (ranges.start_ns[i] <= from && end >= to) ||
          trace_.text(ranges.category[i]) != "cpu_op") {
        continue;
      }
      inside[ranges.thread_id[i]].push_back({ranges.start_ns[i], end});
    }
    std::unordered_map<ThreadId, CoveredTime> covered;
    for (auto& [thread, intervals] : inside) covered[thread] = CoveredTime(std::move(intervals));
    int64_t host = 0;
    for (const PathSegment& s : path.segments) {
      if (s.bound == BoundBy::kHost) host += covered[s.thread].within(s.begin_ns, s.end_ns);
    }
    path.total_ns[static_cast<size_t>(BoundBy::kHost)] = host;
  }

 private:
  /// Adds a segment from `begin`, but not before `from`, to `end`; returns the time at which the
  /// path continues.
  int64_t add(int64_t begin, int64_t end, int64_t from, BoundBy bound, uint32_t op, uint32_t call,
              ThreadId thread) {
    begin = std::min(std::max(begin, from), end);
    if (begin == end) return begin;
    const PathSegment segment{begin, end, bound, op, call, thread};
    if (on_segment_ != nullptr) {
      (*on_segment_)(segment);
    } else {
      path_.segments.push_back(segment);
    }
    path_.total_ns[static_cast<size_t>(bound)] += end - begin;
    const bool work =
        bound == BoundBy::kCompute || bound == BoundBy::kCommunication || bound == BoundBy::kMemory;
    if (work) is_on_path_[op] = true;
    return begin;
  }

  /// False for synchronisation rows, which a tool drew on a stream.
  bool isWork(uint32_t op) const { return ops_.ops[op].table != TableId::kSync; }

  /// The op that ended last among those launched in [from, to), even if it ended later. Ops without
  /// a known launch count if they ended by `to`.
  uint32_t lastOp(int64_t from, int64_t to) const {
    uint32_t last = DeviceOp::kNone;
    for (uint32_t i = 0; i < ops_.ops.size(); ++i) {
      const DeviceOp& op = ops_.ops[i];
      if (!isWork(i)) continue;
      const bool counts = op.launch == DeviceOp::kNone ? op.end_ns <= to
                                                       : ops_.calls.beginNs(op.launch) >= from &&
                                                             ops_.calls.beginNs(op.launch) < to;
      if (counts && (last == DeviceOp::kNone || op.end_ns >= ops_.ops[last].end_ns)) last = i;
    }
    return last;
  }

  /// The predecessor of an op according to the trace. If that ended long before the op started: the
  /// op that ended on another stream of its device just before, because most traces lack events.
  uint32_t waitedFor(uint32_t op, int64_t launched) const {
    const DeviceOp& o = ops_.ops[op];
    const uint32_t known = before_[op];
    if (known != DeviceOp::kNone && o.begin_ns - ops_.ops[known].end_ns < short_gap_ns_)
      return known;
    const uint32_t near = ended_.onDevice(o.process, trace_.deviceOf(o.stream), o.begin_ns);
    const bool likely = near != DeviceOp::kNone && near != op && ops_.ops[near].end_ns > launched &&
                        o.begin_ns - ops_.ops[near].end_ns < short_gap_ns_;
    return likely ? near : known;
  }

  /// Finds for each op its predecessor, in its stream or by events, that ended last; and for each
  /// host wait for an event its op.
  void findPredecessors() {
    reserveInLargePages(before_, ops_.ops.size());
    before_.assign(ops_.ops.size(), DeviceOp::kNone);
    for (const StreamOps& s : ops_.streams) {
      uint32_t last = DeviceOp::kNone;
      for (uint32_t i = s.begin; i < s.end; ++i) {
        if (!isWork(i)) continue;
        // An overlapping op was not waited for.
        if (last != DeviceOp::kNone && ops_.ops[last].end_ns <= ops_.ops[i].begin_ns)
          before_[i] = last;
        if (last == DeviceOp::kNone || ops_.ops[i].end_ns >= ops_.ops[last].end_ns) last = i;
      }
    }
    const auto& kinds = trace_.flow.kind;
    if (std::find(kinds.begin(), kinds.end(), FlowKind::kWait) == kinds.end()) return;
    std::map<std::pair<TableId, uint32_t>, uint32_t> op_of;  // table and row
    const OperationGraph graph = OperationGraph::of(trace_);
    const auto place = [&](uint32_t operation) {
      return std::pair(graph.operations[operation].table, graph.operations[operation].row);
    };
    const auto forEvent = [&](const Dependency& d) {
      const Operation& to = graph.operations[d.to];
      return d.why == Dependency::Why::kEventWait ||
             (d.why == Dependency::Why::kHostWaitedForIt && to.table == TableId::kSync &&
              trace_.sync.kind[to.row] == SyncKind::kEventWait);
    };
    // Waits drawn on a stream are not ops: the op that follows waits instead.
    std::multimap<uint32_t, uint32_t> behind;
    for (const Dependency& d : graph.dependencies) {
      const bool is_wait = graph.operations[d.from].table == TableId::kSync;
      if (is_wait && d.type == DependencyType::Sequential) behind.emplace(d.from, d.to);
      if (forEvent(d) || is_wait) op_of[place(d.from)] = op_of[place(d.to)] = DeviceOp::kNone;
    }
    for (uint32_t i = 0; i < ops_.ops.size(); ++i) {
      const auto it = op_of.find({ops_.ops[i].table, ops_.ops[i].row});
      if (it != op_of.end()) it->second = i;
    }
    for (const Dependency& d : graph.dependencies) {
      if (!forEvent(d)) continue;
      const uint32_t from = op_of[place(d.from)];
      if (d.why == Dependency::Why::kHostWaitedForIt) {
        if (from == DeviceOp::kNone) continue;
        uint32_t& event = event_of_.try_emplace(graph.operations[d.to].row, from).first->second;
        if (ops_.ops[event].end_ns < ops_.ops[from].end_ns) event = from;
        continue;
      }
      if (from == DeviceOp::kNone) continue;
      noteEventWait(from, op_of[place(d.to)]);
      const auto [first, last] = behind.equal_range(d.to);
      for (auto it = first; it != last; ++it) noteEventWait(from, op_of[place(it->second)]);
    }
  }

  void noteEventWait(uint32_t from, uint32_t to) {
    if (to == DeviceOp::kNone || ops_.ops[from].end_ns > ops_.ops[to].begin_ns) return;
    event_waits_.push_back({from, to});
    uint32_t& known = before_[to];
    if (known == DeviceOp::kNone || ops_.ops[known].end_ns < ops_.ops[from].end_ns) known = from;
  }

  /// Something of a host call.
  struct OfCall {
    uint32_t call = 0;
    uint32_t index = 0;
    bool operator<(const OfCall& other) const {
      return call != other.call ? call < other.call : index < other.index;
    }
  };

  /// The last op of a call that copies.
  std::vector<OfCall> copiesOfCalls() const {
    std::vector<OfCall> copies;
    for (uint32_t i = 0; i < ops_.ops.size(); ++i) {
      if (ops_.ops[i].table == TableId::kCopy && ops_.ops[i].launch != DeviceOp::kNone) {
        copies.push_back({ops_.ops[i].launch, i});
      }
    }
    std::sort(copies.begin(), copies.end());
    size_t kept = 0;
    for (size_t i = 0; i < copies.size(); ++i) {
      if (i + 1 == copies.size() || copies[i + 1].call != copies[i].call)
        copies[kept++] = copies[i];
    }
    copies.resize(kept);
    return copies;
  }

  /// The first synchronisation row of a call that waits.
  std::vector<OfCall> syncsOfCalls() const {
    const SyncTable& syncs = trace_.sync;
    std::vector<OfCall> out;
    for (uint32_t i = 0; i < syncs.size(); ++i) {
      if ((syncs.flags[i] & op_flags::kHostSide) == 0) continue;
      if (ops_.call_of_sync[i] != DeviceOp::kNone) out.push_back({ops_.call_of_sync[i], i});
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end(),
                          [](const OfCall& a, const OfCall& b) { return a.call == b.call; }),
              out.end());
    return out;
  }

  void findHostWaits() {
    const HostCallTable& calls = trace_.host_call;
    const std::vector<OfCall> copies = copiesOfCalls();
    const std::vector<OfCall> syncs = syncsOfCalls();
    auto copy = copies.begin();
    auto sync = syncs.begin();
    for (uint32_t i = 0; i < calls.size(); ++i) {
      while (copy != copies.end() && copy->call < i) ++copy;
      while (sync != syncs.end() && sync->call < i) ++sync;
      const int64_t begin = ops_.calls.beginNs(i);
      const int64_t end = ops_.calls.endNs(i);
      WaitedWork work;
      if (copy != copies.end() && copy->call == i) {
        if (ops_.ops[copy->index].end_ns <= end) work = {.last = copy->index, .only_last = true};
      } else if (calls.kind[i] == CallKind::kSync && blocks(calls.name[i])) {
        work =
            waitedForBy(i, sync != syncs.end() && sync->call == i ? sync->index : DeviceOp::kNone);
        if (work.last != DeviceOp::kNone && ops_.ops[work.last].end_ns <= begin) continue;
      }
      if (work.last == DeviceOp::kNone) continue;
      waits_of_[calls.thread_id[i]].push_back({begin, end, work.last, i, work});
      ++waits_;
    }
    for (auto& [thread, waits] : waits_of_) {
      std::sort(waits.begin(), waits.end(),
                [](const HostWait& a, const HostWait& b) { return a.end_ns < b.end_ns; });
    }
  }

  /// The work that a call waited for: of the stream or device that the trace names, otherwise of
  /// the calling process. `sync`: its row, or DeviceOp::kNone.
  WaitedWork waitedForBy(uint32_t call, uint32_t sync) const {
    const HostCallTable& calls = trace_.host_call;
    const int64_t end = ops_.calls.endNs(call);
    StreamId stream = calls.stream_id[call];
    DeviceId device{};
    if (sync != DeviceOp::kNone) {
      const auto event = event_of_.find(sync);
      if (event != event_of_.end()) return {.last = event->second, .only_last = true};
      const StreamId named = trace_.sync.stream_id[sync];
      if (trace_.sync.kind[sync] == SyncKind::kStreamWait) {
        if (named != StreamId::kNone) stream = named;
      } else {
        stream = StreamId::kNone;
        if (trace_.sync.kind[sync] == SyncKind::kDeviceWait) device = trace_.deviceOf(named);
      }
    }
    if (stream != StreamId::kNone) {
      return {.last = ended_.onStream(stream, end), .stream = stream};
    }
    const ProcessId process = calls.process_id[call];
    return {.last = ended_.onDevice(process, device, end), .device = device, .process = process};
  }

  /// False for synchronisation calls in which the host does not wait.
  bool blocks(StringId function) {
    const auto [it, fresh] = blocks_.try_emplace(function, true);
    if (fresh) {
      const std::string_view name = trace_.text(function);
      for (const std::string_view part : {"Record", "StreamWait", "Query", "Barrier", "Marker"}) {
        if (name.find(part) != std::string_view::npos) it->second = false;
      }
    }
    return it->second;
  }

  const HostWait* lastWait(ThreadId thread, int64_t time) const {
    const auto it = waits_of_.find(thread);
    if (it == waits_of_.end()) return nullptr;
    const auto after =
        std::upper_bound(it->second.begin(), it->second.end(), time,
                         [](int64_t t, const HostWait& wait) { return t < wait.end_ns; });
    return after == it->second.begin() ? nullptr : &*std::prev(after);
  }

  /// Calls visit(thread, begin, end) for each range of a thread that ends by `to`.
  template <class Visit>
  void forEachRange(int64_t to, Visit&& visit) const {
    const RangeTable& ranges = trace_.range;
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (ranges.kind[i] != RangeKind::kRange || ranges.stream_id[i] != StreamId::kNone ||
          ranges.thread_id[i] == ThreadId::kNone) {
        continue;
      }
      const int64_t end = endOf(ranges.start_ns[i], ranges.duration_ns[i]);
      if (end <= to) visit(ranges.thread_id[i], ranges.start_ns[i], end);
    }
  }

  /// The thread whose host calls or ranges end last, if it ever waited for a device; and that end.
  std::pair<ThreadId, int64_t> lastThread(int64_t from, int64_t to) const {
    ThreadId thread{};
    int64_t last = from;
    const HostCallTable& calls = trace_.host_call;
    for (size_t i = 0; i < calls.size(); ++i) {
      const int64_t end = ops_.calls.endNs(i);
      if (end > last && end <= to) std::tie(thread, last) = std::tie(calls.thread_id[i], end);
    }
    forEachRange(to, [&](ThreadId of, int64_t begin, int64_t end) {
      // A range that encloses the whole period names it and is not work.
      if (end <= last || (begin <= from && end >= to)) return;
      if (waits_of_.contains(of)) std::tie(thread, last) = std::tie(of, end);
    });
    return {thread, last};
  }

  void countLeftOut(int64_t to) {
    std::unordered_set<ThreadId> threads;
    forEachRange(to, [&](ThreadId thread, int64_t, int64_t end) {
      if (end <= path_.end_ns || waits_of_.contains(thread)) return;
      threads.insert(thread);
      path_.left_out_until_ns = std::max(path_.left_out_until_ns, end);
    });
    path_.threads_left_out = threads.size();
  }

  void computeSlack() {
    path_.slack_ns = latestEnds(ops_, orders_, deadlines(), event_waits_, path_.end_ns);
    for (size_t i = 0; i < ops_.ops.size(); ++i) {
      const int64_t latest = path_.slack_ns[i];
      path_.slack_ns[i] = is_on_path_[i] ? 0 : std::max<int64_t>(latest - ops_.ops[i].end_ns, 0);
    }
  }

  /// A host wait is the deadline of the work that it waited for.
  std::vector<Deadline> deadlines() const {
    std::vector<Deadline> found;
    for (const auto& [thread, waits] : waits_of_) {
      for (const HostWait& wait : waits) {
        const int64_t by = ops_.ops[wait.op].end_ns;
        if (wait.work.only_last) {
          found.push_back({.op = wait.op, .by_ns = by});
          continue;
        }
        for (uint32_t s = 0; s < ops_.streams.size(); ++s) {
          if (isWaitedFor(ops_.streams[s], wait.work)) found.push_back({.stream = s, .by_ns = by});
        }
      }
    }
    return found;
  }

  bool isWaitedFor(const StreamOps& stream, const WaitedWork& work) const {
    if (work.stream != StreamId::kNone) return stream.stream == work.stream;
    if (work.device != DeviceId::kNone && stream.device != work.device) return false;
    const ProcessId of = stream.begin < stream.end ? ops_.ops[stream.begin].process : ProcessId{};
    return of == work.process || of == ProcessId::kNone || work.process == ProcessId::kNone;
  }

  const Trace& trace_;
  const DeviceOps& ops_;
  const OpOrders& orders_;
  const OnSegment* const on_segment_;
  const int64_t short_gap_ns_;
  const LastEnded ended_;
  CriticalPath path_;
  std::vector<uint32_t> before_;
  std::vector<EventWait> event_waits_;
  std::unordered_map<ThreadId, std::vector<HostWait>> waits_of_;
  std::unordered_map<uint32_t, uint32_t> event_of_;  // row of sync to op
  std::unordered_map<StringId, bool> blocks_;
  size_t waits_ = 0;
  std::vector<bool> is_on_path_;  // by op
};

}  // namespace

std::string_view toString(BoundBy bound) {
  constexpr std::array<std::string_view, kBounds> kNames = {
      "host",
      "compute",
      "communication",
      "copies",
      "launch overhead",
      "device overhead",
      "waits that the trace does not explain"};
  return kNames[static_cast<size_t>(bound)];
}

CriticalPath CriticalPath::of(const Trace& trace, const DeviceOps& ops,
                              std::optional<int64_t> from_ns, std::optional<int64_t> to_ns,
                              const AnalysisOptions& options) {
  const TimeRange range = timeRange(trace);
  const int64_t from = from_ns.value_or(range.begin_ns);
  const int64_t to = to_ns.value_or(range.end_ns);
  const OpOrders orders = OpOrders::of(ops);
  Walk walk(trace, ops, orders, options);
  if (!options.as_hta) return walk.run(from, to, Walk::End::kLast);
  const auto length = [](const CriticalPath& path) {
    return std::accumulate(path.total_ns.begin(), path.total_ns.end(), int64_t{0});
  };
  CriticalPath host = walk.run(from, to, Walk::End::kHost);
  CriticalPath device = walk.run(from, to, Walk::End::kDevice);
  walk.countOperatorsOnly(host, from, to);
  walk.countOperatorsOnly(device, from, to);
  return length(device) >= length(host) ? device : host;
}

CriticalPath CriticalPath::visit(const Trace& trace, const DeviceOps& ops, const OpOrders& orders,
                                 TimeRange time, const AnalysisOptions& options,
                                 const std::function<void(const PathSegment&)>& on_segment) {
  return Walk(trace, ops, orders, options, &on_segment)
      .run(time.begin_ns, time.end_ns, Walk::End::kLast);
}

}  // namespace tracesmith
