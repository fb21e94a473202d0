// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/flame/speedscope.hpp"

#include <algorithm>

#include "tracesmith/base/version.hpp"
#include "tracesmith/export/flame/frame_lanes.hpp"
#include "tracesmith/export/output/json_writer.hpp"

namespace tracesmith {
namespace {

/// Writes open and close events of nested slices in time order.
class EventList {
 public:
  EventList(JsonWriter& json, int64_t begin_ns) : json_(json), begin_ns_(begin_ns) {}

  void slice(const FrameSlice& slice) {
    closeUntil(slice.start_ns);
    event("O", slice.frame, slice.start_ns);
    open_.push_back(slice);
  }
  void end() { closeUntil(INT64_MAX); }

 private:
  void closeUntil(int64_t time_ns) {
    while (!open_.empty() && open_.back().end_ns <= time_ns) {
      event("C", open_.back().frame, open_.back().end_ns);
      open_.pop_back();
    }
  }
  void event(const char* type, uint32_t frame, int64_t time_ns) {
    json_.beginObject().field("type", type).field("frame", frame);
    json_.field("at", lengthOf(begin_ns_, time_ns)).endObject();
  }

  JsonWriter& json_;
  int64_t begin_ns_;
  std::vector<FrameSlice> open_;
};

}  // namespace

void writeSpeedscope(const Trace& trace, const Selection& selection, Output& out) {
  JsonWriter json(out);
  FrameNames names;
  const int64_t begin_ns = timeRange(trace).begin_ns;
  json.beginObject();
  json.field("$schema", "https://www.speedscope.app/file-format-schema.json");
  json.field("exporter", std::string("tracesmith ") + getVersionString());
  json.field("name", trace.metadataValue("application"));
  json.key("profiles").beginArray();
  forEachFrameLane(trace, selection, names, [&](const FrameLane& lane) {
    std::string name = lane.owner + ", " + lane.track;
    if (lane.lane > 0) name += ", lane " + std::to_string(lane.lane + 1);
    int64_t end_ns = lane.slices.front().end_ns;
    for (const FrameSlice& slice : lane.slices) end_ns = std::max(end_ns, slice.end_ns);
    json.beginObject().field("type", "evented").field("name", name).field("unit", "nanoseconds");
    json.field("startValue", lengthOf(begin_ns, lane.slices.front().start_ns));
    json.field("endValue", lengthOf(begin_ns, end_ns)).key("events").beginArray();
    EventList events(json, begin_ns);
    for (const FrameSlice& slice : lane.slices) {
      events.slice(slice);
      if (out.failed()) break;
    }
    events.end();
    json.endArray().endObject();
  });
  json.endArray();
  // Only now are all names known. The order of members has no meaning in JSON.
  json.key("shared").beginObject().key("frames").beginArray();
  for (uint32_t i = 0; i < names.size(); ++i) {
    json.beginObject().field("name", names.at(i)).endObject();
  }
  json.endArray().endObject().endObject();
  out.put('\n');
}

}  // namespace tracesmith
