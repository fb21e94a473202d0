// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "tracesmith/export/flame/stack_flame.hpp"
#include "tracesmith/model/ranks/ranks.hpp"
#include "tracesmith/studio/answers/answers.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"

namespace tracesmith::studio {
namespace {

constexpr size_t kMostFrames = 20'000;
/// Frames with less of the whole are left out; they would be narrower than a pixel.
constexpr uint64_t kLeastPart = 10'000;

Result<StackWeight> weightOf(const std::string& name) {
  constexpr std::pair<std::string_view, StackWeight> kWeights[] = {
      {"device", StackWeight::kDeviceTime}, {"host", StackWeight::kHostTime},
      {"launches", StackWeight::kLaunches}, {"bytes", StackWeight::kBytes},
      {"cpu", StackWeight::kCpuTime},       {"wait", StackWeight::kWaitTime}};
  for (const auto& [text, weight] : kWeights) {
    if (text == name) return weight;
  }
  return fail(ErrorCode::kInvalidArgument, "is no weight of stacks", name);
}

}  // namespace

Result<std::string> stacksAnswer(const StudioTrace& of, const QueryValues& values) {
  TS_CHECK_OK(haveOneClock(of.trace()));
  TS_TRY(const StackWeight weight, weightOf(values.text("by").value_or("device")));
  const FlameView view{.reversed = values.text("reversed") == "1",
                       .callers_of = values.text("callers_of").value_or("")};
  const FlameTree tree =
      flameTreeByStack(of.trace(), Selection(of.trace(), {}, {}, {}), weight, view);
  const std::vector<std::vector<uint32_t>> callees = tree.callees();
  const uint64_t least = tree.nodes().front().weight / kLeastPart;
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject();
    out.field("unit", weight == StackWeight::kBytes      ? "bytes"
                      : weight == StackWeight::kLaunches ? "count"
                                                         : "ns");
    out.field("from_ranges", of.trace().call_path.empty());
    // [parent's place in this list, weight, name], the callers before their callees
    out.key("frames").beginArray();
    std::vector<std::pair<uint32_t, int64_t>> next = {{0, -1}};
    for (size_t i = 0; i < next.size(); ++i) {
      const auto [node, parent] = next[i];
      const FlameTree::Node& frame = tree.nodes()[node];
      out.beginArray().value(parent).value(frame.weight).value(frame.name).endArray();
      for (const uint32_t callee : callees[node]) {
        if (next.size() == kMostFrames || tree.nodes()[callee].weight < least) break;
        next.emplace_back(callee, static_cast<int64_t>(i));
      }
    }
    out.endArray().field("all_frames", tree.nodes().size()).endObject();
  });
}

}  // namespace tracesmith::studio
