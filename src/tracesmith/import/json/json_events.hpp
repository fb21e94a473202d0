// SPDX-License-Identifier: Apache-2.0
// Reads the events of a trace in Chrome's JSON format, as written by Kineto, roctracer and many
// others:
//
//   {"schemaVersion": 1, …, "traceEvents": [{"ph": "X", …}, {…}, …], "traceName": …}     or
//   [{"ph": "X", …}, {…}, …                               the closing bracket may be missing
//
// The document may be larger than memory: it is read event by event. Damaged parts are skipped,
// counted and reported.
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
  /// Called for each member of the document other than the events, with its JSON text.
  using OnMember = std::function<void(std::string_view name, std::string_view raw)>;
  using OnEvent = std::function<void(const ChromeEvent& event)>;

  /// Reads `window_bytes` at a time; the buffer grows for larger events. Other members are passed
  /// whole, except that a member of more than `largest_member` bytes is skipped and counted as
  /// damage.
  explicit JsonEvents(ByteSource& source, size_t window_bytes = 1u << 20,
                      size_t largest_member = 512u << 20);

  /// Error: the source is not a JSON document with events, or reading failed. Damage is not an
  /// error.
  Status run(const OnMember& on_member, const OnEvent& on_event);

  /// May be called from on_event: run() then returns without reading on.
  void stop() { stopped_ = true; }

  /// True if the document is just an array of events.
  bool isBareArray() const { return bare_; }
  uint64_t events() const { return events_; }
  uint64_t documentBytes() const { return offset_ + begin_; }
  const std::vector<SourceDamage>& damage() const { return damage_.places(); }
  const EventShapes& shapes() const { return shapes_; }

 private:
  /// Extent of a member's value, counted from begin_.
  struct Extent {
    bool ends = false;
    uint64_t bytes = 0;
    uint64_t passed = 0;  ///< dropped bytes of it before begin_: the value was too large
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
  /// Skips the unusable bytes at begin_ in the list of events.
  Status resume(std::string_view reason);
  Status passEvent(std::string_view reason);
  /// Skips to the next event, if one follows.
  Result<bool> passToEvent(std::string_view reason);
  void lose(size_t from, size_t to, std::string_view reason,
            std::optional<uint64_t> events = std::nullopt);
  void mend(const JsonMending& mended);
  const char* data() const { return buffer_.data(); }

  ByteSource& source_;
  EventShapes shapes_;
  ChromeEvent event_;
  std::vector<char> buffer_;
  size_t begin_ = 0;     // start of unused bytes in buffer_
  size_t end_ = 0;       // end of the bytes in buffer_
  uint64_t offset_ = 0;  // position of buffer_[0] in the document
  size_t window_bytes_;
  size_t largest_member_;
  bool eof_ = false;
  bool bare_ = false;  // just an array of events, whose end may be missing
  bool stopped_ = false;
  uint64_t events_ = 0;
  bool sound_ = true;     // the last thing read was an event, or the start of the list
  size_t searched_ = 0;   // bytes of the event at begin_ known to contain no start of another event
  uint64_t scanned_ = 0;  // document position up to which brackets outside events do not match
  DamageLog damage_;
};

}  // namespace tracesmith::import
