// SPDX-License-Identifier: Apache-2.0
// Reads SBT files that are complete, truncated anywhere, damaged, or still being written. It reads
// what is intact, and skips and reports the rest. Bad input never crashes it and never makes it
// allocate more than the size of the file justifies.
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

/// A range of a file that could not be read.
struct DataLoss {
  uint64_t offset = 0;  ///< in bytes from the start of the file
  uint64_t bytes = 0;
  std::string reason;  ///< for people: what is wrong there
};

/// One column of one block, as stored.
struct ColumnExtent {
  uint16_t number = 0;
  uint8_t encoding = 0;       ///< chosen encoder (format/encoding/column_codec.hpp)
  uint32_t stored_bytes = 0;  ///< after compression
};

/// One block of the log.
struct BlockInfo {
  uint64_t offset = 0;
  uint64_t end = 0;  ///< first byte after it
  TableId table{};   ///< may be a number unknown to this version
  uint32_t rows = 0;
  uint64_t first_row = 0;   ///< number of rows of the table before this block
  int64_t min_time_ns = 0;  ///< hint: host time range of its rows; min > max if it has none
  int64_t max_time_ns = 0;
};

struct ReadOptions {
  /// Convert device time stamps to host ns (model/clock_map.hpp).
  bool convert_clocks = true;
  std::vector<TableId> tables;  ///< empty: all; dictionaries are always read
  /// Skip blocks outside this range (does not cut within blocks).
  std::optional<int64_t> from_ns, to_ns;
  std::optional<uint64_t> until_offset;  ///< read only blocks that end at or before this byte
  /// Event tables: read only blocks that start at or after this byte, to get what was appended
  /// since.
  std::optional<uint64_t> from_offset;
  /// Event tables: read only blocks that may contain one of the first N events by start time; 0:
  /// all. Other rows of those blocks come with them. Requested tables without times are read whole.
  uint64_t first_events = 0;
  /// Fail with kNoSpace before the columns take more memory than this; 0: memoryBudget(). A small
  /// file can hold very many equal rows: a block of them is a few hundred bytes whatever their
  /// number.
  uint64_t max_memory_bytes = 0;
};

/// Reads one trace file. Not thread-safe: one thread at a time.
class TraceReader {
 public:
  /// Fails if the file is not a readable trace at all (missing, empty, another format, too new).
  static Result<TraceReader> open(const std::string& path);

  TraceReader(TraceReader&&) noexcept;
  TraceReader& operator=(TraceReader&&) noexcept;
  ~TraceReader();

  /// True if the end marker is present: nothing is cut off.
  bool complete() const;
  /// Damage found so far; reading columns may add to it. A file that merely ends within a block is
  /// not damaged but cut; see cutBytes().
  const std::vector<DataLoss>& losses() const;
  /// Parts written by a newer version that this one skips: not damaged, but not read either.
  const std::vector<DataLoss>& skipped() const;
  /// Bytes at the end of the file that start a block whose rest is missing (or not written yet).
  uint64_t cutBytes() const;
  /// The blocks of the file. Valid until refresh().
  const std::vector<BlockInfo>& blocks() const;
  /// The columns of block `index`; losses() reports damage to their directory.
  std::vector<ColumnExtent> columnsOf(size_t index) const;
  uint64_t fileBytes() const;
  /// Offset at which the next block will start.
  uint64_t endOfBlocks() const;
  uint16_t versionMajor() const;
  uint16_t versionMinor() const;
  uint64_t flags() const;
  uint32_t headerBytes() const;
  /// Random id, created with the file.
  std::array<uint8_t, 16> uuid() const;
  int64_t createdNs() const;  ///< CLOCK_REALTIME at creation

  /// Number of rows of a table in the file, including lost ones; does not read any rows.
  uint64_t rows(TableId table) const;

  /// The distinct names of the kernels, ascending: from the index, or else from the kernels' name
  /// column. `until_offset`: only those of blocks that end at or before this byte.
  std::vector<StringId> kernelNames(std::optional<uint64_t> until_offset = std::nullopt);

  /// Looks for blocks appended since; returns their number.
  Result<size_t> refresh();

  /// Reads the whole trace (or what `options` selects) as columns in host time.
  /// - Keyed tables have the row of id n at index n - 1, in its last written version. An id whose
  ///   row is lost has an empty row (id kNone).
  /// - Rows of damaged blocks are omitted. Rows of damaged dictionary blocks become empty rows, so
  ///   that ids stay valid.
  /// - Attributes are omitted together with their row, or renumbered with it.
  Result<Trace> read(const ReadOptions& options = {});

  /// Fills columns (given by number) of an event table in `out`, as stored on disk. The table in
  /// `out` must already have rows(table) rows. Fails with kDamaged if any column of the table,
  /// requested or not, is not as written, or if rows are missing; then use read() to learn which
  /// rows exist.
  Status readColumns(TableId table, std::span<const uint16_t> columns, Trace& out);

  /// Start of the first event of the trace; reads only a few blocks. Empty if there is no event.
  Result<std::optional<int64_t>> beginNs();

  /// Appends the rows of one block to `out`, as stored on disk, for streaming and recovery. Read
  /// blocks of a dictionary in file order, and into a trace whose dictionary has no other rows.
  /// Damage is not a failure; it is reported by losses(). Fails if `index` or `out` is unsuitable,
  /// or if rows exceed `max_memory_bytes` (see ReadOptions). Of a table of events, only the first
  /// `most_events` rows of the block are appended, and only the columns with the numbers
  /// `columns` are decoded if there are any; others are zero, but damage in them has the same
  /// effect.
  Status readBlock(size_t index, Trace& out, uint64_t max_memory_bytes = 0,
                   size_t most_events = SIZE_MAX, std::span<const uint16_t> columns = {});

  /// Reads block `index` of the table of sources (TableId::kSource); `strings` are the trace's.
  /// Returns false if it is damaged, and losses() says so.
  bool readSources(size_t index, const StringTable& strings, SourceShapes& shapes,
                   SourceBlock& out);

  /// Verifies the bytes of a block, for tables that readBlock() does not read. losses() reports any
  /// damage.
  void checkBlock(size_t index);

 private:
  struct Impl;
  explicit TraceReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
