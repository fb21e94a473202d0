// SPDX-License-Identifier: Apache-2.0
// Joins the traces of the ranks of one job into one trace. If their clocks were compared, all times
// are converted to that of the first rank; otherwise every rank keeps its own. Ids of all kinds are
// renumbered so that they do not collide, and every row can be told by rank
// (model/ranks/ranks.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/format/trace_writer.hpp"
#include "tracesmith/model/ranks/rank_clocks.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// New numbers for correlation or flow ids, so that those of two ranks differ.
class NumberMapping {
 public:
  /// Prepares for the numbers of the next rank, of which `largest` is the largest.
  void start(uint64_t largest);
  uint64_t operator()(uint64_t number);

 private:
  uint64_t base_ = 0;  // all numbers of earlier ranks are at most this
  uint64_t next_ = 0;  // the same, including this rank
  bool dense_ = false;
  std::unordered_map<uint64_t, uint64_t> dense_numbers_;
};

class RankMerge {
 public:
  /// Writes to `path`, replacing an existing file. `clocks` are those of the ranks in the order in
  /// which they will be added, if areCompared(); without, each rank keeps its own.
  static Result<RankMerge> create(const std::string& path, std::optional<RankClocks> clocks = {});

  /// Appends the trace of the next rank, without ranks of its own. With clocks all its times have
  /// to be host times; without, stamps of devices are kept: ReadOptions::convert_clocks = false.
  /// One trace at a time is in memory. Sources of imported events are left out, because they belong
  /// to several documents, and so are marks of a recording in progress.
  Status add(Trace trace);

  struct Rank {
    uint32_t number = 0;  ///< different for each rank
    RankSource number_from{};
    uint32_t world_size = 0;  ///< 0: unknown
    std::string file;
  };
  /// Writes the ranks, in the order in which their traces were added, the metadata, and the end.
  /// Nothing may be added afterwards.
  Status finish(std::span<const Rank> ranks);

  /// After finish(): a sentence for people on how far times of two ranks compare.
  const std::string& clocksText() const { return clocks_text_; }
  uint64_t bytesWritten() const { return writer_.bytesWritten(); }
  /// Attributes that described no row of their trace.
  uint64_t attributesLeftOut() const { return attributes_left_out_; }

 private:
  RankMerge(TraceWriter writer, std::optional<RankClocks> clocks)
      : writer_(std::move(writer)), clocks_(std::move(clocks)) {}
  Status mapRows(Trace& trace);
  void shiftAttributes(Trace& trace);
  void mapNumbers(Trace& trace);

  using Metadata = std::map<std::string, std::string>;

  TraceWriter writer_;
  StringTable strings_;
  std::map<TableId, uint64_t> rows_;  // rows, or ids, of each table so far
  NumberMapping correlations_, flows_;
  uint64_t attributes_left_out_ = 0;
  std::vector<Metadata> metadata_;  // of each rank
  std::optional<RankClocks> clocks_;
  std::string clocks_text_;
  std::vector<int64_t> errors_ns_;  // of the converted times of each rank
};

}  // namespace tracesmith
