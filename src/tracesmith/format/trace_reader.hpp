// SPDX-License-Identifier: Apache-2.0
// Reads SBT: complete, cut anywhere, damaged, or still being written. What is intact is read; what is
// not is skipped and named. Bad input never crashes and never allocates more than the file justifies.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// One stretch of a file that could not be read.
struct DataLoss {
  uint64_t offset = 0;  ///< bytes from the file's start
  uint64_t bytes = 0;
  std::string reason;   ///< for people: what is wrong there
};

/// One column of one block, as stored.
struct ColumnExtent {
  uint16_t number = 0;
  uint8_t encoding = 0;      ///< encoder that was chosen (format/column_codec.hpp)
  uint32_t stored_bytes = 0; ///< after compression
};

/// One block of the log.
struct BlockInfo {
  uint64_t offset = 0;
  uint64_t end = 0;          ///< first byte after it
  TableId table{};           ///< may be a number this version does not know
  uint32_t rows = 0;
  int64_t min_time_ns = 0;   ///< hint: host time range of its rows; min > max when it has none
  int64_t max_time_ns = 0;
  std::vector<ColumnExtent> columns;
};

struct ReadOptions {
  bool convert_clocks = true;             ///< device stamps to host ns (model/clock_map.hpp)
  std::vector<TableId> tables;            ///< empty: all. Dictionaries are always read.
  std::optional<int64_t> from_ns, to_ns;  ///< skip blocks that lie outside (rows are not cut)
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
  /// Damage met so far; reading columns may add to it.
  const std::vector<DataLoss>& losses() const;
  const std::vector<BlockInfo>& blocks() const;
  uint64_t fileBytes() const;
  uint16_t versionMajor() const;
  uint16_t versionMinor() const;

  /// Looks for blocks that have been appended since; returns how many.
  Result<size_t> refresh();

  /// Everything (or what `options` asks for) as columns in host time.
  Result<Trace> read(const ReadOptions& options = {});

  /// Appends the rows of one block to `out`, as they are on disk. For streaming and recovery.
  Status readBlock(size_t index, Trace& out);

 private:
  struct Impl;
  explicit TraceReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
