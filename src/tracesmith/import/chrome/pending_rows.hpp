// SPDX-License-Identifier: Apache-2.0
// Batches of rows that are ready but not yet written: what follows in the document may still say
// whose device work they are.
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
  /// Each row stays until so many rows behind it have been read.
  static constexpr size_t kRowsAhead = 1u << 18;

  /// Takes the rows of `delta` (its strings stay) and their sources, and leaves both empty.
  void hold(Trace& delta, SourceRows& sources, size_t rows) {
    Batch& batch = batches_.emplace_back();
    batch.rows = rows;
    rows_ += rows;
    swap(batch, delta, sources);
  }
  bool empty() const { return batches_.empty(); }
  /// Whether enough rows follow the first batch.
  bool isFirstDue() const { return !empty() && rows_ - batches_.front().rows >= kRowsAhead; }
  /// Gives the rows of the first batch back; `delta` and `sources` have to be empty.
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
