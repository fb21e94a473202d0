// SPDX-License-Identifier: Apache-2.0
// Writes SBT: an append-only log of self-contained, checksummed, compressed column blocks.
// docs/sbt.md specifies the format. Other processes can read what has been written at any moment.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct DataLoss;
struct SourceRows;
namespace sbt {
class BlockLog;
}

struct WriterOptions {
  int zstd_level = 1;
  uint32_t max_block_rows = 131072;
  /// Encode half of the tables of a large write() on a second thread; the file is the same.
  bool two_threads = false;
};

/// Not thread-safe: one thread at a time. A call that meets an error (such as a full disk) returns
/// it; what was complete before stays readable.
class TraceWriter {
 public:
  /// Creates `path` (replacing an existing file) and writes the header.
  static Result<TraceWriter> create(const std::string& path, WriterOptions options = {});
  /// Opens an unfinished or damaged trace to append to it. Truncates the file after the last intact
  /// block up to `keep_until` (in bytes from the start of the file; see TraceReader::blocks()), and
  /// drops index and end marker.
  static Result<TraceWriter> resume(const std::string& path, uint64_t keep_until,
                                    uint32_t strings_in_file, WriterOptions options = {});

  TraceWriter(TraceWriter&&) noexcept;
  TraceWriter& operator=(TraceWriter&&) noexcept;
  ~TraceWriter();  ///< closes without an end marker; call finish() to mark the trace complete

  /// Appends all strings that are not in the file yet and every row of every table, in blocks. On
  /// return the rows are in the page cache, so they survive the death of this process.
  ///
  /// Event rows may be reordered within a block. Pass attributes together with the rows that they
  /// describe.
  ///
  /// `sources`: for some of the tables, the source of each row; also the sources of events that
  /// became no row.
  Status write(const Trace& delta, const SourceRows* sources = nullptr);

  /// Copies the events of another trace that lie before the byte `until`, with their attributes,
  /// pending commands, commit marks and samples of clocks. All strings and dictionaries of that
  /// trace must have been written to this one, under the same ids. Damaged blocks are left out and
  /// added to `losses`.
  Status appendEvents(const sbt::BlockLog& from, uint64_t until, std::vector<DataLoss>& losses);

  /// Writes the index and the end marker, and syncs to disk. Nothing may be written afterwards.
  Status finish();

  /// In a forked child: closes the child's copy of the file, and with it the child's share of the
  /// file lock. The child must not use the writer afterwards.
  void closeInChild();

  uint64_t bytesWritten() const;
  const std::string& path() const;

 private:
  struct Impl;
  explicit TraceWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
