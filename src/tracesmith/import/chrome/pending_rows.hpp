// SPDX-License-Identifier: Apache-2.0
// Batches of rows that are complete except for their launching thread: later events of the document
// may still identify it. So they are not yet written.
#pragma once

#include <cstddef>
#include <deque>
#include <type_traits>
#include <utility>

#include "tracesmith/model/source_rows.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::import {

class PendingRows {
 public:
  /// A batch is held until this many rows after it have been read.
  static constexpr size_t kRowsAhead = 1u << 18;

  /// Takes the rows of `delta` (but not its strings) and their sources; both are empty afterwards.
  void hold(Trace& delta, SourceRows& sources, size_t rows) {
    Batch& batch = batches_.emplace_back();
    batch.rows = rows;
    rows_ += rows;
    swap(batch, delta, sources);
  }
  bool empty() const { return batches_.empty(); }
  /// Whether enough rows follow the first batch.
  bool isFirstDue() const { return !empty() && rows_ - batches_.front().rows >= kRowsAhead; }
  /// Moves the rows of the first batch back. `delta` and `sources` must be empty.
  void takeFirst(Trace& delta, SourceRows& sources) {
    swap(batches_.front(), delta, sources);
    rows_ -= batches_.front().rows;
    batches_.pop_front();
  }

 private:
  struct Batch {
    Trace tables;
    SourceRows sources;
    size_t rows = 0;
  };

  static void swap(Batch& batch, Trace& delta, SourceRows& sources) {
    forEachTable(batch.tables, [&](auto& held) {
      forEachTable(delta, [&](auto& table) {
        if constexpr (std::is_same_v<decltype(held), decltype(table)>) std::swap(held, table);
      });
    });
    sources.swapRows(batch.sources);
  }

  std::deque<Batch> batches_;
  size_t rows_ = 0;
};

}  // namespace tracesmith::import
