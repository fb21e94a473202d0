// SPDX-License-Identifier: Apache-2.0
// Reads JSON objects as flat records: values are identified by path
// ("dispatch_info.queue_id.handle"), including those of nested objects. Records of one layout (the
// same text between values) share their paths, field positions and source shape.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/import/common/trace_builder.hpp"
#include "tracesmith/import/json/json_token.hpp"

namespace tracesmith::import {

/// Maps a path to a field; below 0: not used.
using FieldOf = int (*)(std::string_view path);
/// A field whose value a column of the row holds.
struct HeldField {
  int field = 0;
  SourceGap gap{};
};

class JsonRecords {
 public:
  /// Field numbers are 0 to `fields` - 1.
  JsonRecords(FieldOf field_of, int fields) : field_of_(field_of), fields_(fields) {}

  /// Reads the record `raw`, which must already be validated (JsonWalker::value()). Its values are
  /// valid until the next call. Returns false if it is not an object or has too many values.
  bool read(std::string_view raw);
  /// Empty if the record has no such field.
  const JsonToken& operator[](int field) const;
  /// Keeps the last record read beside the row just pushed to `table`: all values except those that
  /// `held` names, in an object with the single member `section`.
  void keep(TraceBuilder& builder, TableId table, std::string_view section,
            std::span<const HeldField> held);

 private:
  struct Layout {
    std::vector<std::string> between;  // before, between and after the values
    std::vector<std::string> paths;
    std::vector<JsonType> types;
    std::vector<int16_t> place;  // per field: index of its value; -1: missing
    struct Known {
      std::string section;
      size_t held = 0;
      uint32_t shape = 0;
    };
    std::vector<Known> known;
  };
  bool flatten(const char*& at, const char* end, int depth);
  Layout* layout(std::string_view raw);
  void pathsOf(std::string_view raw, Layout& layout) const;

  FieldOf field_of_;
  int fields_;
  std::string_view raw_;
  std::vector<JsonToken> values_;
  std::vector<const char*> begins_;  // starts of the values, quotes included
  std::vector<const char*> ends_;
  std::deque<Layout> layouts_;
  Layout other_;  // layout of the last record, if it is not stored
  Layout* current_ = nullptr;
};

}  // namespace tracesmith::import
