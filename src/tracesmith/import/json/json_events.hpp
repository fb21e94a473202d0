// SPDX-License-Identifier: Apache-2.0
// The events of a trace in Chrome's JSON format, as Kineto, roctracer and many others write it:
//
//   {"schemaVersion": 1, …, "traceEvents": [{"ph": "X", …}, {…}, …], "traceName": …}     or
//   [{"ph": "X", …}, {…}, …                                   where even the end may be missing
//
// The document may be larger than memory: it goes by, event after event. What is damaged is passed
// over, counted, and told.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/import/common/byte_source.hpp"
#include "tracesmith/import/common/damage_log.hpp"
#include "tracesmith/import/common/importer.hpp"
#include "tracesmith/import/json/event_shapes.hpp"

namespace tracesmith::import {

class JsonEvents {
 public:
  /// A member of the document beside its events, as it stands there.
  using OnMember = std::function<void(std::string_view name, std::string_view raw)>;
  using OnEvent = std::function<void(const ChromeEvent& event)>;

  /// `window_bytes` are read at a time; a larger event makes more room. A member beside the events
  /// is handed over whole: one of more than `largest_member` bytes is passed over, and counted as
  /// damage.
  explicit JsonEvents(ByteSource& source, size_t window_bytes = 1u << 20,
                      size_t largest_member = 512u << 20);

  /// Error: it is no JSON document with events, or reading failed. Damage is no error.
  Status run(const OnMember& on_member, const OnEvent& on_event);

  /// Called from on_event: run() returns, and reads no more.
  void stop() { stopped_ = true; }

  /// The document is an array of events alone.
  bool bare() const { return bare_; }
  uint64_t events() const { return events_; }
  uint64_t documentBytes() const { return offset_ + begin_; }
  const std::vector<SourceDamage>& damage() const { return damage_.places(); }
  const EventShapes& shapes() const { return shapes_; }

 private:
  /// Of a member's value: how many bytes from begin_ on it takes, or that it does not end.
  struct Extent {
    bool ends = false;
    uint64_t bytes = 0;
    uint64_t passed = 0;  ///< bytes of it before begin_: it was too large to be kept
  };

  Status fill();
  Status more();
  Status ahead();
  Result<bool> skipSpace();
  Status behind(const OnEvent& on_event);
  Status members(const OnMember& on_member, const OnEvent& on_event);
  enum class AtMember : uint8_t { kNext, kClosed, kSenseless };
  Result<AtMember> member(const OnMember& on_member, const OnEvent& on_event, bool& found);
  Result<Extent> extentOfValue(size_t most);
  Status eventArray(const OnEvent& on_event);
  Result<bool> endsList();
  bool looksDamaged();
  /// Past what stands at begin_ in the list of events, and could not be used.
  Status resume(std::string_view reason);
  Status passEvent(std::string_view reason);
  /// To the next event, if one follows.
  Result<bool> passToEvent(std::string_view reason);
  void lose(size_t from, size_t to, std::string_view reason,
            std::optional<uint64_t> events = std::nullopt);
  void mend(const JsonMending& mended);
  const char* data() const { return buffer_.data(); }

  ByteSource& source_;
  EventShapes shapes_;
  ChromeEvent event_;
  std::vector<char> buffer_;
  size_t begin_ = 0;     // of what has not been used
  size_t end_ = 0;       // of what has been read
  uint64_t offset_ = 0;  // in the document, of the buffer's first byte
  size_t window_bytes_;
  size_t largest_member_;
  bool eof_ = false;
  bool bare_ = false;  // an array of events alone, whose end may be missing
  bool stopped_ = false;
  uint64_t events_ = 0;
  bool sound_ = true;     // what was read last was an event, or the begin of their list
  size_t searched_ = 0;   // bytes of the event at begin_ in which no other one begins
  uint64_t scanned_ = 0;  // in the document: to here brackets that are no events do not match
  DamageLog damage_;
};

}  // namespace tracesmith::import
