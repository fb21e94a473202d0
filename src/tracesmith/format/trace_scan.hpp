// SPDX-License-Identifier: Apache-2.0
// Reads the events of a trace block by block, on several threads: the memory that it takes grows
// with the trace's dictionaries, and not with the number of its events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/base/ordered_parallel.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/model/clock_map.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// A block of a table of events.
struct ScanBlock {
  size_t index = 0;  ///< in TraceReader::blocks()
  TableId table{};
  uint32_t rows = 0;
  uint64_t first_row = 0;
  /// Host time range of its rows, which may be too wide; INT64_MIN to INT64_MAX: unknown.
  int64_t min_ns = 0, max_ns = 0;
};

class TraceScan {
 public:
  /// Reads what is always read: dictionaries, processes, devices, clocks and the like. `threads`
  /// 0: as many as there are processors.
  static Result<TraceScan> open(const std::string& path, unsigned threads = 0);
  ~TraceScan();
  TraceScan(TraceScan&&) = default;
  TraceScan& operator=(TraceScan&&) = default;

  /// Has no events.
  const Trace& tables() const { return *tables_; }
  TraceReader& reader() { return readers_[0]; }
  unsigned threads() const { return static_cast<unsigned>(readers_.size()); }
  /// The blocks of these tables, by min_ns.
  std::vector<ScanBlock> blocksOf(std::span<const TableId> tables);
  /// What could not be read so far, each once.
  std::vector<DataLoss> losses() const;
  /// Looks for damage in the blocks of events that forEach() has not visited.
  Status checkRest();
  /// Rows of a table of events that could be read so far; with checkRest(), of the whole file.
  uint64_t rowsRead(TableId table) const;

  /// Calls map(rows, block, thread) for each block, on several threads, numbered from 0; `rows` has
  /// the rows of the block and nothing else, in host time, with only the columns of these numbers
  /// (all, if there are none). Calls take(result) on this thread, in the order of `blocks`.
  template <class Map, class Take>
  Status forEach(std::span<const ScanBlock> blocks, std::span<const uint16_t> columns, Map&& map,
                 Take&& take) {
    struct Part {
      Status status;
      decltype(map(std::declval<const Trace&>(), std::declval<const ScanBlock&>(), 0u)) result{};
    };
    Status status;
    const bool all = makeInOrder(
        blocks.size(), static_cast<unsigned>(std::min<size_t>(threads(), blocks.size())),
        [&](unsigned thread, size_t i) {
          Part part;
          part.status = readRows(thread, blocks[i], columns);
          if (part.status) part.result = map(rows_[thread], blocks[i], thread);
          return part;
        },
        [&](Part&& part) {
          status = std::move(part.status);
          if (status) status = checkCancelled();
          if (status) take(std::move(part.result));
          return status.has_value();
        });
    if (status && !all) status = fail(ErrorCode::kUnsupported, "interrupted");
    return status;
  }

 private:
  TraceScan() = default;
  /// Into rows_[thread].
  Status readRows(unsigned thread, const ScanBlock& block, std::span<const uint16_t> columns);

  std::unique_ptr<Trace> tables_;
  std::unique_ptr<HostTimeConverter> clocks_;  // of *tables_
  std::vector<TraceReader> readers_;           // by thread
  std::vector<Trace> rows_;
  std::vector<std::optional<uint32_t>> rows_read_;  // by block; empty: not visited
};

}  // namespace tracesmith
