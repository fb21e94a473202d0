// SPDX-License-Identifier: Apache-2.0
// The sources of imported events: data of the original document that the tables do not hold, so
// that every event can be exported in its original form. It consists of the text around an event's
// values (its source shape, equal for most events) and of the values that no column of its row
// holds.
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

/// The kinds of gaps in a source shape. Lower case: the value comes from a column of the row. Upper
/// case: the value is kept with the source. Letters are on disk: append, never change one.
enum class SourceGap : char {
  kTimeMicros = 'u',       ///< start_ns or time_ns, whole microseconds
  kTimeDecimal = 't',      ///< the same with three decimals
  kDurationMicros = 'e',   ///< duration_ns, whole microseconds
  kDurationDecimal = 'd',  ///< the same with three decimals
  kName = 'n',             ///< name, as a JSON text
  kCorrelation = 'c',      ///< correlation_id
  kBytes = 'b',            ///< bytes
  kFlowId = 'f',           ///< flow_id
  kTimeNanos = 's',        ///< start_ns or time_ns, unchanged
  kEndNanos = 'x',         ///< start_ns + duration_ns
  kDurationNanos = 'l',    ///< duration_ns, unchanged
  kInteger = 'I',
  kDecimal = 'F',  ///< thousandths, as a number with three decimals
  kText = 'S',     ///< a string, as a JSON text
  kJson = 'R',     ///< a string that already is JSON
};
constexpr bool isKept(SourceGap gap) { return gap < SourceGap{'a'}; }

/// The text of a shape is the text of an event with gaps: 0x01, the letter, the key of the value
/// ("args.External id"), 0x02. JSON contains neither byte.
struct SourceShape {
  struct Gap {
    SourceGap kind{};
    std::string key;
  };
  std::vector<std::string> between;  ///< text before, between and after the gaps
  std::vector<Gap> gaps;

  std::string text() const;
  static std::optional<SourceShape> parse(std::string_view text);
};

/// Kept values with the same letter and key form one column, called a leaf. Its name has both.
std::string leafName(SourceGap kind, std::string_view key);

/// The sources of a table's rows.
struct SourceTable {
  Column<uint32_t> shape;   ///< per row: index in SourceRows::shapes; 0: unknown
  Column<uint32_t> values;  ///< per row: index of its first kept value
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
    std::vector<StringId> leaves;  ///< leafName() of each kept value, in order
  };
  std::vector<Shape> shapes = {{}};  ///< the first one means "no shape"

  /// Sources by table. kNone: of events that are rows of no table.
  static constexpr TableId kNone{};
  SourceTable& of(TableId table);
  const SourceTable* find(TableId table) const;
  void clearRows();
  /// Swaps the rows but not the shapes: both objects must have the same shapes.
  void swapRows(SourceRows& other) { tables_.swap(other.tables_); }

 private:
  std::vector<std::pair<TableId, SourceTable>> tables_;
};

/// The shapes of a trace that is being read, each parsed once.
class SourceShapes {
 public:
  explicit SourceShapes(const StringTable& strings) : strings_(strings) {}
  /// nullptr if the string is not a shape.
  const SourceShape* at(StringId text);

 private:
  const StringTable& strings_;
  std::unordered_map<StringId, std::optional<SourceShape>> parsed_;
};

/// Sources of consecutive rows, as read from the file.
struct SourceBlock {
  TableId table{};         ///< SourceRows::kNone: the events are rows of no table
  uint64_t first_row = 0;  ///< in that table
  Column<StringId> shape;  ///< per row: its SourceShape::text(); kNone: unknown
  struct Leaf {
    StringId name{};
    Column<int64_t> values;  ///< one for each row that has this leaf, in order
  };
  std::vector<Leaf> leaves;
  /// For each shape: the indexes in `leaves` of its kept values.
  std::unordered_map<StringId, std::vector<uint32_t>> places;
};

}  // namespace tracesmith
