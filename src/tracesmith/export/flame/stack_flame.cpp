// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/flame/stack_flame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "tracesmith/analysis/operators/operator_tree.hpp"
#include "tracesmith/analysis/timing/call_path_costs.hpp"
#include "tracesmith/base/version.hpp"
#include "tracesmith/export/flame/frame_lanes.hpp"
#include "tracesmith/export/flame/svg_flame.hpp"
#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/export/select/event_filter.hpp"

namespace tracesmith {
namespace {

/// A stack, outermost frame first, with its weight.
struct WeightedStack {
  std::vector<uint32_t> frames;  // numbers in FrameNames
  uint64_t weight = 0;
};

class Collection {
 public:
  Collection(const Trace& trace, const Selection& selection, FrameNames& names)
      : trace_(trace), selection_(selection), names_(names), symbols_(trace) {}

  std::vector<WeightedStack> of(StackWeight weight) {
    switch (weight) {
      case StackWeight::kDeviceTime:
      case StackWeight::kLaunches:
        counts_ = weight == StackWeight::kLaunches;
        if (trace_.call_path.empty()) return byRange();
        addTimes(trace_.kernel);
        addTimes(trace_.copy);
        addTimes(trace_.fill);
        break;
      case StackWeight::kHostTime:
        addTimes(trace_.host_call);
        break;
      case StackWeight::kBytes:
        addAllocations();
        break;
      case StackWeight::kCpuTime:
        addSamples();
        break;
      case StackWeight::kWaitTime:
        addWaits();
        break;
    }
    // Call sites in the same functions are merged into one line.
    std::map<std::vector<uint32_t>, uint64_t> by_names;
    for (const auto& [key, sum] : sums_) {
      if (sum == 0) continue;
      const auto& [path, thread, leaf] = key;
      std::vector<uint32_t> frames = framesOfPath(path);
      if (thread != kNoFrame) frames.insert(frames.begin(), thread);
      if (leaf != kNoFrame) frames.push_back(leaf);
      by_names[std::move(frames)] += sum;
    }
    return stacksOf(by_names);
  }

 private:
  static std::vector<WeightedStack> stacksOf(
      const std::map<std::vector<uint32_t>, uint64_t>& by_names) {
    std::vector<WeightedStack> stacks;
    for (const auto& [frames, sum] : by_names) stacks.push_back({frames, sum});
    return stacks;
  }
  /// Device time by the host ranges around each launch.
  std::vector<WeightedStack> byRange() {
    const DeviceOps ops = DeviceOps::of(trace_);
    const OperatorTree tree = OperatorTree::of(trace_, ops, OperatorRanges::kStacks);
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> sums;  // by node and name
    for (size_t i = 0; i < ops.ops.size(); ++i) {
      const DeviceOp& op = ops.ops[i];
      const int64_t length = lengthOf(op.begin_ns, op.end_ns);
      if (!isDeviceWork(op) || length == 0 || !selection_.span(op.begin_ns, length) ||
          !selection_.stream(op.stream)) {
        continue;
      }
      sums[{tree.node_of_op[i], names_.of(eventName(trace_, op.table, op.row))}] +=
          weightOf(length);
    }
    std::map<std::vector<uint32_t>, uint64_t> by_names;
    for (const auto& [key, sum] : sums) {
      std::vector<uint32_t> frames = {key.second};
      for (uint32_t at = key.first; at != 0; at = tree.nodes[at].parent) {
        frames.push_back(names_.of(tree.names[tree.nodes[at].name]));
      }
      if (key.first == 0) frames.push_back(names_.of("[outside of ranges]"));
      std::reverse(frames.begin(), frames.end());
      by_names[std::move(frames)] += sum;
    }
    return stacksOf(by_names);
  }
  template <class Table>
  void addTimes(const Table& table) {
    for (size_t i = 0; i < table.size(); ++i) {
      if (!selection_.span(table.start_ns[i], table.duration_ns[i]) ||
          !selection_.stream(table.stream_id[i]) || table.duration_ns[i] < 0) {
        continue;
      }
      add(table.call_path_id[i], eventName(trace_, Table::kId, static_cast<uint32_t>(i)),
          weightOf(table.duration_ns[i]));
    }
  }
  void addAllocations() {
    const MemoryEventTable& table = trace_.memory_event;
    for (size_t i = 0; i < table.size(); ++i) {
      if (table.kind[i] != MemoryKind::kAlloc || !selection_.instant(table.time_ns[i])) continue;
      add(table.call_path_id[i], eventName(trace_, MemoryEventTable::kId, static_cast<uint32_t>(i)),
          table.bytes[i]);
    }
  }
  void addSamples() {
    const CpuSampleTable& table = trace_.cpu_sample;
    for (size_t i = 0; i < table.size(); ++i) {
      if (!selection_.instant(table.time_ns[i])) continue;
      sums_[{table.call_path_id[i], names_.of(threadName(table.thread_id[i])), kNoFrame}] +=
          table.weight_ns[i];
    }
  }
  void addWaits() {
    const ThreadStateTable& table = trace_.thread_state;
    for (size_t i = 0; i < table.size(); ++i) {
      const std::string_view why = whyNotRunning(table.state[i]);
      if (why.empty() || !selection_.span(table.start_ns[i], table.duration_ns[i])) continue;
      sums_[{table.call_path_id[i], names_.of(threadName(table.thread_id[i])), names_.of(why)}] +=
          weightOf(selectedNs(table.start_ns[i], table.duration_ns[i]));
    }
  }
  /// What lies in the selected time.
  int64_t selectedNs(int64_t start_ns, int64_t duration_ns) const {
    const int64_t end_ns = std::min(endOf(start_ns, duration_ns), selection_.toNs());
    return std::max<int64_t>(end_ns - std::max(start_ns, selection_.fromNs()), 0);
  }
  /// "": it ran, or nothing is known.
  static std::string_view whyNotRunning(RunState state) {
    switch (state) {
      case RunState::kRunnable:
        return "[without a processor]";
      case RunState::kSleeping:
        return "[sleeping]";
      case RunState::kDiskWait:
        return "[waiting for a disk or a page]";
      case RunState::kStopped:
        return "[stopped]";
      case RunState::kWaiting:
        return "[waiting]";
      default:
        return {};
    }
  }
  std::string_view threadName(ThreadId id) const {
    const bool is_known = id != ThreadId::kNone && indexOf(id) < trace_.thread.size();
    return is_known ? trace_.text(trace_.thread.name[indexOf(id)]) : std::string_view();
  }
  uint64_t weightOf(int64_t duration_ns) const {
    return counts_ ? 1 : static_cast<uint64_t>(duration_ns);
  }
  void add(CallPathId path, std::string_view leaf, uint64_t weight) {
    sums_[{path, kNoFrame, names_.of(leaf)}] += weight;
  }
  std::vector<uint32_t> framesOfPath(CallPathId path) {
    std::vector<uint32_t> out;
    for (const FrameId frame : framesOf(trace_, path)) {
      symbols_.functions(frame, functions_);
      for (size_t i = functions_.size(); i-- > 0;) {
        out.push_back(names_.of(symbols_.label(frame, functions_[i])));
      }
    }
    if (out.empty()) out.push_back(names_.of("[no stack]"));
    return out;
  }

  const Trace& trace_;
  const Selection& selection_;
  FrameNames& names_;
  const FrameSymbols symbols_;
  std::vector<FrameFunction> functions_;  // of one frame
  static constexpr uint32_t kNoFrame = UINT32_MAX;
  /// By stack, and the frames around and within it.
  std::map<std::tuple<CallPathId, uint32_t, uint32_t>, uint64_t> sums_;
  bool counts_ = false;
};

std::string foldedName(const std::string& name) {
  std::string out = name.empty() ? "?" : name;
  for (char& c : out) {
    if (c == ';') c = ',';
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return out;
}

std::string_view titleOf(const Trace& trace, StackWeight weight) {
  switch (weight) {
    case StackWeight::kDeviceTime:
      return trace.call_path.empty() ? "device time by host range" : "device time by call stack";
    case StackWeight::kHostTime:
      return "host time by call stack";
    case StackWeight::kLaunches:
      return trace.call_path.empty() ? "launches by host range" : "launches by call stack";
    case StackWeight::kCpuTime:
      return "processor time by call stack";
    case StackWeight::kWaitTime:
      return "time without running by call stack";
    default:
      return "allocated bytes by call stack";
  }
}

}  // namespace

void writeFoldedByStack(const Trace& trace, const Selection& selection, StackWeight weight,
                        Output& out) {
  FrameNames names;
  for (const WeightedStack& stack : Collection(trace, selection, names).of(weight)) {
    for (const uint32_t& frame : stack.frames) {
      if (&frame != stack.frames.data()) out.put(';');
      out.write(foldedName(names.at(frame)));
    }
    out.write(fmt::format(" {}\n", stack.weight));
  }
}

void writeSpeedscopeByStack(const Trace& trace, const Selection& selection, StackWeight weight,
                            Output& out) {
  FrameNames names;
  const std::vector<WeightedStack> stacks = Collection(trace, selection, names).of(weight);
  uint64_t sum = 0;
  for (const WeightedStack& stack : stacks) sum += stack.weight;
  JsonWriter json(out);
  json.beginObject();
  json.field("$schema", "https://www.speedscope.app/file-format-schema.json");
  json.field("exporter", std::string("tracesmith ") + getVersionString());
  json.field("name", trace.metadataValue("application"));
  json.key("profiles").beginArray().beginObject();
  json.field("type", "sampled").field("name", titleOf(trace, weight));
  json.field("unit", weight == StackWeight::kBytes      ? "bytes"
                     : weight == StackWeight::kLaunches ? "none"
                                                        : "nanoseconds");
  json.field("startValue", 0).field("endValue", sum);
  json.key("samples").beginArray();
  for (const WeightedStack& stack : stacks) {
    json.beginArray();
    for (const uint32_t frame : stack.frames) json.value(frame);
    json.endArray();
  }
  json.endArray().key("weights").beginArray();
  for (const WeightedStack& stack : stacks) json.value(stack.weight);
  json.endArray().endObject().endArray();
  json.key("shared").beginObject().key("frames").beginArray();
  for (uint32_t i = 0; i < names.size(); ++i) {
    json.beginObject().field("name", names.at(i)).endObject();
  }
  json.endArray().endObject().endObject();
  out.put('\n');
}

FlameTree flameTreeByStack(const Trace& trace, const Selection& selection, StackWeight weight,
                           const FlameView& view) {
  FrameNames names;
  FlameTree tree;
  std::vector<std::string_view> frames;
  for (const WeightedStack& stack : Collection(trace, selection, names).of(weight)) {
    frames.clear();
    for (const uint32_t frame : stack.frames) frames.push_back(names.at(frame));
    if (!view.callers_of.empty()) {
      // The innermost one, so that recursion counts once.
      const auto at = std::find(frames.rbegin(), frames.rend(), view.callers_of);
      if (at == frames.rend()) continue;
      frames.erase(at.base(), frames.end());
    }
    if (view.reversed || !view.callers_of.empty()) std::reverse(frames.begin(), frames.end());
    tree.add(frames, stack.weight);
  }
  return tree;
}

void writeSvgByStack(const Trace& trace, const Selection& selection, StackWeight weight,
                     Output& out) {
  const FlameTree tree = flameTreeByStack(trace, selection, weight);
  std::string title(titleOf(trace, weight));
  if (tree.nodes().front().weight == 0) title += ": nothing recorded";
  writeFlameSvg(tree, title, weight == StackWeight::kBytes, out);
}

}  // namespace tracesmith
