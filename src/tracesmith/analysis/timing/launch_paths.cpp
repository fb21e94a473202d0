// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/launch_paths.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "tracesmith/analysis/timing/steps.hpp"

namespace tracesmith {
namespace {

/// A tree of range stacks: a node is a name below another node.
class Stacks {
 public:
  uint32_t child(uint32_t parent, StringId name) {
    const auto [it, fresh] = known_.try_emplace(
        uint64_t{parent} << 32 | static_cast<uint32_t>(name), static_cast<uint32_t>(nodes_.size()));
    if (fresh) nodes_.push_back({parent, name});
    return it->second;
  }
  std::vector<StringId> names(uint32_t node) const {
    std::vector<StringId> out;
    for (; node != 0; node = nodes_[node].parent) out.push_back(nodes_[node].name);
    std::reverse(out.begin(), out.end());
    return out;
  }

 private:
  struct Node {
    uint32_t parent;
    StringId name;
  };
  std::vector<Node> nodes_ = {{0, StringId::kNone}};
  std::unordered_map<uint64_t, uint32_t> known_;
};

/// Caches whether names are step names.
class StepNames {
 public:
  bool operator()(const Trace& trace, StringId name) {
    const auto [it, fresh] = known_.try_emplace(name, false);
    if (fresh) it->second = trace.text(name).starts_with(kPyTorchStep);
    return it->second;
  }

 private:
  std::unordered_map<StringId, bool> known_;
};

struct Open {
  int64_t end_ns;
  int64_t first_end_ns;  ///< earliest end of this range and its enclosing ones
  uint32_t node;
  StringId name;
};

/// The open ranges of a thread, outermost first.
class OpenRanges {
 public:
  explicit OpenRanges(Stacks& stacks) : stacks_(stacks) {}
  uint32_t node() const { return open_.empty() ? 0 : open_.back().node; }
  void open(StringId name, int64_t end_ns) {
    const int64_t around = open_.empty() ? INT64_MAX : open_.back().first_end_ns;
    open_.push_back({end_ns, std::min(around, end_ns), stacks_.child(node(), name), name});
  }
  void closeUntil(int64_t time) {
    while (!open_.empty() && open_.back().end_ns <= time) open_.pop_back();
    if (open_.empty() || open_.back().first_end_ns > time) return;
    // Ranges may overlap: the remaining ones now have another parent.
    std::vector<Open> left = std::move(open_);
    open_.clear();
    for (const Open& o : left) {
      if (o.end_ns > time) open(o.name, o.end_ns);
    }
  }

 private:
  Stacks& stacks_;
  std::vector<Open> open_;
};

}  // namespace

std::vector<LaunchPath> launchPaths(const Trace& trace, const DeviceOps& ops) {
  std::unordered_map<ThreadId, std::vector<uint32_t>> ranges, launches;
  StepNames isStep;
  const RangeTable& r = trace.range;
  for (uint32_t i = 0; i < r.size(); ++i) {
    // Omit steps, so that launches from the same place in each step add up.
    if (r.kind[i] == RangeKind::kRange && r.stream_id[i] == StreamId::kNone &&
        !isStep(trace, r.name[i])) {
      ranges[r.thread_id[i]].push_back(i);
    }
  }
  for (uint32_t i = 0; i < ops.ops.size(); ++i) {
    const DeviceOp& op = ops.ops[i];
    if (op.launch == DeviceOp::kNone || op.table == TableId::kSync) continue;
    launches[trace.host_call.thread_id[op.launch]].push_back(i);
  }
  Stacks stacks;
  std::map<uint32_t, LaunchPath> by_node;
  for (auto& [thread, mine] : launches) {
    std::vector<uint32_t>& around = ranges[thread];
    // Of ranges that start at the same time, the longest is the outermost.
    std::sort(around.begin(), around.end(), [&](uint32_t a, uint32_t b) {
      if (r.start_ns[a] != r.start_ns[b]) return r.start_ns[a] < r.start_ns[b];
      return r.duration_ns[a] > r.duration_ns[b];
    });
    const auto launched = [&](uint32_t op) { return ops.call_begin_ns[ops.ops[op].launch]; };
    std::sort(mine.begin(), mine.end(),
              [&](uint32_t a, uint32_t b) { return launched(a) < launched(b); });
    OpenRanges open(stacks);
    size_t next = 0;
    for (const uint32_t op : mine) {
      const int64_t at = launched(op);
      for (; next < around.size() && r.start_ns[around[next]] <= at; ++next) {
        const int64_t begin = r.start_ns[around[next]];
        open.closeUntil(begin);
        open.open(r.name[around[next]], endOf(begin, r.duration_ns[around[next]]));
      }
      open.closeUntil(at);
      LaunchPath& path = by_node[open.node()];
      ++path.ops;
      path.device_ns += std::max<int64_t>(ops.ops[op].end_ns - ops.ops[op].begin_ns, 0);
    }
  }
  std::vector<LaunchPath> out;
  for (auto& [node, path] : by_node) {
    path.names = stacks.names(node);
    out.push_back(std::move(path));
  }
  std::stable_sort(out.begin(), out.end(), [](const LaunchPath& a, const LaunchPath& b) {
    return a.device_ns > b.device_ns;
  });
  return out;
}

}  // namespace tracesmith
