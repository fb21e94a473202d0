// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/trace_scan.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <thread>
#include <tuple>
#include <type_traits>

#include "tracesmith/base/spare_objects.hpp"
#include "tracesmith/format/blocks/table_traits.hpp"

namespace tracesmith {

namespace {

/// Those of the process. They are never destroyed: threads may still use them when it ends.
SpareObjects<Trace>& spareRows() {
  static auto* const rows = new SpareObjects<Trace>(2);
  return *rows;
}

size_t memoryOf(const Trace& rows) {
  size_t bytes = 0;
  forEachTable(rows, [&](const auto& table) {
    std::decay_t<decltype(table)>::visitColumns(table, [&](const ColumnInfo&, const auto& column) {
      bytes += column.capacity() * sizeof(*column.data());
    });
  });
  return bytes;
}

}  // namespace

TraceScan::~TraceScan() {
  constexpr size_t kMostBytes = size_t{16} << 20;
  for (Trace& rows : rows_) {
    if (memoryOf(rows) <= kMostBytes) spareRows().keep(std::move(rows));
  }
}

Result<TraceScan> TraceScan::open(const std::string& path, unsigned threads) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  TraceScan scan;
  for (unsigned i = 0; i < threads; ++i) {
    TS_TRY(TraceReader reader, TraceReader::open(path));
    scan.readers_.push_back(std::move(reader));
  }
  for (unsigned i = 0; i < threads; ++i) scan.rows_.push_back(spareRows().take());
  scan.rows_read_.resize(scan.readers_[0].blocks().size());
  ReadOptions options;
  options.tables = {TableId::kMetadata};
  TS_TRY(Trace tables, scan.readers_[0].read(options));
  scan.tables_ = std::make_unique<Trace>(std::move(tables));
  scan.clocks_ = std::make_unique<HostTimeConverter>(*scan.tables_);
  return scan;
}

std::vector<ScanBlock> TraceScan::blocksOf(std::span<const TableId> tables) {
  std::vector<ScanBlock> out;
  const std::vector<BlockInfo>& all = readers_[0].blocks();
  for (size_t i = 0; i < all.size(); ++i) {
    const BlockInfo& block = all[i];
    if (std::find(tables.begin(), tables.end(), block.table) == tables.end()) continue;
    const bool has_times = block.min_time_ns <= block.max_time_ns;
    out.push_back({.index = i,
                   .table = block.table,
                   .rows = block.rows,
                   .first_row = block.first_row,
                   .min_ns = has_times ? block.min_time_ns : std::numeric_limits<int64_t>::min(),
                   .max_ns = has_times ? block.max_time_ns : std::numeric_limits<int64_t>::max()});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const ScanBlock& a, const ScanBlock& b) { return a.min_ns < b.min_ns; });
  return out;
}

Status TraceScan::readRows(unsigned thread, const ScanBlock& block,
                           std::span<const uint16_t> columns) {
  Trace& rows = rows_[thread];
  forEachTable(rows, [](auto& table) { table.clear(); });
  TS_CHECK_OK(readers_[thread].readBlock(block.index, rows, 0, SIZE_MAX, columns));
  forEachTable(rows, [&](auto& table) {
    using Table = std::decay_t<decltype(table)>;
    if (Table::kId == block.table) rows_read_[block.index] = static_cast<uint32_t>(table.size());
    if constexpr (sbt::kIsDeviceWork<std::decay_t<decltype(table)>>) clocks_->convert(table);
  });
  return {};
}

Status TraceScan::checkRest() {
  std::vector<TableId> tables;
  forEachTable(*tables_, [&](const auto& table) {
    constexpr TableId kId = std::decay_t<decltype(table)>::kId;
    if (!sbt::isAlwaysRead(kId)) tables.push_back(kId);
  });
  std::vector<ScanBlock> blocks = blocksOf(tables);
  std::erase_if(blocks,
                [&](const ScanBlock& block) { return rows_read_[block.index].has_value(); });
  constexpr uint16_t kNoColumn[] = {UINT16_MAX};
  return forEach(
      blocks, kNoColumn, [](const Trace&, const ScanBlock&, unsigned) { return 0; }, [](int) {});
}

uint64_t TraceScan::rowsRead(TableId table) const {
  uint64_t rows = 0;
  const std::vector<BlockInfo>& all = readers_[0].blocks();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].table == table) rows += rows_read_[i].value_or(0);
  }
  return rows;
}

std::vector<DataLoss> TraceScan::losses() const {
  std::vector<DataLoss> out;
  std::set<std::pair<uint64_t, std::string>> known;
  for (const TraceReader& reader : readers_) {
    for (const DataLoss& loss : reader.losses()) {
      if (known.emplace(loss.offset, loss.reason).second) out.push_back(loss);
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const DataLoss& a, const DataLoss& b) { return a.offset < b.offset; });
  return out;
}

}  // namespace tracesmith
