// SPDX-License-Identifier: Apache-2.0
// What an imported trace keeps of its source beyond the columns of its tables, so that every event
// can be given back as it was: the text around an event's values (its source shape, the same for
// most events) and those values that no column of its row holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/model/string_table.hpp"
#include "tracesmith/model/tables.hpp"

namespace tracesmith {

/// What a gap of a source shape is filled with. Those of the row's own columns are in lower case;
/// the others are kept beside it. Letters are on disk: append, never change one.
enum class SourceGap : char {
  kTimeMicros = 'u',       ///< start_ns or time_ns, whole microseconds
  kTimeDecimal = 't',      ///< the same with three decimals
  kDurationMicros = 'e',   ///< duration_ns, whole microseconds
  kDurationDecimal = 'd',  ///< the same with three decimals
  kName = 'n',             ///< name, as a JSON text
  kCorrelation = 'c',      ///< correlation_id
  kBytes = 'b',            ///< bytes
  kFlowId = 'f',           ///< flow_id
  kTimeNanos = 's',        ///< start_ns or time_ns, as it is
  kEndNanos = 'x',         ///< start_ns + duration_ns
  kDurationNanos = 'l',    ///< duration_ns, as it is
  kInteger = 'I',
  kDecimal = 'F',  ///< thousandths, as a number with three decimals
  kText = 'S',     ///< a string, as a JSON text
  kJson = 'R',     ///< a string that is JSON as it stands
};
constexpr bool isKept(SourceGap gap) { return gap < SourceGap{'a'}; }

/// The text of a shape is that of an event with gaps: 0x01, the letter, the key of the value
/// ("args.External id"), 0x02. Neither byte stands in JSON.
struct SourceShape {
  struct Gap {
    SourceGap kind{};
    std::string key;
  };
  std::vector<std::string> between;  ///< before, between and behind the gaps
  std::vector<Gap> gaps;

  std::string text() const;
  static std::optional<SourceShape> parse(std::string_view text);
};

/// Kept values with the same letter and key make one column: a leaf. Its name is both.
std::string leafName(SourceGap kind, std::string_view key);

/// The sources of a table's rows.
struct SourceTable {
  Column<uint32_t> shape;   ///< per row: place in SourceRows::shapes; 0: none is known
  Column<uint32_t> values;  ///< per row: where its kept values begin
  Column<int64_t> value;    ///< numbers, and the ids of strings

  size_t size() const { return shape.size(); }
  void clear() {
    shape.clear();
    values.clear();
    value.clear();
  }
};

/// The sources of the rows of a delta, for TraceWriter::write.
struct SourceRows {
  struct Shape {
    StringId text{};               ///< SourceShape::text()
    std::vector<StringId> leaves;  ///< of its kept values, leafName() each, in their order
  };
  std::vector<Shape> shapes = {{}};  ///< the first is no shape

  /// Of a table; of events that are rows of none: kNone.
  static constexpr TableId kNone{};
  SourceTable& of(TableId table);
  const SourceTable* find(TableId table) const;
  void clearRows();
  /// The shapes stay where they are: the rows of both have to be of the same ones.
  void swapRows(SourceRows& other) { tables_.swap(other.tables_); }

 private:
  std::vector<std::pair<TableId, SourceTable>> tables_;
};

/// The shapes of a trace that is read, each parsed once.
class SourceShapes {
 public:
  explicit SourceShapes(const StringTable& strings) : strings_(strings) {}
  /// nullptr: the string is no shape.
  const SourceShape* at(StringId text);

 private:
  const StringTable& strings_;
  std::unordered_map<StringId, std::optional<SourceShape>> parsed_;
};

/// Sources of consecutive rows, as they were read.
struct SourceBlock {
  TableId table{};         ///< SourceRows::kNone: the events are rows of no table
  uint64_t first_row = 0;  ///< of that table
  Column<StringId> shape;  ///< per row, its SourceShape::text(); kNone: not known
  struct Leaf {
    StringId name{};
    Column<int64_t> values;  ///< of the rows that have it, in their order
  };
  std::vector<Leaf> leaves;
  /// Of each shape: where among the leaves the values of its gaps are, those that are kept.
  std::unordered_map<StringId, std::vector<uint32_t>> places;
};

}  // namespace tracesmith
