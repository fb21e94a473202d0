// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/launch_paths.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tracesmith {
namespace {

/// Stacks as a tree: a node is a name below another node.
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

struct Open {
  int64_t end_ns;
  uint32_t node;
};

}  // namespace

std::vector<LaunchPath> launchPaths(const Trace& trace, const DeviceOps& ops) {
  std::unordered_map<ThreadId, std::vector<uint32_t>> ranges, launches;
  const RangeTable& r = trace.range;
  for (uint32_t i = 0; i < r.size(); ++i) {
    if (r.kind[i] == RangeKind::kRange && r.stream_id[i] == StreamId::kNone) {
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
    // Of those that begin together the longest is the outermost.
    std::sort(around.begin(), around.end(), [&](uint32_t a, uint32_t b) {
      if (r.start_ns[a] != r.start_ns[b]) return r.start_ns[a] < r.start_ns[b];
      return r.duration_ns[a] > r.duration_ns[b];
    });
    const auto launched = [&](uint32_t op) { return ops.call_begin_ns[ops.ops[op].launch]; };
    std::sort(mine.begin(), mine.end(),
              [&](uint32_t a, uint32_t b) { return launched(a) < launched(b); });
    std::vector<Open> open;
    size_t next = 0;
    const auto close = [&](int64_t time) {
      while (!open.empty() && open.back().end_ns <= time) open.pop_back();
    };
    for (const uint32_t op : mine) {
      const int64_t at = launched(op);
      for (; next < around.size() && r.start_ns[around[next]] <= at; ++next) {
        close(r.start_ns[around[next]]);
        const uint32_t parent = open.empty() ? 0 : open.back().node;
        open.push_back({endOf(r.start_ns[around[next]], r.duration_ns[around[next]]),
                        stacks.child(parent, r.name[around[next]])});
      }
      close(at);
      LaunchPath& path = by_node[open.empty() ? 0 : open.back().node];
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
