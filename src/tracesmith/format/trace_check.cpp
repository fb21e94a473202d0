// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/trace_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tracesmith/format/block_log.hpp"
#include "tracesmith/format/blocks/table_traits.hpp"

namespace tracesmith {
namespace {

using namespace sbt;

/// Compares the index with the blocks found by reading all headers.
void compareIndex(const std::string& path, TraceCheck& check) {
  const auto indexed = BlockLog::open(path, true);
  const auto walked = BlockLog::open(path, false);
  if (!indexed || !walked || !indexed->complete()) return;
  const std::vector<LogBlock>& a = indexed->blocks();
  const std::vector<LogBlock>& b = walked->blocks();
  if (a.size() != b.size()) {
    check.problems.push_back(
        {0, 0, fmt::format("the index names {} blocks, the file has {}", a.size(), b.size())});
    return;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    const BlockHeader &of = a[i].header, &is = b[i].header;
    if (a[i].offset != b[i].offset || of.table != is.table || of.rows != is.rows ||
        of.first_row != is.first_row || of.sequence != is.sequence ||
        of.totalBytes() != is.totalBytes() || of.min_time_ns != is.min_time_ns ||
        of.max_time_ns != is.max_time_ns) {
      check.problems.push_back(
          {b[i].offset, is.totalBytes(), "the index does not match this block"});
    }
  }
}

/// Reports rows in host time that start or end outside the range stated by their block: a reader
/// that searches by time would miss them.
template <class Table>
size_t outsideOf(const BlockInfo& block, const Table& table) {
  size_t outside = 0;
  if (block.min_time_ns > block.max_time_ns) return 0;
  for (size_t i = 0; i < table.size(); ++i) {
    int64_t begin = 0, end = 0;
    if constexpr (SpanTable<const Table>) {
      if constexpr (kIsDeviceWork<Table>) {
        if ((table.flags[i] & op_flags::kDeviceClock) != 0) continue;
      }
      begin = table.start_ns[i];
      end = endOf(begin, table.duration_ns[i]);
    } else if constexpr (InstantTable<const Table>) {
      begin = end = table.time_ns[i];
    } else {
      return 0;
    }
    if (begin < block.min_time_ns || end > block.max_time_ns) ++outside;
  }
  return outside;
}

}  // namespace

Result<TraceCheck> checkTrace(const std::string& path,
                              const std::function<void(uint64_t)>& progress) {
  TS_TRY(TraceReader reader, TraceReader::open(path));
  TraceCheck check;
  check.bytes = reader.fileBytes();
  check.complete = reader.complete();
  const std::vector<BlockInfo>& blocks = reader.blocks();
  Trace trace;  // one block at a time, plus the dictionaries, whose rows must be consecutive
  for (size_t i = 0; i < blocks.size(); ++i) {
    const BlockInfo& block = blocks[i];
    check.columns += reader.columnsOf(i).size();
    if (isReadApart(block.table)) {
      reader.checkBlock(i);
      check.rows += block.rows;
      if (progress) progress(block.end);
      continue;
    }
    TS_CHECK_OK(reader.readBlock(i, trace));
    size_t outside = 0;
    forEachTable(trace, [&](auto& table) {
      using Table = std::decay_t<decltype(table)>;
      if (Table::kId != block.table) return;
      check.rows += isDictionary(Table::kId) ? block.rows : table.size();
      outside = outsideOf(block, table);
      if (!isDictionary(Table::kId)) table.clear();
    });
    if (block.table == TableId::kString) check.rows += block.rows;
    if (outside > 0) {
      check.problems.push_back(
          {block.offset, block.end - block.offset,
           fmt::format("{} of its {} rows lie outside of the time range that it states", outside,
                       block.rows)});
    }
    if (progress) progress(block.end);
  }
  check.blocks = blocks.size();
  compareIndex(path, check);
  const std::vector<DataLoss>& losses = reader.losses();
  check.problems.insert(check.problems.end(), losses.begin(), losses.end());
  std::stable_sort(check.problems.begin(), check.problems.end(),
                   [](const DataLoss& a, const DataLoss& b) { return a.offset < b.offset; });
  check.skipped = reader.skipped();
  return check;
}

}  // namespace tracesmith
