// SPDX-License-Identifier: Apache-2.0
// Reads SBT: complete, cut anywhere, damaged, or still being written. What is intact is read; what
// is not is skipped and named. Bad input never crashes and never allocates more than the file
// justifies.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class SourceShapes;
struct SourceBlock;

/// One stretch of a file that could not be read.
struct DataLoss {
  uint64_t offset = 0;  ///< bytes from the file's start
  uint64_t bytes = 0;
  std::string reason;  ///< for people: what is wrong there
};

/// One column of one block, as stored.
struct ColumnExtent {
  uint16_t number = 0;
  uint8_t encoding = 0;       ///< encoder that was chosen (format/encoding/column_codec.hpp)
  uint32_t stored_bytes = 0;  ///< after compression
};

/// One block of the log.
struct BlockInfo {
  uint64_t offset = 0;
  uint64_t end = 0;  ///< first byte after it
  TableId table{};   ///< may be a number this version does not know
  uint32_t rows = 0;
  uint64_t first_row = 0;   ///< rows of the table before it
  int64_t min_time_ns = 0;  ///< hint: host time range of its rows; min > max when it has none
  int64_t max_time_ns = 0;
  std::vector<ColumnExtent> columns;
};

struct ReadOptions {
  bool convert_clocks = true;             ///< device stamps to host ns (model/clock_map.hpp)
  std::vector<TableId> tables;            ///< empty: all. Dictionaries are always read.
  std::optional<int64_t> from_ns, to_ns;  ///< skip blocks that lie outside (rows are not cut)
  std::optional<uint64_t> until_offset;   ///< only blocks that end at or before this byte
  /// Of event tables, only blocks that begin at this byte or later: what has been appended since.
  std::optional<uint64_t> from_offset;
  /// Of event tables, only blocks that can hold one of so many rows that begin first; 0: all. More
  /// rows come with them. Tables without times come whole, where they are wanted.
  uint64_t first_events = 0;
  /// Give up (kNoSpace) before the columns take more than this; 0: memoryToTake(). A small file may
  /// well hold very many equal rows: a block of them is a few hundred bytes whatever their number.
  uint64_t max_memory_bytes = 0;
};

class TraceReader {
 public:
  /// Fails when the file is not a readable trace at all (missing, empty, other format, too new).
  static Result<TraceReader> open(const std::string& path);

  TraceReader(TraceReader&&) noexcept;
  TraceReader& operator=(TraceReader&&) noexcept;
  ~TraceReader();

  /// True when the end marker is there: nothing was cut.
  bool complete() const;
  /// Damage met so far; reading columns may add to it. A file that merely ends within a block is
  /// not damaged but cut (see cutBytes()).
  const std::vector<DataLoss>& losses() const;
  /// What a newer version wrote and this one passes over: no damage, but not read either.
  const std::vector<DataLoss>& skipped() const;
  /// Bytes at the end that begin a block whose rest is not there (or not yet).
  uint64_t cutBytes() const;
  /// Reads the column directories that it has not yet read. Valid until refresh().
  const std::vector<BlockInfo>& blocks() const;
  uint64_t fileBytes() const;
  /// Where the next block will begin.
  uint64_t endOfBlocks() const;
  uint16_t versionMajor() const;
  uint16_t versionMinor() const;
  uint64_t flags() const;
  uint32_t headerBytes() const;
  /// Random, made with the file.
  std::array<uint8_t, 16> uuid() const;
  int64_t createdNs() const;  ///< CLOCK_REALTIME

  /// Rows of a table that the file has, lost ones included; nothing is read for it.
  uint64_t rows(TableId table) const;

  /// Looks for blocks that have been appended since; returns how many.
  Result<size_t> refresh();

  /// Everything (or what `options` asks for) as columns in host time. Keyed tables have the row of
  /// id n at n - 1, the last one written; an id whose row is lost has an empty row (id kNone). Rows
  /// of a damaged block are left out, those of dictionaries become empty rows, so that ids hold; an
  /// attribute is left out with its row, or follows it to its new place.
  Result<Trace> read(const ReadOptions& options = {});

  /// Fills columns (by their numbers) of a table of events in `out`, where it has rows(table) rows,
  /// as they are on disk. kDamaged when any column of the table, asked for or not, is not as it was
  /// written, or rows are missing: then read() is to say which rows there are.
  Status readColumns(TableId table, std::span<const uint16_t> columns, Trace& out);

  /// When the first event of the trace begins, for which few blocks are read; none: it has no
  /// event.
  Result<std::optional<int64_t>> beginNs();

  /// Appends the rows of one block to `out`, as they are on disk. For streaming and recovery:
  /// blocks of a dictionary must be read in their order, and into a trace whose dictionary has no
  /// other rows. Damage is in losses() afterwards, and no failure; a failure is an `index` or `out`
  /// that makes no sense, or rows beyond `max_memory_bytes` (as in ReadOptions).
  Status readBlock(size_t index, Trace& out, uint64_t max_memory_bytes = 0);

  /// Reads the block of sources (TableId::kSource) with this number; `strings` are those of the
  /// trace. False when it is damaged, which is in losses() afterwards.
  bool readSources(size_t index, const StringTable& strings, SourceShapes& shapes,
                   SourceBlock& out);

  /// Whether the bytes of a block are as they were written: for tables that are not read by
  /// readBlock(). Damage is in losses() afterwards.
  void checkBlock(size_t index);

 private:
  struct Impl;
  explicit TraceReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
