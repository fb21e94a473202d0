// SPDX-License-Identifier: Apache-2.0
// JSON objects that are records: the values of one, also those of objects within it, by their paths
// ("dispatch_info.queue_id.handle"). Records of one layout (the same text between the values) share
// the paths, where their fields are, and what a trace keeps of them.
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

/// Which field a path is; below 0: none that has a meaning.
using FieldOf = int (*)(std::string_view path);
/// A field whose value a column of the row holds.
struct HeldField {
  int field = 0;
  SourceGap gap{};
};

class JsonRecords {
 public:
  /// Fields are counted from 0 to less than `fields`.
  JsonRecords(FieldOf field_of, int fields) : field_of_(field_of), fields_(fields) {}

  /// Reads the record `raw`, which has been checked (JsonWalker::value()). Its values can be asked
  /// for until the next one. False: it is no object, or has more values than a record has.
  bool read(std::string_view raw);
  /// Empty where it is not there.
  const JsonToken& operator[](int field) const;
  /// What the trace keeps of the record that was read last, beside the row just pushed to `table`:
  /// all of it but the values that `held` names, in an object with one member, `section`.
  void keep(TraceBuilder& builder, TableId table, std::string_view section,
            std::span<const HeldField> held);

 private:
  struct Layout {
    std::vector<std::string> between;  // before, between and behind the values
    std::vector<std::string> paths;
    std::vector<JsonType> types;
    std::vector<int16_t> place;  // of each field among the values; -1: it is not there
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
  std::vector<const char*> begins_;  // of the values as they stand, quotes included
  std::vector<const char*> ends_;
  std::deque<Layout> layouts_;
  Layout other_;  // of a record whose layout is not kept
  Layout* current_ = nullptr;
};

}  // namespace tracesmith::import
