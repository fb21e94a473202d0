// SPDX-License-Identifier: Apache-2.0
// The shapes of a document's events. Whoever writes traces writes the same few events over and
// over: names of members, order and spaces are the same, and only some values differ. A shape is
// such an event without those values. What has been seen once is recognised by comparing bytes,
// which is several times faster than parsing, and it is what a trace has to keep, besides the
// values, to give the events back.
//
// Shapes share their beginnings: they lie in a tree whose edges are the texts between the values.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/import/json/json_token.hpp"

namespace tracesmith::import {

/// Members of events and of their "args" that have a meaning.
enum class EventField : uint8_t {
  kTime,
  kDuration,
  kName,
  kCategory,  ///< one that is no part of the shape: long, or with escapes
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
  uint32_t id = kUnknown;  ///< counted from 0; kUnknown: a shape that is not kept
  char phase = 0;          ///< of "ph", 0 where it is not one character
  std::string category;    ///< of "cat"
  std::vector<ShapeValue> values;
  std::vector<std::string> between;  ///< the bytes before, between and behind the values
  std::array<int16_t, kEventFields>
      place{};  ///< of each field among the values; -1: it is not there
};

/// One event. Its views live until the next bytes are read.
struct ChromeEvent {
  const EventShape* shape = nullptr;
  std::vector<JsonToken> values;  ///< as many as the shape has
  std::string_view raw;           ///< the whole of it

  char phase() const { return shape->phase; }
  std::string_view category() const { return shape->category; }
  /// Empty where it is not there.
  const JsonToken& operator[](EventField field) const {
    const int16_t at = shape->place[static_cast<size_t>(field)];
    return at < 0 ? kMissing : values[static_cast<size_t>(at)];
  }

 private:
  static const JsonToken kMissing;
};

class EventShapes {
 public:
  /// Reads the event that begins at `at` (its brace) and has to end before `end`; kJsonPadding
  /// zeros are behind that. `at` is behind the event afterwards, or where the fault is.
  JsonFault parse(const char*& at, const char* end, ChromeEvent& event,
                  JsonMending* mended = nullptr);

  size_t size() const { return shapes_.size(); }
  const EventShape& shape(size_t id) const { return shapes_[id]; }

 private:
  struct Edge {
    std::string text;
    int32_t to = 0;                 ///< a node; below 0: the event ends, with shape -1 - to
    bool before_arguments = false;  ///< of "args", which is no object here
  };
  /// Where a value has just been read: what may follow, by the type of the value.
  using Node = std::array<std::vector<Edge>, kJsonTypes>;

  class Learner;
  JsonFault learn(const char*& at, const char* end, ChromeEvent& event, JsonMending* mended);
  static bool fits(const Edge& edge, const char* value, const char* end);
  const EventShape* keep(const EventShape& shape);

  std::vector<Edge> first_;
  std::deque<Node> nodes_;
  std::deque<EventShape> shapes_;
  size_t edges_ = 0;
  EventShape unknown_;  // of the last event, where its shape is not kept
};

}  // namespace tracesmith::import
