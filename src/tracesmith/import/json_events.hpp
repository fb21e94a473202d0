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
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/import/byte_source.hpp"
#include "tracesmith/import/event_shapes.hpp"
#include "tracesmith/import/importer.hpp"

namespace tracesmith::import {

class JsonEvents {
 public:
  /// A member of the document beside its events, as it stands there.
  using OnMember = std::function<void(std::string_view name, std::string_view raw)>;
  using OnEvent = std::function<void(const ChromeEvent& event)>;

  /// So much is read at a time; what is larger makes more room.
  explicit JsonEvents(ByteSource& source, size_t window_bytes = 1u << 20);

  /// Error: it is no JSON document with events, or reading failed. Damage is no error.
  Status run(const OnMember& on_member, const OnEvent& on_event);

  /// Called from on_event: run() returns, and reads no more.
  void stop() { stopped_ = true; }

  /// The document is an array of events alone.
  bool bare() const { return bare_; }
  uint64_t events() const { return events_; }
  uint64_t documentBytes() const { return offset_ + begin_; }
  const std::vector<SourceDamage>& damage() const { return damage_; }
  const EventShapes& shapes() const { return shapes_; }

 private:
  static constexpr uint64_t kNowhere = ~uint64_t{0};

  Status fill();
  Result<bool> skipSpace();
  Status behind();
  Status members(const OnMember& on_member, const OnEvent& on_event);
  Result<uint64_t> endOfValue();
  Status eventArray(const OnEvent& on_event);
  /// Past the event at begin_, which could not be used.
  Status resume(std::string_view reason);
  size_t nextBoundary(size_t from, size_t to) const;
  size_t endOfObject(size_t from, size_t to) const;
  bool hasPhase(size_t from, size_t to) const;
  bool betweenEvents(size_t comma, size_t from, size_t to) const;
  void lose(size_t from, size_t to, std::string_view reason);
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
  bool eof_ = false;
  bool bare_ = false;  // an array of events alone, whose end may be missing
  bool stopped_ = false;
  uint64_t events_ = 0;
  std::vector<SourceDamage> damage_;
};

}  // namespace tracesmith::import
