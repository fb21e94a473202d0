// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/flame/folded_stacks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "tracesmith/export/flame/frame_lanes.hpp"
#include "tracesmith/model/frame_symbols.hpp"

namespace tracesmith {
namespace {

/// A tree of all stacks, so that a stack that occurs a million times is stored once.
class StackTree {
 public:
  static constexpr uint32_t kRoot = 0;

  uint32_t child(uint32_t parent, uint32_t frame) {
    const uint64_t key = uint64_t{parent} << 32 | frame;
    const auto [it, fresh] = children_.try_emplace(key, static_cast<uint32_t>(nodes_.size()));
    if (fresh) nodes_.push_back({parent, frame, 0});
    return it->second;
  }
  void add(uint32_t node, int64_t ns) { nodes_[node].self_ns += static_cast<uint64_t>(ns); }

  void write(const FrameNames& names, Output& out) const {
    std::vector<uint32_t> path;
    for (uint32_t i = 1; i < nodes_.size(); ++i) {
      if (nodes_[i].self_ns == 0) continue;
      path.clear();
      for (uint32_t n = i; n != kRoot; n = nodes_[n].parent) path.push_back(nodes_[n].frame);
      for (size_t p = path.size(); p-- > 0;) {
        writeFrame(names.at(path[p]), out);
        out.put(p == 0 ? ' ' : ';');
      }
      out.write(fmt::format_int(nodes_[i].self_ns).c_str());
      out.put('\n');
    }
  }

 private:
  struct Node {
    uint32_t parent;
    uint32_t frame;
    uint64_t self_ns;
  };

  static void writeFrame(const std::string& name, Output& out) {
    if (name.empty()) out.put('?');
    for (const char c : name) {
      const bool control = static_cast<unsigned char>(c) < 0x20;
      out.put(c == ';' ? ',' : control ? ' ' : c);
    }
  }

  std::vector<Node> nodes_ = {{}};
  std::unordered_map<uint64_t, uint32_t> children_;
};

class Folder {
 public:
  explicit Folder(const Trace& trace) : trace_(trace), symbols_(trace) {}

  void lane(const FrameLane& lane, FrameNames& names) {
    const uint32_t root =
        tree_.child(tree_.child(StackTree::kRoot, names.of(lane.owner)), names.of(lane.track));
    if (lane.device) {
      for (const FrameSlice& slice : lane.slices) {
        const uint32_t at = callPath(root, slice.call_path, names);
        tree_.add(tree_.child(at, slice.frame), lengthOf(slice.start_ns, slice.end_ns));
      }
      return;
    }
    struct Open {
      int64_t end_ns;
      uint32_t node;
      int64_t children_ns;
      int64_t length_ns;
    };
    std::vector<Open> open;
    const auto closeUntil = [&](int64_t time_ns) {
      while (!open.empty() && open.back().end_ns <= time_ns) {
        const Open top = open.back();
        open.pop_back();
        tree_.add(top.node, std::max<int64_t>(0, top.length_ns - top.children_ns));
        if (!open.empty()) open.back().children_ns += top.length_ns;
      }
    };
    for (const FrameSlice& slice : lane.slices) {
      closeUntil(slice.start_ns);
      const uint32_t parent = open.empty() ? root : open.back().node;
      open.push_back({slice.end_ns, tree_.child(parent, slice.frame), 0,
                      lengthOf(slice.start_ns, slice.end_ns)});
    }
    closeUntil(INT64_MAX);
  }
  void write(const FrameNames& names, Output& out) const { tree_.write(names, out); }

 private:
  /// Adds the frames of a host call path below `root`, outermost first.
  uint32_t callPath(uint32_t root, CallPathId id, FrameNames& names) {
    constexpr size_t kDeepest = 1024;  // a damaged trace may contain a cycle of paths
    std::vector<uint32_t> frames;
    for (auto i = static_cast<size_t>(id);
         i != 0 && i <= trace_.call_path.size() && frames.size() < kDeepest;
         i = static_cast<size_t>(trace_.call_path.parent[i - 1])) {
      const FrameId frame = trace_.call_path.frame[i - 1];
      symbols_.functions(frame, functions_);
      if (functions_.empty()) frames.push_back(names.of({}));
      for (const FrameFunction& f : functions_) {
        frames.push_back(f.function.empty() ? names.of(symbols_.place(frame))
                                            : names.of(f.function));
      }
    }
    uint32_t at = root;
    for (size_t i = frames.size(); i-- > 0;) at = tree_.child(at, frames[i]);
    return at;
  }

  const Trace& trace_;
  const FrameSymbols symbols_;
  std::vector<FrameFunction> functions_;  // of one frame
  StackTree tree_;
};

}  // namespace

void writeFoldedStacks(const Trace& trace, const Selection& selection, Output& out) {
  FrameNames names;
  Folder folder(trace);
  forEachFrameLane(trace, selection, names,
                   [&](const FrameLane& lane) { folder.lane(lane, names); });
  folder.write(names, out);
}

}  // namespace tracesmith
