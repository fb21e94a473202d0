// SPDX-License-Identifier: Apache-2.0
// The keys and values of one source event, as kept beside its row: a JSON object whose values are
// gaps. All importers except the one for Chrome's JSON build their kept events with this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/import/common/trace_builder.hpp"

namespace tracesmith::import {

/// `text` as a JSON string with quotes. Bytes that are not UTF-8 become '?'.
std::string jsonText(std::string_view text);
/// Shortest form that reads back as the same double; "null" for NaN and infinities.
std::string jsonNumber(double value);

/// One event being collected; more members can be added until its row is pushed.
class KeptEvent {
 public:
  /// Adds a key whose value is in a column of the row.
  void column(std::string_view key, SourceGap gap) { member(key, gap); }
  void integer(std::string_view key, int64_t value) {
    member(key, SourceGap::kInteger);
    values_.push_back(value);
  }
  void text(std::string_view key, StringId value) {
    member(key, SourceGap::kText);
    values_.push_back(static_cast<int64_t>(value));
  }
  /// `value`: id of a string that is valid JSON.
  void json(std::string_view key, StringId value) {
    member(key, SourceGap::kJson);
    values_.push_back(static_cast<int64_t>(value));
  }
  /// Members that follow belong to the object `key`, until close().
  void open(std::string_view key);
  void close();
  /// Adds the kept members of `other` as the object `key`, if there are any. Column gaps of `other`
  /// are left out, because they refer to another row.
  void append(std::string_view key, const KeptEvent& other);

 private:
  friend class KeptEvents;
  void step(char operation, std::string_view key) {
    signature_ += operation;
    for (const char c : key) signature_ += c == '\0' ? ' ' : c;
    signature_ += '\0';
  }
  void member(std::string_view key, SourceGap gap) { step(static_cast<char>(gap), key); }
  std::string signature_;  // repeated: operation, key, 0
  std::vector<int64_t> values_;
};

/// Passes kept events to a builder, and remembers their shapes.
class KeptEvents {
 public:
  explicit KeptEvents(TraceBuilder& builder) : builder_(builder) {}
  /// Stores `event` as the source of the row just pushed to `table` (SourceRows::kNone: no row).
  void keep(TableId table, const KeptEvent& event);

 private:
  std::string wholeJson(const KeptEvent& event) const;

  TraceBuilder& builder_;
  std::unordered_map<std::string, uint32_t> shapes_;
  uint32_t any_shape_ = 0;  // for events seen when there were already too many shapes
};

}  // namespace tracesmith::import
