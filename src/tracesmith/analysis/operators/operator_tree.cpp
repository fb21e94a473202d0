// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/operators/operator_tree.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>

#include "tracesmith/base/huge_pages.hpp"
#include "tracesmith/base/natural_sort.hpp"

namespace tracesmith {
namespace {

constexpr uint32_t kNoNode = ~uint32_t{0};
/// Beyond this many nodes, a range that outlives its enclosing one keeps its path.
constexpr size_t kMostMovedNodes = 1 << 20;

struct HostRange {
  int64_t begin_ns;
  int64_t end_ns;
  uint32_t row;
  uint32_t name;  ///< OperatorNames::kNotWanted: only a sequence number is of interest
};

/// What happened on one thread, or in one backward operator.
struct ThreadWork {
  std::span<const HostRange> ranges;  ///< by start; of equal starts the longest first
  std::span<const uint32_t> ops;      ///< indices in DeviceOps::ops, by launch
};

/// Where forward operators are in the tree, by process and sequence number.
class ForwardOperators {
 public:
  void add(ProcessId process, uint64_t number, int64_t begin_ns, uint32_t node) {
    std::vector<Place>& places = of_[{process, number}];
    places.insert(std::upper_bound(places.begin(), places.end(), begin_ns, startsAfter),
                  {begin_ns, node});
  }
  /// The node of the last one that started before `time_ns`; kNoNode if there is none.
  uint32_t before(ProcessId process, uint64_t number, int64_t time_ns) const {
    const auto found = of_.find({process, number});
    if (found == of_.end()) return kNoNode;
    const std::vector<Place>& places = found->second;
    const auto after = std::upper_bound(places.begin(), places.end(), time_ns, startsAfter);
    return after == places.begin() ? kNoNode : std::prev(after)->node;
  }

 private:
  struct Place {
    int64_t begin_ns;
    uint32_t node;
  };
  static bool startsAfter(int64_t time_ns, const Place& place) { return time_ns < place.begin_ns; }
  struct Hash {
    size_t operator()(const std::pair<ProcessId, uint64_t>& key) const {
      return std::hash<uint64_t>()(key.second ^ uint64_t{static_cast<uint32_t>(key.first)} << 40);
    }
  };
  /// By start.
  std::unordered_map<std::pair<ProcessId, uint64_t>, std::vector<Place>, Hash> of_;
};

class TreeBuilder {
 public:
  TreeBuilder(const Trace& trace, const DeviceOps& ops, OperatorRanges which, OperatorTree& tree)
      : trace_(trace), ops_(ops), tree_(tree), moves_(which != OperatorRanges::kOperators) {}

  int64_t launchTime(uint32_t op) const { return ops_.calls.beginNs(ops_.ops[op].launch); }

  void addThread(const ThreadWork& work) { walk(work, 0); }

  /// To be called after all threads: now all forward operators are known.
  void finish() {
    // By start: a backward operator can itself be differentiated, and then has forward operators.
    std::sort(backward_.begin(), backward_.end(), [this](const Backward& a, const Backward& b) {
      return trace_.range.start_ns[a.range] < trace_.range.start_ns[b.range];
    });
    for (const Backward& b : backward_) {
      const uint32_t caused_by = forwardOf(b.range);
      if (moves_) {
        walk(b.work, caused_by == kNoNode ? 0 : caused_by, true);
      } else if (caused_by != kNoNode) {
        int64_t& backward = tree_.nodes[caused_by].backward_ns;
        backward = endOf(backward, b.device_ns);
      }
    }
    for (size_t i = tree_.nodes.size(); i-- > 0;) {
      OperatorNode& node = tree_.nodes[i];
      node.host_self_ns = lengthOf(nested_ns_[i], node.host_total_ns);
      node.device_total_ns = endOf(node.device_total_ns, node.device_self_ns);
      node.backward_total_ns = endOf(node.backward_total_ns, node.backward_ns);
      if (i == 0) break;
      OperatorNode& parent = tree_.nodes[node.parent];
      parent.device_total_ns = endOf(parent.device_total_ns, node.device_total_ns);
      parent.backward_total_ns = endOf(parent.backward_total_ns, node.backward_total_ns);
    }
  }

  void addWork(uint32_t node, uint32_t index) {
    const DeviceOp& op = ops_.ops[index];
    tree_.node_of_op[index] = node;
    OperatorNode& at = tree_.nodes[node];
    ++at.launches;
    at.device_self_ns = endOf(at.device_self_ns, lengthOf(op.begin_ns, op.end_ns));
    at.bytes += bytesOf(trace_, op);
  }

 private:
  struct Open {
    int64_t end_ns;
    int64_t first_end_ns;  ///< earliest end of this range and its enclosing ones
    uint32_t node;
    uint32_t name;
  };
  struct Backward {
    uint32_t range;
    ThreadWork work;
    int64_t device_ns = 0;  ///< of its launches, if its ranges stay where they are
  };

  uint32_t current() const { return open_.empty() ? base_ : open_.back().node; }

  uint32_t forwardOf(uint32_t range) const {
    const RangeTable& r = trace_.range;
    return forward_.before(r.process_id[range], r.sequence_number[range], r.start_ns[range]);
  }

  /// `moved`: the work is that of a backward operator, which is not to be moved again.
  void walk(const ThreadWork& work, uint32_t base, bool moved = false) {
    open_.clear();
    base_ = base;
    in_backward_ = kNoNode;
    size_t range = 0;
    size_t op = 0;
    while (range < work.ranges.size() || op < work.ops.size()) {
      const bool next_is_range =
          range < work.ranges.size() &&
          (op == work.ops.size() || work.ranges[range].begin_ns <= launchTime(work.ops[op]));
      if (!next_is_range) {
        launch(work.ops[op++]);
        continue;
      }
      const HostRange& at = work.ranges[range];
      closeUntil(at.begin_ns);
      if (moves_ && !moved && open_.empty() && isBackward(at.row)) {
        const size_t first_range = range, first_op = op;
        while (range < work.ranges.size() && work.ranges[range].begin_ns < at.end_ns) ++range;
        range = std::max(range, first_range + 1);
        while (op < work.ops.size() && launchTime(work.ops[op]) < at.end_ns) ++op;
        backward_.push_back({at.row,
                             {work.ranges.subspan(first_range, range - first_range),
                              work.ops.subspan(first_op, op - first_op)}});
        continue;
      }
      enter(at);
      ++range;
    }
    closeUntil(INT64_MAX);  // host times of ranges that overlap are settled when they end
  }

  bool isBackward(uint32_t range) const {
    return trace_.range.forward_thread[range] != 0 && trace_.range.sequence_number[range] != 0;
  }

  void launch(uint32_t op) {
    const int64_t at = launchTime(op);
    closeUntil(at);
    addWork(current(), op);
    if (!moves_ && in_backward_ != kNoNode && at < in_backward_end_ns_) {
      int64_t& sum = backward_[in_backward_].device_ns;
      sum = endOf(sum, lengthOf(ops_.ops[op].begin_ns, ops_.ops[op].end_ns));
    }
  }

  void enter(const HostRange& at) {
    if (at.name != OperatorNames::kNotWanted) open(at);
    const RangeTable& r = trace_.range;
    if (r.sequence_number[at.row] == 0) return;
    if (r.forward_thread[at.row] == 0) {
      forward_.add(r.process_id[at.row], r.sequence_number[at.row], at.begin_ns, current());
    } else if (!moves_ && (in_backward_ == kNoNode || at.begin_ns >= in_backward_end_ns_)) {
      in_backward_ = static_cast<uint32_t>(backward_.size());
      in_backward_end_ns_ = at.end_ns;
      backward_.push_back({at.row, {}});
    }
  }

  void open(const HostRange& at) {
    const int64_t around = open_.empty() ? INT64_MAX : open_.back().first_end_ns;
    if (!open_.empty()) {
      int64_t& nested = nested_ns_[open_.back().node];
      nested = endOf(nested, lengthOf(at.begin_ns, std::min(at.end_ns, open_.back().end_ns)));
    }
    const uint32_t node = child(current(), at.name);
    OperatorNode& opened = tree_.nodes[node];
    ++opened.calls;
    opened.host_total_ns = endOf(opened.host_total_ns, lengthOf(at.begin_ns, at.end_ns));
    open_.push_back({at.end_ns, std::min(around, at.end_ns), node, at.name});
  }

  /// Closes ranges in the order of their ends.
  void closeUntil(int64_t time_ns) {
    while (!open_.empty() && open_.back().first_end_ns <= time_ns) {
      if (open_.back().end_ns == open_.back().first_end_ns) {
        open_.pop_back();
      } else {
        closeEnclosing(open_.back().first_end_ns);
      }
    }
  }

  /// Closes ranges that end before others in them: these go on in the next enclosing one.
  void closeEnclosing(int64_t end_ns) {
    const std::vector<Open> all = std::exchange(open_, {});
    for (size_t i = 0; i < all.size(); ++i) {
      const Open& o = all[i];
      if (o.end_ns <= end_ns) continue;
      if (i > 0 && all[i - 1].end_ns <= end_ns && !open_.empty()) {
        int64_t& nested = nested_ns_[open_.back().node];
        nested = endOf(nested, lengthOf(end_ns, std::min(o.end_ns, open_.back().end_ns)));
      }
      const int64_t around = open_.empty() ? INT64_MAX : open_.back().first_end_ns;
      // Many ranges that overlap like stairs would make nodes by the square of their number.
      const uint32_t node =
          tree_.nodes.size() < kMostMovedNodes ? child(current(), o.name) : o.node;
      open_.push_back({o.end_ns, std::min(around, o.end_ns), node, o.name});
    }
  }

  uint32_t child(uint32_t parent, uint32_t name) {
    const auto [it, fresh] = children_.try_emplace(uint64_t{parent} << 32 | name,
                                                   static_cast<uint32_t>(tree_.nodes.size()));
    if (fresh) {
      tree_.nodes.push_back({.parent = parent, .name = name});
      nested_ns_.push_back(0);
    }
    return it->second;
  }

  const Trace& trace_;
  const DeviceOps& ops_;
  OperatorTree& tree_;
  const bool moves_;  ///< backward operators become nodes below the forward operator
  std::unordered_map<uint64_t, uint32_t> children_;
  std::vector<int64_t> nested_ns_ = {0};  ///< of each node: time of directly nested ranges
  ForwardOperators forward_;
  std::vector<Backward> backward_;
  std::vector<Open> open_;
  uint32_t base_ = 0;
  uint32_t in_backward_ = kNoNode;  ///< index in backward_; the last one that was entered
  int64_t in_backward_end_ns_ = 0;
};

/// Host ranges and launches of each thread.
struct Threads {
  struct Thread {
    std::vector<HostRange> ranges;
    std::vector<uint32_t> ops;
    size_t launches = 0;
  };
  std::map<ThreadId, Thread> all;

  /// Neighbouring rows mostly have the same thread.
  Thread& of(ThreadId id) {
    if (last == nullptr || last_id != id) {
      last = &all[id];
      last_id = id;
    }
    return *last;
  }
  Thread* last = nullptr;
  ThreadId last_id{};
};

}  // namespace

uint64_t bytesOf(const Trace& trace, const DeviceOp& op) {
  if (op.table == TableId::kCopy) return trace.copy.bytes[op.row];
  return op.table == TableId::kFill ? trace.fill.bytes[op.row] : 0;
}

OperatorTree OperatorTree::of(const Trace& trace, const DeviceOps& ops, OperatorRanges which) {
  OperatorTree tree;
  tree.nodes.emplace_back();
  reserveInLargePages(tree.node_of_op, ops.ops.size());
  tree.node_of_op.resize(ops.ops.size());
  OperatorNames names(trace, which, tree.names);
  Threads threads;
  const RangeTable& r = trace.range;
  for (uint32_t i = 0; i < r.size(); ++i) {
    if (r.kind[i] != RangeKind::kRange || r.stream_id[i] != StreamId::kNone) continue;
    const uint32_t name = names.of(i);
    if (name == OperatorNames::kNotWanted && r.sequence_number[i] == 0) continue;
    threads.of(r.thread_id[i])
        .ranges.push_back({r.start_ns[i], endOf(r.start_ns[i], r.duration_ns[i]), i, name});
  }
  for (const DeviceOp& op : ops.ops) {
    if (op.launch != DeviceOp::kNone) ++threads.of(trace.host_call.thread_id[op.launch]).launches;
  }
  for (auto& [id, thread] : threads.all) reserveInLargePages(thread.ops, thread.launches);
  TreeBuilder builder(trace, ops, which, tree);
  for (uint32_t i = 0; i < ops.ops.size(); ++i) {
    const DeviceOp& op = ops.ops[i];
    if (!isDeviceWork(op)) continue;
    if (op.launch == DeviceOp::kNone) {
      builder.addWork(0, i);
    } else {
      threads.of(trace.host_call.thread_id[op.launch]).ops.push_back(i);
    }
  }
  for (auto& [id, thread] : threads.all) {
    if (thread.ranges.empty()) {
      for (const uint32_t op : thread.ops) builder.addWork(0, op);
      continue;
    }
    const auto starts_first = [](const HostRange& a, const HostRange& b) {
      return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
    };
    naturalSort(thread.ranges.begin(), thread.ranges.end(), starts_first);
    naturalSort(thread.ops.begin(), thread.ops.end(), [&](uint32_t a, uint32_t b) {
      return builder.launchTime(a) < builder.launchTime(b);
    });
    builder.addThread({thread.ranges, thread.ops});
  }
  builder.finish();
  return tree;
}

std::vector<std::string_view> OperatorTree::path(uint32_t node) const {
  std::vector<std::string_view> out;
  for (; node != 0; node = nodes[node].parent) out.push_back(names[nodes[node].name]);
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace tracesmith
