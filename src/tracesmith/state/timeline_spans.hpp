// SPDX-License-Identifier: Apache-2.0
// Spans of device work as columns: 21 bytes each. Rows are built on demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

/// A piece of device work.
struct TimelineSpan {
  uint64_t correlation_id = 0;
  uint32_t device_id = 0;
  uint32_t stream_id = 0;
  EventType type = EventType::Unknown;
  std::string name;
  Timestamp start_time = 0;  ///< host ns
  Timestamp end_time = 0;
};

/// By device and stream, then start, then end.
class TimelineSpans {
 public:
  /// Spans [begin, end) of one stream.
  struct Stream {
    uint32_t device_id = 0;
    uint32_t stream_id = 0;
    size_t begin = 0;
    size_t end = 0;
  };

  size_t size() const { return start_.size(); }
  bool empty() const { return start_.empty(); }
  const std::vector<Stream>& streams() const { return streams_; }
  TimelineSpan operator[](size_t i) const;
  TimelineSpan front() const { return (*this)[0]; }

  // Access without building a row.
  int64_t startNs(size_t i) const { return start_[i]; }
  int64_t endNs(size_t i) const { return start_[i] + durationNs(i); }
  int64_t durationNs(size_t i) const {
    if (!large_) return duration_[i];
    return static_cast<int64_t>(uint64_t{duration_[i]} | uint64_t{duration_high_[i]} << 32);
  }
  EventType type(size_t i) const { return static_cast<EventType>(type_[i]); }
  std::string_view name(size_t i) const { return names_.at(StringId{name_[i]}); }
  const Stream& streamOf(size_t i) const;

  /// For spans of one stream that overlap: the lane of each, from 0, so that no two spans of a lane
  /// overlap. Uses as few lanes as possible.
  std::vector<uint32_t> lanes(const Stream& stream) const;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;  // NOLINT(readability-identifier-naming)
    using value_type = TimelineSpan;                    // NOLINT(readability-identifier-naming)
    using difference_type = std::ptrdiff_t;             // NOLINT(readability-identifier-naming)
    using pointer = void;                               // NOLINT(readability-identifier-naming)
    using reference = TimelineSpan;                     // NOLINT(readability-identifier-naming)
    Iterator(const TimelineSpans* spans, size_t at) : spans_(spans), at_(at) {}
    TimelineSpan operator*() const { return (*spans_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const TimelineSpans* spans_;
    size_t at_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  friend class TimelineMaker;
  void resize(size_t n);
  void set(size_t i, int64_t start, uint64_t duration, uint32_t name, uint64_t correlation,
           EventType type) {
    start_[i] = start;
    duration_[i] = static_cast<uint32_t>(duration);
    if (duration >> 32 != 0) {
      duration_high_[i] = static_cast<uint32_t>(duration >> 32);
      large_ = true;
    }
    name_[i] = name;
    correlation_[i] = static_cast<uint32_t>(correlation);
    if (correlation >> 32 != 0) {
      correlation_high_[i] = static_cast<uint32_t>(correlation >> 32);
      long_ids_ = true;
    }
    type_[i] = static_cast<uint8_t>(type);
  }
  bool before(size_t a, size_t b) const;
  bool sortByMoving(const Stream& stream);
  void sortStream(const Stream& stream);

  std::vector<Stream> streams_;
  Column<int64_t> start_;
  Column<uint32_t> duration_, name_, correlation_;
  Column<uint32_t> duration_high_, correlation_high_;  // no memory unless a value is that large
  bool large_ = false;                                 // a duration exceeds 32 bits
  bool long_ids_ = false;                              // a correlation id exceeds 32 bits
  Column<uint8_t> type_;
  StringTable names_;
};

}  // namespace tracesmith
