// SPDX-License-Identifier: Apache-2.0
// The events of a trace in Chrome's JSON format, as Kineto, roctracer and many others write it:
//
//   {"schemaVersion": 1, …, "traceEvents": [{"ph": "X", …}, {…}, …], "traceName": …}     or
//   [{"ph": "X", …}, {…}, …                                   where even the end may be missing
//
// The document may be larger than memory: it goes by in windows that end between two events. What
// is damaged is passed over, counted, and told.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/import/byte_source.hpp"

namespace tracesmith::import {

/// A stretch of the unpacked document that could not be used as it was.
struct JsonDamage {
  uint64_t offset = 0;
  uint64_t bytes = 0;  ///< passed over; 0: mended
  std::string reason;
};

class JsonEvents {
 public:
  /// A member of the document beside its events, as it stands there.
  using OnMember = std::function<void(std::string_view name, std::string_view raw)>;
  /// An event. An error makes it damage.
  using OnEvent = std::function<simdjson::error_code(simdjson::ondemand::object& event)>;

  /// `window_bytes` at least that of any event; a larger event makes the window grow.
  explicit JsonEvents(ByteSource& source, size_t window_bytes = 8u << 20);

  /// Error: it is no JSON document with events, or reading failed. Damage is no error.
  Status run(const OnMember& on_member, const OnEvent& on_event);

  /// Called from on_event: run() returns, and reads no more.
  void stop() { stopped_ = true; }

  uint64_t events() const { return events_; }
  uint64_t documentBytes() const { return offset_ + begin_ - kFront; }
  const std::vector<JsonDamage>& damage() const { return damage_; }

 private:
  static constexpr size_t kFront = 1;  // a byte before the window, for the bracket that opens it
  static constexpr uint64_t kNowhere = ~uint64_t{0};

  /// What became of a window.
  struct Used {
    simdjson::error_code error = simdjson::SUCCESS;
    uint64_t events = 0;
    const uint8_t* last = nullptr;    ///< the last event that was used
    const uint8_t* failed = nullptr;  ///< the event that could not be used, where there is one
    const uint8_t* end = nullptr;     ///< what follows the array, where something does
  };
  Used use(const uint8_t* json, size_t bytes, const OnEvent& on_event);
  size_t reached() const { return end_ - begin_ > reach_ ? begin_ + reach_ : end_; }
  Status behind();
  Status fill();
  bool skipSpace();
  Status members(const OnMember& on_member, const OnEvent& on_event);
  Result<uint64_t> endOfValue();
  Status eventArray(const OnEvent& on_event);
  bool window(const OnEvent& on_event, bool& array_ended);
  size_t lastBoundary(size_t from, size_t to) const;
  size_t nextBoundary(size_t from, size_t to) const;
  size_t endOfObject(size_t from, size_t to) const;
  bool hasPhase(size_t from, size_t to) const;
  bool betweenEvents(size_t comma, size_t from, size_t to) const;
  bool mendText(size_t from, size_t to, simdjson::error_code why);
  void lose(size_t from, size_t to, std::string reason);
  const uint8_t* data() const { return buffer_.data(); }

  ByteSource& source_;
  simdjson::ondemand::parser parser_;
  std::vector<uint8_t> buffer_;
  size_t begin_ = kFront;  // of what has not been used
  size_t end_ = kFront;    // of what has been read
  uint64_t offset_ = 0;    // in the document, of the buffer's byte kFront
  size_t window_bytes_;
  bool eof_ = false;
  bool bare_ = false;         // an array of events alone, whose end may be missing
  bool tail_is_cut_ = false;  // the document ends within a text: its last window must end before
  bool stopped_ = false;
  size_t reach_ = 1u << 30;  // how far a window may reach from begin_
  bool next_alone_ = false;  // the next window is one event
  uint64_t events_ = 0;
  std::vector<JsonDamage> damage_;
};

}  // namespace tracesmith::import
