// SPDX-License-Identifier: Apache-2.0
// A few rows of a table, for which only their blocks of the file are read.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/analysis/kernel_names/kernel_labels.hpp"
#include "tracesmith/api/open_trace.hpp"

namespace tracesmith::python {

/// A copy of the rows at these positions, with only the texts that they have.
ColumnArray takeRows(const ColumnArray& from, std::span<const uint64_t> positions);

/// The column `name` of a table of `loaded`, which has been read.
Result<ColumnArray> arrayOf(const OpenTrace::Loaded& loaded, std::string_view table,
                            const std::string& name);

struct Rows {
  uint64_t count = 0;
  std::vector<ColumnArray> columns;
};

/// Not thread-safe: one thread at a time.
class RowWindow {
 public:
  /// Copies of the rows [first, first + count) of `columns`, as far as there are that many. Reads
  /// the whole table if it is computed from others, or is damaged at these rows.
  Result<Rows> at(OpenTrace& open, std::string_view table, std::span<const std::string> columns,
                  uint64_t first, uint64_t count);

 private:
  /// The number of the first row that `peek_` then has; none: the whole table must be read.
  Result<std::optional<uint64_t>> read(TraceReader& reader, std::string_view table, uint64_t first,
                                       uint64_t count);

  Result<std::optional<uint64_t>> readAnew(TraceReader& reader, std::string_view table,
                                           uint64_t first, uint64_t count);

  /// Releases the rows of `held_`, and the dictionaries if they are large.
  void forget();

  /// Dictionaries with more texts are read again for each window, so that they do not stay in
  /// memory twice. 190,000 texts of 70 bytes take 26 MiB, and 30 ms to read.
  static constexpr size_t kMostTextsKept = 1'000'000;

  /// Rows that `peek_` has, and the number of the first.
  struct Held {
    std::string table;
    uint64_t first = 0;
    uint64_t count = 0;
    std::optional<uint64_t> begin;
  };

  std::shared_ptr<TraceTables::Loaded> peek_;  // the dictionaries, and the rows of `held_`
  std::optional<Held> held_;  // what is shown is often asked for again: its length, its rows
  // Labels of kernels depend on the names of all kernels, so these are read for the first label.
  std::unique_ptr<KernelLabels> labels_;  // of texts of `peek_`
};

}  // namespace tracesmith::python
