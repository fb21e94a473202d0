// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/event_copy.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tracesmith/format/blocks/block_contents.hpp"
#include "tracesmith/format/blocks/block_rows.hpp"

namespace tracesmith::sbt {
namespace {

constexpr uint16_t numberOf(TableId id) { return static_cast<uint16_t>(id); }

/// Tables of which each row stands for itself: no later row replaces it, and no other row has its
/// number, but for attributes.
bool isCopied(uint16_t table) {
  return (table >= numberOf(TableId::kHostCall) && isKnown(static_cast<TableId>(table))) ||
         table == numberOf(TableId::kClockSnapshot) || table == numberOf(TableId::kClockOffset) ||
         table == numberOf(TableId::kPending) || table == numberOf(TableId::kCommit);
}

class EventCopier {
 public:
  EventCopier(const BlockLog& from, BlockAppender& to, BlockEncoder& encoder, NameSet& names,
              std::vector<DataLoss>& losses)
      : from_(from), to_(to), encoder_(encoder), kernel_names_(names), losses_(losses) {}

  Status run(uint64_t until) {
    std::vector<const LogBlock*> attributes;
    for (const LogBlock& block : from_.blocks()) {
      if (block.end() > until || !isCopied(block.header.table)) continue;
      if (block.header.table == numberOf(TableId::kAttribute)) {
        attributes.push_back(&block);
      } else {
        TS_CHECK_OK(copy(block));
      }
    }
    for (const LogBlock* block : attributes) TS_CHECK_OK(copyAttributes(*block));
    return {};
  }

 private:
  /// Where the rows of a block are in the copy.
  struct Moved {
    uint64_t from = 0, rows = 0, to = 0;
  };

  bool load(const LogBlock& block) {
    Problem problem = contents_.load(from_.file(), from_.path(), block.offset, block.header);
    if (!problem) problem = contents_.checkStored();
    if (problem) lose(block, std::move(problem.text));
    return !problem;
  }
  void lose(const LogBlock& block, std::string why) {
    losses_.push_back({block.offset, block.header.totalBytes(), std::move(why)});
  }

  Status copy(const LogBlock& block) {
    if (!load(block)) return {};
    BlockHeader header = block.header;
    header.first_row = to_.rows(header.table);
    moved_[header.table].push_back({block.header.first_row, block.header.rows, header.first_row});
    TS_CHECK_OK(to_.append(header, contents_.stored()));
    if (header.table == numberOf(TableId::kKernel)) noteNames();
    return {};
  }

  void noteNames() {
    constexpr uint16_t kName = 3;
    const ColumnEntry* const entry = contents_.find(kName);
    names_.assign(contents_.rows(), StringId::kNone);
    if (entry == nullptr || readColumn(contents_, *entry, names_.size(), names_.data(), words_)) {
      return;
    }
    kernel_names_.add(names_);
  }

  std::optional<uint64_t> placeOf(uint32_t table, uint64_t row) const {
    const auto moved = moved_.find(static_cast<uint16_t>(table));
    if (moved == moved_.end()) return std::nullopt;
    const auto after = std::upper_bound(moved->second.begin(), moved->second.end(), row,
                                        [](uint64_t at, const Moved& m) { return at < m.from; });
    if (after == moved->second.begin()) return std::nullopt;
    const Moved& its = *std::prev(after);
    if (row - its.from >= its.rows) return std::nullopt;
    return its.to + (row - its.from);
  }

  Status copyAttributes(const LogBlock& block) {
    if (!load(block)) return {};
    AttributeTable rows;
    for (ColumnProblem& problem : appendRows(contents_, rows, words_, block.header.rows)) {
      lose(block, std::move(problem.problem.text));
    }
    AttributeTable kept;
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::optional<uint64_t> row = placeOf(rows.table[i], rows.row_number[i]);
      if (!row) continue;  // its row was lost
      AttributeRow attribute = rows.row(i);
      attribute.row_number = *row;
      kept.push(attribute);
    }
    return encoder_.encode(kept, to_.rows(numberOf(TableId::kAttribute)), false, nullptr,
                           [&](const BlockHeader& header) {
                             return to_.append(header, encoder_.builder().contents());
                           });
  }

  const BlockLog& from_;
  BlockAppender& to_;
  BlockEncoder& encoder_;
  NameSet& kernel_names_;
  std::vector<DataLoss>& losses_;
  BlockContents contents_;
  std::map<uint16_t, std::vector<Moved>> moved_;  // by table, in the order of `from`
  std::vector<StringId> names_;
  std::vector<uint64_t> words_;
};

}  // namespace

Status copyEvents(const BlockLog& from, uint64_t until, BlockAppender& to, BlockEncoder& encoder,
                  NameSet& kernel_names, std::vector<DataLoss>& losses) {
  losses.insert(losses.end(), from.losses().begin(), from.losses().end());
  return EventCopier(from, to, encoder, kernel_names, losses).run(until);
}

}  // namespace tracesmith::sbt
