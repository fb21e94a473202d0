// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/chrome/chrome_sources.hpp"

#include <set>
#include <string>

#include "tracesmith/import/chrome/chrome_times.hpp"

namespace tracesmith::import {
namespace {

bool has(const EventShape& shape, EventField field) {
  return shape.place[static_cast<size_t>(field)] >= 0;
}

TableId tableOf(const EventShape& shape) {
  switch (shape.phase) {
    case 'X':
    case 'B':
      if (has(shape, EventField::kArgLevel) && has(shape, EventField::kArgMode)) {
        return TableId::kHostCall;  // a CANN call
      }
      switch (kindOf(shape.category)) {
        case ChromeKind::kKernel:
          return TableId::kKernel;
        case ChromeKind::kCopy:
          return TableId::kCopy;
        case ChromeKind::kFill:
          return TableId::kFill;
        case ChromeKind::kSync:
          return TableId::kSync;
        case ChromeKind::kHostCall:
          return TableId::kHostCall;
        case ChromeKind::kDeviceRange:
        case ChromeKind::kHostRange:
          return TableId::kRange;
      }
      return SourceRows::kNone;
    case 'i':
    case 'I':
      if (has(shape, EventField::kArgAddress) && has(shape, EventField::kArgBytes) &&
          shape.category == "cpu_instant_event") {
        return TableId::kMemoryEvent;
      }
      return TableId::kRange;
    case 'R':
    case 'E':
      return TableId::kRange;
    case 's':
    case 't':
    case 'f':
      return has(shape, EventField::kId) ? TableId::kFlowEvent : SourceRows::kNone;
    default:
      return SourceRows::kNone;
  }
}

TableId tableByValue(const ChromeEvent& event) {
  const EventShape& shape = *event.shape;
  if (has(shape, EventField::kArgTaskType)) {
    return ascendTaskTable(event[EventField::kArgTaskType].raw);
  }
  return mcTracerTable(event[EventField::kName].raw, shape.category,
                       has(shape, EventField::kArgGrid) && has(shape, EventField::kArgMemory));
}

}  // namespace

/// Whether the table of such an event depends on its values.
bool ChromeSources::isByValue(const EventShape& shape) const {
  if (shape.phase != 'X' && shape.phase != 'B') return false;
  return has(shape, EventField::kArgTaskType) || dialect_ == ChromeDialect::kMcTracer;
}

/// The gap for the column of `table` that holds a value; keptAs() if there is none.
SourceGap ChromeSources::gapOf(const ShapeValue& value, TableId table) const {
  const bool integer = value.type == JsonType::kInteger;
  const bool decimal = value.type == JsonType::kDecimal;
  const bool spans = table != TableId::kMemoryEvent && table != TableId::kFlowEvent;
  const bool nanos = unit_ns_ == 1;
  switch (value.field) {
    case EventField::kTime:
      if (integer && nanos) return SourceGap::kTimeNanos;
      if (integer) return SourceGap::kTimeMicros;
      if (decimal && !nanos) return SourceGap::kTimeDecimal;
      break;
    case EventField::kDuration:
      if (integer && spans && nanos) return SourceGap::kDurationNanos;
      if (integer && spans) return SourceGap::kDurationMicros;
      if (decimal && spans && !nanos) return SourceGap::kDurationDecimal;
      break;
    case EventField::kName:
      if (value.type == JsonType::kText) return SourceGap::kName;
      break;
    case EventField::kArgCorrelation:
      if (integer && table != TableId::kRange && spans) return SourceGap::kCorrelation;
      break;
    case EventField::kArgBytes:
      if (integer && (table == TableId::kCopy || table == TableId::kFill)) return SourceGap::kBytes;
      break;
    case EventField::kId:
      if (integer && table == TableId::kFlowEvent) return SourceGap::kFlowId;
      break;
    default:
      break;
  }
  return keptAs(value.type);
}

uint32_t ChromeSources::sourceShape(const EventShape& shape, const std::vector<SourceGap>& gaps) {
  SourceShape source;
  source.between = shape.between;
  SourceRows::Shape known;
  std::set<std::string> seen;
  for (size_t i = 0; i < gaps.size(); ++i) {
    std::string key = shape.values[i].key;
    // A key may occur twice; each occurrence gets its own leaf.
    for (int times = 2; isKept(gaps[i]) && !seen.insert(leafName(gaps[i], key)).second; ++times) {
      key = shape.values[i].key + "#" + std::to_string(times);
    }
    if (isKept(gaps[i])) known.leaves.push_back(delta_.strings.intern(leafName(gaps[i], key)));
    source.gaps.push_back({gaps[i], std::move(key)});
  }
  known.text = delta_.strings.intern(source.text());
  rows_.shapes.push_back(std::move(known));
  return static_cast<uint32_t>(rows_.shapes.size() - 1);
}

ChromePlan& ChromeSources::plan(const ChromeEvent& event) {
  const EventShape& shape = *event.shape;
  if (shape.id == EventShape::kUnknown) {
    unknown_ = {.known = true, .by_value = isByValue(shape)};
    make(unknown_, shape, unknown_.by_value ? tableByValue(event) : tableOf(shape));
    return unknown_;
  }
  if (plans_.size() <= shape.id) plans_.resize(shape.id + 1);
  ChromePlan& p = plans_[shape.id];
  if (!p.known) {
    p = {.known = true, .by_value = isByValue(shape)};
    make(p, shape, tableOf(shape));
  }
  if (!p.by_value) return p;
  // Other events of its shape may go to another table.
  const TableId table = tableByValue(event);
  const auto [it, fresh] = plans_by_value_.try_emplace({shape.id, table});
  if (fresh) make(it->second, shape, table);
  return it->second;
}

void ChromeSources::make(ChromePlan& p, const EventShape& shape, TableId table) {
  p.table = table;
  p.kind = kindOf(shape.category);
  p.category = delta_.strings.intern(shape.category);
  if (shape.id == EventShape::kUnknown) return;
  // If several values have the same key, only the last one is in the row.
  for (size_t i = 0; i < shape.values.size(); ++i) {
    const ShapeValue& v = shape.values[i];
    const bool in_row = table != SourceRows::kNone && v.field != EventField::kNone &&
                        shape.place[static_cast<size_t>(v.field)] == static_cast<int16_t>(i);
    p.gaps.push_back(in_row ? gapOf(v, table) : keptAs(v.type));
  }
}

/// Whether the row's columns hold all values that the plan assigns to them.
bool ChromeSources::holds(const ChromeEvent& event, const ChromePlan& plan) const {
  const EventShape& shape = *event.shape;
  if (shape.id == EventShape::kUnknown) return false;
  for (const EventField field : {EventField::kDuration, EventField::kArgCorrelation,
                                 EventField::kArgBytes, EventField::kId}) {
    const int16_t at = shape.place[static_cast<size_t>(field)];
    if (at < 0 || isKept(plan.gaps[static_cast<size_t>(at)])) continue;
    const JsonToken& token = event.values[static_cast<size_t>(at)];
    if (token.value < 0) return false;
    if (field == EventField::kDuration && !isLength(token, unit_ns_)) return false;
  }
  return true;
}

/// The text of an event whose shape is not kept. It is assembled from the tokens, because repairs
/// (NaN) are not made in the document's text.
StringId ChromeSources::whole(const ChromeEvent& event) {
  room_.clear();
  for (size_t i = 0; i < event.shape->between.size(); ++i) {
    room_ += event.shape->between[i];
    if (i >= event.values.size()) continue;
    const JsonToken& token = event.values[i];
    if (token.text) room_ += '"';
    room_ += token.raw;
    if (token.text) room_ += '"';
  }
  return delta_.strings.intern(room_);
}

uint32_t ChromeSources::wholeShape() {
  if (whole_ == 0) {
    EventShape shape;
    shape.between = {"", ""};
    shape.values.push_back({});
    whole_ = sourceShape(shape, {SourceGap::kJson});
  }
  return whole_;
}

void ChromeSources::keep(const ChromeEvent& event, ChromePlan& plan, TableId table,
                         bool second_end) {
  const EventShape& shape = *event.shape;
  SourceTable& rows = rows_.of(table);
  const size_t before = rows.value.size();
  rows.values.push_back(static_cast<uint32_t>(before));
  if (shape.id == EventShape::kUnknown) {
    rows.shape.push_back(wholeShape());
    rows.value.push_back(static_cast<int64_t>(whole(event)));
    ++values_;
    return;
  }
  const bool in_row = table != SourceRows::kNone && !second_end && holds(event, plan);
  uint32_t& source = in_row ? plan.beside_row : plan.alone;
  if (source == 0) {
    std::vector<SourceGap> gaps = plan.gaps;
    for (size_t i = 0; i < gaps.size() && !in_row; ++i) gaps[i] = keptAs(shape.values[i].type);
    source = sourceShape(shape, gaps);
  }
  rows.shape.push_back(source);
  for (size_t i = 0; i < shape.values.size(); ++i) {
    if (in_row && !isKept(plan.gaps[i])) continue;
    const JsonToken& token = event.values[i];
    switch (shape.values[i].type) {
      case JsonType::kInteger:
      case JsonType::kDecimal:
        rows.value.push_back(token.value);
        break;
      case JsonType::kText:
        rows.value.push_back(static_cast<int64_t>(delta_.strings.intern(textOf(token, room_))));
        break;
      case JsonType::kOther: {
        std::string_view raw = token.raw;
        if (token.text) raw = {raw.data() - 1, raw.size() + 2};  // includes the quotes
        rows.value.push_back(static_cast<int64_t>(delta_.strings.intern(raw)));
        break;
      }
    }
  }
  values_ += rows.value.size() - before;
}

void ChromeSources::keepNone(TableId table) {
  SourceTable& rows = rows_.of(table);
  rows.values.push_back(static_cast<uint32_t>(rows.value.size()));
  rows.shape.push_back(0);
}

void ChromeSources::clearRows() {
  rows_.clearRows();
  values_ = 0;
}

}  // namespace tracesmith::import
