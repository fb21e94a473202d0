// SPDX-License-Identifier: Apache-2.0
// Helpers for reading the columns of a recording's blocks.
#pragma once

#include <vector>

#include "tracesmith/format/block_log.hpp"
#include "tracesmith/format/blocks/block_contents.hpp"
#include "tracesmith/model/tables.hpp"
#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith::recording {

template <class Column>
constexpr uint16_t number(Column column) {
  return static_cast<uint16_t>(column);
}

inline bool isOf(const sbt::LogBlock& block, TableId table) {
  return block.header.table == number(table);
}

/// The values of a column; zeros if the column is absent.
inline sbt::Problem wordsOf(sbt::BlockContents& contents, uint16_t column,
                            std::vector<uint64_t>& out) {
  out.assign(contents.rows(), 0);
  const sbt::ColumnEntry* entry = contents.find(column);
  return entry == nullptr ? sbt::Problem{} : contents.words(*entry, out);
}

inline sbt::Problem bytesOf(sbt::BlockContents& contents, uint16_t column, ByteView& out) {
  out = {};
  const sbt::ColumnEntry* entry = contents.find(column);
  return entry == nullptr ? sbt::damaged("the bytes are missing") : contents.bytes(*entry, out);
}

/// Opens the log that holds the recording of `path`: that file, or the one beside it.
Result<sbt::BlockLog> openLog(const std::string& path);

}  // namespace tracesmith::recording
