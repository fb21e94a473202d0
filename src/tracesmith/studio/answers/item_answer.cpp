// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "tracesmith/analysis/timing/launch_index.hpp"
#include "tracesmith/export/text/stack_lines.hpp"
#include "tracesmith/model/frame_symbols.hpp"
#include "tracesmith/studio/answers/answers.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"
#include "tracesmith/studio/tiles/relative_time.hpp"

namespace tracesmith::studio {
namespace {

constexpr size_t kMostLinks = 20;

struct ItemPlace {
  size_t lane = 0;
  size_t item = 0;
};

/// Where a row of the trace is in the timeline.
std::optional<ItemPlace> placeOf(const StudioTrace& of, const DeviceSpan& wanted) {
  const std::vector<TimelineRow>& rows = of.rows().rows;
  for (size_t lane = 0; lane < rows.size(); ++lane) {
    const LaneItems& items = rows[lane].lane.items();
    const auto [first, last] = rows[lane].lane.within(wanted.begin_ns, endOf(wanted.begin_ns, 1));
    for (size_t i = first; i < last; ++i) {
      if (items[i].table == wanted.table && items[i].row == wanted.row) return ItemPlace{lane, i};
    }
  }
  return std::nullopt;
}

void writeLink(const StudioTrace& of, std::string_view what, const DeviceSpan& to,
               JsonWriter& out) {
  const std::optional<ItemPlace> place = placeOf(of, to);
  if (!place) return;
  out.beginObject().field("what", what).field("lane", place->lane).field("item", place->item);
  out.field("begin_ns", relativeTo(of.rows().zero_ns, to.begin_ns));
  out.field("duration_ns", lengthOf(to.begin_ns, to.end_ns));
  out.field("short", of.names().label(of.names().of(to))).endObject();
}

DeviceSpan callSpan(const Trace& trace, uint32_t row) {
  const HostCallTable& calls = trace.host_call;
  return {calls.start_ns[row], endOf(calls.start_ns[row], calls.duration_ns[row]),
          TableId::kHostCall, row};
}

/// The call that launched the item, or the item itself.
uint32_t callOf(const StudioTrace& of, const DeviceSpan& item) {
  return item.table == TableId::kHostCall ? item.row : of.launchOf(item);
}

std::string_view waitText(Dependency::Why why) {
  switch (why) {
    case Dependency::Why::kStreamOrder:
      return "follows in its stream";
    case Dependency::Why::kOverlapInStream:
      return "overlaps in its stream with";
    case Dependency::Why::kEventWait:
      return "waited for the event of";
    case Dependency::Why::kHostWaitedForIt:
      return "waited for the end of";
    case Dependency::Why::kLaunchedAfterWait:
      return "launched after the wait";
    case Dependency::Why::kSameMemory:
      return "uses the same memory as";
  }
  return "";
}

void writeLinks(const StudioTrace& of, const DeviceSpan& item, JsonWriter& out) {
  out.key("links").beginArray();
  if (item.table == TableId::kHostCall) {
    for (const DeviceSpan& work : of.launchedBy(item.row, kMostLinks)) {
      writeLink(of, "launched", work, out);
    }
  } else if (const uint32_t call = of.launchOf(item); call != LaunchIndex::kNone) {
    writeLink(of, "launched by", callSpan(of.trace(), call), out);
  }
  size_t waits = 0;
  for (const StudioTrace::Wait& wait : of.waitsOf(item)) {
    if (++waits > kMostLinks) break;
    writeLink(of, waitText(wait.why), wait.for_work, out);
  }
  out.endArray();
}

void writeStack(const StudioTrace& of, const DeviceSpan& item, JsonWriter& out) {
  out.key("stack").beginArray();
  const uint32_t call = callOf(of, item);
  if (call != LaunchIndex::kNone) {
    const FrameSymbols symbols(of.trace());
    const std::vector<std::string> lines =
        stackLines(of.trace(), symbols, of.trace().host_call.call_path_id[call]);
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) out.value(*line);
  }
  out.endArray();
}

}  // namespace

Result<std::string> itemAnswer(const StudioTrace& of, uint64_t lane, uint64_t item) {
  const std::vector<TimelineRow>& rows = of.rows().rows;
  if (lane >= rows.size() || item >= rows[lane].lane.items().size()) {
    return fail(ErrorCode::kNotFound, "there is no such item",
                "lane " + std::to_string(lane) + ", item " + std::to_string(item));
  }
  const DeviceSpan span = rows[lane].lane.items()[item];
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject().field("lane", lane).field("item", item);
    out.field("begin_ns", relativeTo(of.rows().zero_ns, span.begin_ns));
    out.field("duration_ns", lengthOf(span.begin_ns, span.end_ns));
    out.field("kind", static_cast<int>(rows[lane].lane.kind(item)));
    out.field("short", of.names().label(of.names().of(span)));
    out.key("details").beginArray();
    for (const TimelineDetail& detail : of.details(span)) {
      out.beginObject().field("label", detail.label).field("value", detail.value).endObject();
    }
    out.endArray();
    writeLinks(of, span, out);
    writeStack(of, span, out);
    out.endObject();
  });
}

}  // namespace tracesmith::studio
