// SPDX-License-Identifier: Apache-2.0
// Recognises events of the same shape. Trace writers emit the same few events over and over: member
// names, order and spaces are the same, and only some values differ. A shape is such an event
// without those values. Once a shape is known, further events are recognised by comparing bytes,
// which is several times faster than parsing. To restore an event, a trace only has to keep its
// shape and values.
//
// Shapes form a prefix tree whose edges are the texts between values.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/import/json/json_token.hpp"

namespace tracesmith::import {

/// Members of events and of their "args" that the importer uses.
enum class EventField : uint8_t {
  kTime,
  kDuration,
  kName,
  kCategory,  ///< only if not part of the shape: long, or with escapes
  kProcess,
  kThread,
  kId,
  kBindId,
  kFlowIn,
  kFlowOut,
  kArgCorrelation,
  kArgDevice,
  kArgContext,
  kArgStream,
  kArgBytes,
  kArgFromDevice,
  kArgToDevice,
  kArgGrid,
  kArgBlock,
  kArgSharedMemory,
  kArgRegisters,
  kArgName,
  kArgAddress,
  kArgDeviceType,
  kArgDeviceId,
  kArgWaitStream,
  kArgRecordCorrelation,
  kArgTaskType,
  kArgLevel,
  kArgMode,
  kArgMemory,
  kArgLabels,
  kArgExternalId,
  kArgRecordFunction,
  kArgSequenceNumber,
  kArgForwardThread,
  kArgCollective,  ///< this and the following: of a collective (chrome_collectives.hpp)
  kArgDataType,
  kArgInElements,
  kArgOutElements,
  kArgGroupName,
  kArgGroupDescription,
  kArgGroupRanks,
  kArgGroupSize,
  kArgRank,
  kArgCollectiveSequence,
  kNone,  ///< any other
};
constexpr size_t kEventFields = static_cast<size_t>(EventField::kNone);

/// A value of a shape that differs from event to event.
struct ShapeValue {
  std::string key;  ///< "ts", "args.grid"
  EventField field = EventField::kNone;
  JsonType type{};
  bool text = false;
  bool argument = false;
};

struct EventShape {
  static constexpr uint32_t kUnknown = ~uint32_t{0};
  uint32_t id = kUnknown;  ///< counts from 0; kUnknown: a shape that is not stored
  char phase = 0;          ///< from "ph"; 0 if that is not one character
  std::string category;    ///< from "cat"
  std::vector<ShapeValue> values;
  std::vector<std::string> between;           ///< the bytes before, between and after the values
  std::array<int16_t, kEventFields> place{};  ///< per field: index in `values`; -1: missing
};

/// One event. Its views are valid until more bytes are read.
struct ChromeEvent {
  const EventShape* shape = nullptr;
  std::vector<JsonToken> values;  ///< one per value of the shape
  std::string_view raw;           ///< the whole event

  char phase() const { return shape->phase; }
  std::string_view category() const { return shape->category; }
  /// Empty if the event has no such field.
  const JsonToken& operator[](EventField field) const {
    const int16_t at = shape->place[static_cast<size_t>(field)];
    return at < 0 ? kMissing : values[static_cast<size_t>(at)];
  }

 private:
  static const JsonToken kMissing;
};

class EventShapes {
 public:
  /// Parses the event that starts at `at` (its brace) and must end before `end`. kJsonPadding zeros
  /// must follow `end`. On return `at` is after the event, or at the fault.
  JsonFault parse(const char*& at, const char* end, ChromeEvent& event,
                  JsonMending* mended = nullptr);

  size_t size() const { return shapes_.size(); }
  const EventShape& shape(size_t id) const { return shapes_[id]; }

 private:
  struct Edge {
    std::string text;
    int32_t to = 0;  ///< node index; below 0: the event ends here, and its shape is -1 - to
    bool before_arguments = false;  ///< `text` contains "args", whose value is not an object
  };
  /// State after a value has been read: possible edges, by the type of the value.
  using Node = std::array<std::vector<Edge>, kJsonTypes>;

  class Learner;
  JsonFault learn(const char*& at, const char* end, ChromeEvent& event, JsonMending* mended);
  static bool fits(const Edge& edge, const char* value, const char* end);
  const EventShape* keep(const EventShape& shape);

  std::vector<Edge> first_;
  std::deque<Node> nodes_;
  std::deque<EventShape> shapes_;
  size_t edges_ = 0;
  EventShape unknown_;  // shape of the last event, if that shape is not stored
};

}  // namespace tracesmith::import
