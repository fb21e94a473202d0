// SPDX-License-Identifier: Apache-2.0
// The keys and values of one event of a source, as they go beside its row: a JSON object whose
// values are gaps. Importers of other formats than Chrome's build theirs with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/import/common/trace_builder.hpp"

namespace tracesmith::import {

/// `text` as a JSON text, quotes included. What is not UTF-8 becomes '?'.
std::string jsonText(std::string_view text);
/// Shortest form that reads back as the same double; null where JSON has none.
std::string jsonNumber(double value);

/// May be kept until its row is made, and added to.
class KeptEvent {
 public:
  /// A key whose value is in a column of the row.
  void column(std::string_view key, SourceGap gap) { member(key, gap); }
  void integer(std::string_view key, int64_t value) {
    member(key, SourceGap::kInteger);
    values_.push_back(value);
  }
  void text(std::string_view key, StringId value) {
    member(key, SourceGap::kText);
    values_.push_back(static_cast<int64_t>(value));
  }
  /// `value`: of a text that is JSON as it stands.
  void json(std::string_view key, StringId value) {
    member(key, SourceGap::kJson);
    values_.push_back(static_cast<int64_t>(value));
  }
  /// What follows is a member of the object `key`, until close().
  void open(std::string_view key);
  void close();
  /// What `other` keeps (its columns are not this row's), as the object `key`, if there is
  /// anything.
  void append(std::string_view key, const KeptEvent& other);

 private:
  friend class KeptEvents;
  void step(char operation, std::string_view key) {
    signature_ += operation;
    for (const char c : key) signature_ += c == '\0' ? ' ' : c;
    signature_ += '\0';
  }
  void member(std::string_view key, SourceGap gap) { step(static_cast<char>(gap), key); }
  std::string signature_;  // operation, key, 0; and so on
  std::vector<int64_t> values_;
};

/// Gives kept events to a builder; knows their shapes.
class KeptEvents {
 public:
  explicit KeptEvents(TraceBuilder& builder) : builder_(builder) {}
  /// The source of the row just pushed to `table` (SourceRows::kNone: of no row).
  void keep(TableId table, const KeptEvent& event);

 private:
  std::string wholeJson(const KeptEvent& event) const;

  TraceBuilder& builder_;
  std::unordered_map<std::string, uint32_t> shapes_;
  uint32_t any_shape_ = 0;  // of events whose shape came after too many others
};

}  // namespace tracesmith::import
