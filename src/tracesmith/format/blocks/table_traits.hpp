// SPDX-License-Identifier: Apache-2.0
// Properties of tables that the format needs, besides their columns.
#pragma once

#include <string>
#include <type_traits>

#include "tracesmith/model/trace.hpp"

namespace tracesmith::sbt {

/// Tables in which the row number is the id: a lost row is replaced by an empty one, so that ids
/// stay valid.
constexpr bool isDictionary(TableId id) {
  switch (id) {
    case TableId::kString:
    case TableId::kLaunchShape:
    case TableId::kCallPath:
    case TableId::kFrame:
    case TableId::kCounterTrack:
      return true;
    default:
      return false;
  }
}

/// Memory of a row, for tables that traces have; 0: the table has its own reader, or is unknown.
uint64_t rowBytesOf(TableId id);
inline bool isKnown(TableId id) { return rowBytesOf(id) != 0; }

/// Tables that are always read, because other tables need them.
constexpr bool isAlwaysRead(TableId id) {
  return static_cast<uint16_t>(id) <= static_cast<uint16_t>(TableId::kLoss) ||
         id == TableId::kSymbol || (id >= TableId::kRank && id <= TableId::kCommunicator);
}
// Only tables whose rows have no ids can be read by columns (TraceReader::readColumns()).
#define TS_Y(number, Name, name, columns) \
  static_assert(!isKeyed(TableId::k##Name) || isAlwaysRead(TableId::k##Name));
TS_TABLES(TS_Y)
#undef TS_Y

template <class Table>
concept SpanTable = requires(Table& t) {
  t.start_ns;
  t.duration_ns;
};
template <class Table>
concept InstantTable = requires(Table& t) {
  t.time_ns;
};

/// Tables whose rows may use the clock of a device (op_flags::kDeviceClock).
template <class Table>
constexpr bool kIsDeviceWork =
    std::is_same_v<Table, KernelTable> || std::is_same_v<Table, CopyTable> ||
    std::is_same_v<Table, FillTable> || std::is_same_v<Table, SyncTable>;

/// The column of the same table to which `column` is related, for encoders that use one; 0: none.
/// Durations are similar within a launch shape, and a start is near the end of the previous row.
template <class Table>
constexpr uint16_t relatedColumn(uint16_t column) {
  if constexpr (SpanTable<Table>) {
    constexpr uint16_t kStart = 1, kDuration = 2, kNameOrKind = 3, kKernelShape = 8, kBytes = 8;
    if (column == kStart) return kDuration;
    if constexpr (std::is_same_v<Table, KernelTable>) {
      if (column == kDuration || column == kNameOrKind) return kKernelShape;
    } else if constexpr (std::is_same_v<Table, CopyTable> || std::is_same_v<Table, FillTable>) {
      if (column == kDuration) return kBytes;
    } else {
      if (column == kDuration) return kNameOrKind;
    }
  }
  return 0;
}

/// Bytes of one row in memory.
template <class Table>
inline uint64_t rowBytes() {
  uint64_t bytes = 0;
  Table table;
  Table::visitColumns(table, [&](const ColumnInfo&, auto& column) {
    bytes += sizeof(typename std::decay_t<decltype(column)>::value_type);
  });
  return bytes;
}

/// The name of a table; its number if this version does not know it.
std::string tableName(uint16_t number);

}  // namespace tracesmith::sbt
