// SPDX-License-Identifier: Apache-2.0
// Portions of rows that are ready but not yet written: what follows in the document may still say
// whose device work they are.
#pragma once

#include <cstddef>
#include <deque>
#include <type_traits>
#include <utility>

#include "tracesmith/model/source_rows.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::import {

class HeldPortions {
 public:
  /// Each row stays until so many rows behind it have been read.
  static constexpr size_t kRowsAhead = 1u << 18;

  /// Takes the rows of `delta` (its strings stay) and their sources, and leaves both empty.
  void hold(Trace& delta, SourceRows& sources, size_t rows) {
    Portion& portion = portions_.emplace_back();
    portion.rows = rows;
    rows_ += rows;
    swap(portion, delta, sources);
  }
  bool empty() const { return portions_.empty(); }
  /// Whether enough rows follow the first portion.
  bool isFirstDue() const { return !empty() && rows_ - portions_.front().rows >= kRowsAhead; }
  /// Gives the rows of the first portion back; `delta` and `sources` have to be empty.
  void takeFirst(Trace& delta, SourceRows& sources) {
    swap(portions_.front(), delta, sources);
    rows_ -= portions_.front().rows;
    portions_.pop_front();
  }

 private:
  struct Portion {
    Trace tables;
    SourceRows sources;
    size_t rows = 0;
  };

  static void swap(Portion& portion, Trace& delta, SourceRows& sources) {
    forEachTable(portion.tables, [&](auto& held) {
      forEachTable(delta, [&](auto& table) {
        if constexpr (std::is_same_v<decltype(held), decltype(table)>) std::swap(held, table);
      });
    });
    sources.swapRows(portion.sources);
  }

  std::deque<Portion> portions_;
  size_t rows_ = 0;
};

}  // namespace tracesmith::import
