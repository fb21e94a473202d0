// SPDX-License-Identifier: Apache-2.0
// Writes SBT: an append-only log of self-contained, checksummed, compressed column blocks.
// docs/sbt.md is the norm. What has been written can be read at any moment, by others too.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct SourceRows;

struct WriterOptions {
  int zstd_level = 1;
  uint32_t max_block_rows = 131072;
  /// Encodes half of the tables of a large write() in a second thread; the file is the same.
  bool two_threads = false;
};

/// One thread at a time. Errors (a full disk, say) are returned at the call that met them; what was
/// complete before stays readable.
class TraceWriter {
 public:
  /// Creates `path` (replacing a file that is there) and writes the header.
  static Result<TraceWriter> create(const std::string& path, WriterOptions options = {});
  /// Opens an unfinished or damaged trace to append to it: cuts it after the last intact block of
  /// `keep_until` (bytes from the file's start; see TraceReader::blocks()), dropping index and end.
  static Result<TraceWriter> resume(const std::string& path, uint64_t keep_until,
                                    uint32_t strings_in_file, WriterOptions options = {});

  TraceWriter(TraceWriter&&) noexcept;
  TraceWriter& operator=(TraceWriter&&) noexcept;
  ~TraceWriter();  ///< closes without an end marker; finish() says that a trace is complete

  /// Appends the strings that are not yet in the file and every row of every table, in blocks. The
  /// rows are in the file's page cache when it returns (they survive the death of this process).
  /// Rows of events may change their order within a block; attributes have to be given together
  /// with the rows that they describe.
  /// `sources`: of the rows of some of its tables, as many as those have; and of events that are
  /// rows of none.
  Status write(const Trace& delta, const SourceRows* sources = nullptr);

  /// Writes index and end marker, and flushes to the device. Nothing may be written afterwards.
  Status finish();

  /// In a forked child: closes its copy of the file, and with it its part in the file's lock. The
  /// writer is of no use here afterwards.
  void closeInChild();

  uint64_t bytesWritten() const;
  const std::string& path() const;

 private:
  struct Impl;
  explicit TraceWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
