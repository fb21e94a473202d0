// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/version.hpp"
#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/studio/answers/answers.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"

namespace tracesmith::studio {
namespace {

constexpr size_t kMostNameBytes = 16 << 10;

std::string_view typeOf(const TimelineRow& row) {
  if (row.on_device) return "stream";
  const bool ranges = !row.lane.items().empty() && row.lane.items()[0].table == TableId::kRange;
  return ranges ? "ranges" : "calls";
}

/// Below a heading of their own; their numbers follow those of the rows. Returns the next number.
size_t writeCounterLanes(const StudioTrace& of, JsonWriter& out) {
  const std::vector<CounterSeries>& counters = of.counters();
  if (counters.empty()) return of.rows().rows.size();
  const size_t group = of.rows().groups;
  size_t id = of.rows().rows.size();
  out.beginObject().field("id", id++).field("label", "Counters").field("group", group);
  out.field("heading", true).endObject();
  for (size_t i = 0; i < counters.size(); ++i) {
    out.beginObject().field("id", id++).field("label", counters[i].label).field("group", group);
    out.field("heading", false).field("first", true).field("type", "counter");
    out.field("counter", i).field("unit", counters[i].unit).endObject();
  }
  return id;
}

/// Of each thread with calls, if the trace has stacks. They are shown after the thread's last lane.
void writeStackLanes(const StudioTrace& of, size_t id, JsonWriter& out) {
  if (of.trace().call_path.empty()) return;
  const std::vector<TimelineRow>& rows = of.rows().rows;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!hasCalls(rows[i])) continue;
    size_t last = i;
    while (last + 1 < rows.size() && !rows[last + 1].heading && !rows[last + 1].first_lane) ++last;
    std::string_view label = rows[i].label;
    if (label.ends_with("calls")) label.remove_suffix(5);
    out.beginObject().field("id", id++).field("label", std::string(label) + "stacks");
    out.field("group", rows[i].group).field("heading", false).field("first", true);
    out.field("type", "stacks").field("of", i).field("after", last).endObject();
  }
}

void writeLanes(const StudioTrace& of, JsonWriter& out) {
  out.key("lanes").beginArray();
  for (size_t i = 0; i < of.rows().rows.size(); ++i) {
    const TimelineRow& row = of.rows().rows[i];
    out.beginObject().field("id", i).field("label", row.label).field("group", row.group);
    out.field("heading", row.heading);
    if (!row.heading) {
      out.field("first", row.first_lane).field("type", typeOf(row));
      out.field("items", row.lane.items().size());
    }
    out.endObject();
  }
  writeStackLanes(of, writeCounterLanes(of, out), out);
  out.endArray();
}

}  // namespace

std::string traceAnswer(const StudioTrace& of, std::string_view before) {
  return jsonAnswer([&](JsonWriter& out) {
    const TimelineRows& rows = of.rows();
    out.beginObject().field("name", of.source().path).field("before", before);
    out.field("version", getVersionString());
    out.field("generation", of.source().generation).field("complete", of.source().complete);
    out.field("duration_ns", lengthOf(rows.zero_ns, rows.end_ns)).field("events", rows.items);
    out.key("kinds").beginArray();
    for (size_t kind = 0; kind < kItemKinds; ++kind) {
      out.value(toString(static_cast<ItemKind>(kind)));
    }
    out.endArray().key("device_kinds").beginArray();
    for (const ItemKind kind : rows.kinds) out.value(static_cast<int>(kind));
    out.endArray();
    writeLanes(of, out);
    out.endObject();
  });
}

std::string namesAnswer(const StudioTrace& of, std::span<const NameId> ids) {
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject().key("names").beginObject();
    for (const NameId id : ids) {
      out.key(std::to_string(id)).beginObject();
      out.field("short", of.names().label(id).substr(0, kMostNameBytes));
      out.field("full", of.names().full(id).substr(0, kMostNameBytes));
      out.endObject();
    }
    out.endObject().endObject();
  });
}

}  // namespace tracesmith::studio
