// SPDX-License-Identifier: Apache-2.0
// Makes DeviceOps of the rows of a trace, which may be read part by part.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tracesmith/analysis/timing/ops_by_stream.hpp"

namespace tracesmith {

/// Makes DeviceOps of the rows of tables, or of parts of tables.
class DeviceOpsMaker {
 public:
  /// `trace` has the streams and names, and outlives this.
  explicit DeviceOpsMaker(const Trace& trace, const AnalysisOptions& options = {});

  /// The rows of a kernel, copy, fill or sync table that may be device work. Needs the columns
  /// stream_id and flags. [any thread]
  template <class Table>
  OpsByStream::Counts countsOf(const Table& rows, const OpsByStream& ops) const;
  /// Writes to `out` what is device work among these rows. `first_row` is the number of the first
  /// one in the whole table; `launches` has for each the row of host_call or DeviceOp::kNone.
  /// False: there is more than was counted.
  template <class Table>
  bool writeOps(const Table& rows, std::span<const uint32_t> launches, uint32_t first_row,
                OpsByStream::Writer out);
  /// `ops` are those of all kernels, then copies, fills and waits, each by row.
  DeviceOps finish(OpsByStream ops) const;

 private:
  static constexpr int8_t kNotKnown = -1;

  /// False: the row is none, whatever its times are.
  template <class Table>
  bool mayCount(const Table& rows, size_t row) const;
  // A template by table, so that each table gets its own compiled loop.
  template <TableId kTable>
  bool setTimes(DeviceOp& op, int64_t start_ns, int64_t duration_ns) const;
  template <TableId kTable>
  WorkClass classOf(StringId name);

  const Trace& trace_;
  const AnalysisOptions options_;
  const HostCallTimes calls_;
  std::optional<int64_t> until_ns_;
  std::vector<int8_t> classes_;  // by name
};

}  // namespace tracesmith
