// SPDX-License-Identifier: Apache-2.0
#include "row_window.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "tracesmith/format/blocks/table_traits.hpp"
#include "tracesmith/model/clock_map.hpp"

namespace tracesmith::python {
namespace {

template <class T>
void takeValues(ColumnArray& to, const ColumnArray& from, std::span<const uint64_t> positions) {
  auto values = std::make_shared<std::vector<T>>();
  values->reserve(positions.size());
  for (const uint64_t at : positions) values->push_back(static_cast<const T*>(from.data)[at]);
  to.data = values->data();
  to.owner = std::move(values);
}

/// Of the texts of `from`, keeps those that rows of `taken` have, in their order.
void takeTexts(ColumnArray& taken, const ColumnArray& from) {
  auto codes =
      std::make_shared<std::vector<int32_t>>(static_cast<const int32_t*>(taken.data),
                                             static_cast<const int32_t*>(taken.data) + taken.rows);
  std::vector<int32_t> used = *codes;
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::erase_if(used, [](int32_t code) { return code < 0; });
  for (const int32_t code : used) {
    const auto at = static_cast<size_t>(code);
    taken.texts.insert(taken.texts.end(), from.texts.begin() + from.text_ends[at],
                       from.texts.begin() + from.text_ends[at + 1]);
    taken.text_ends.push_back(static_cast<int64_t>(taken.texts.size()));
  }
  for (int32_t& code : *codes) {
    if (code < 0) continue;
    const auto place = std::lower_bound(used.begin(), used.end(), code);
    code = static_cast<int32_t>(place - used.begin());
  }
  taken.data = codes->data();
  taken.owner = std::move(codes);
}

}  // namespace

ColumnArray takeRows(const ColumnArray& from, std::span<const uint64_t> positions) {
  ColumnArray taken;
  taken.rows = positions.size();
  taken.format = from.format;
  taken.is_text = from.is_text;
  const bool narrow = from.format == 'I' || from.format == 'i';
  narrow ? takeValues<uint32_t>(taken, from, positions)
         : takeValues<uint64_t>(taken, from, positions);
  if (from.is_text) takeTexts(taken, from);
  if (from.nulls == 0) return taken;
  taken.valid.assign((taken.rows + 7) / 8, 0xff);
  for (size_t i = 0; i < positions.size(); ++i) {
    const uint64_t at = positions[i];
    if ((from.valid[at / 8] >> at % 8 & 1) != 0) continue;
    taken.valid[i / 8] = static_cast<uint8_t>(taken.valid[i / 8] & ~(1u << i % 8));
    ++taken.nulls;
  }
  return taken;
}

Result<ColumnArray> arrayOf(const OpenTrace::Loaded& loaded, std::string_view table,
                            const std::string& name) {
  const SqlTable& rows = *loaded->catalog->find(table);
  for (const auto& column : rows.columns()) {
    if (column->name() == name) return columnArray(loaded, rows, *column);
  }
  return fail(ErrorCode::kNotFound, "there is no such column", name);
}

Result<std::optional<uint64_t>> RowWindow::read(TraceReader& reader, std::string_view table,
                                                uint64_t first, uint64_t count) {
  if (held_ && held_->table == table && held_->first == first && held_->count == count) {
    return held_->begin;
  }
  forget();
  held_ = Held{std::string(table), first, count, {}};
  Result<std::optional<uint64_t>> begin = readAnew(reader, table, first, count);
  begin ? void(held_->begin = *begin) : forget();
  return begin;
}

Result<std::optional<uint64_t>> RowWindow::readAnew(TraceReader& reader,
                                                    std::string_view table_name, uint64_t first,
                                                    uint64_t count) {
  if (!reader.losses().empty()) return std::nullopt;  // rows are numbered anew without the lost
  if (peek_ == nullptr) {
    ReadOptions options;
    options.tables = {TableId::kMetadata};
    auto peek = std::make_shared<TraceTables::Loaded>();
    TS_TRY(peek->trace, reader.read(options));
    peek_ = std::move(peek);
  }
  std::optional<uint64_t> begin;
  Status status;
  forEachTable(peek_->trace, [&](auto& table) {
    constexpr TableId kId = std::decay_t<decltype(table)>::kId;
    if (table.kName != table_name || sbt::isAlwaysRead(kId)) return;
    table.resize(0);
    const std::vector<BlockInfo>& blocks = reader.blocks();
    for (size_t i = 0; i < blocks.size() && status; ++i) {
      const uint64_t block_first = blocks[i].first_row;
      if (blocks[i].table != kId || block_first + blocks[i].rows <= first) continue;
      if (block_first >= first && block_first - first >= count) break;
      begin = begin.value_or(block_first);
      const uint64_t wanted = std::min<uint64_t>(blocks[i].rows, first - block_first + count);
      status = reader.readBlock(i, peek_->trace, 0, static_cast<size_t>(wanted));
      if (table.size() != block_first + wanted - *begin) {
        status = fail(ErrorCode::kDamaged, "rows are missing");
      }
    }
    if (!begin) begin = reader.rows(kId);
    convertToHostTime(peek_->trace, kId);
  });
  if (!status && status.error().code == ErrorCode::kDamaged) return std::nullopt;
  if (!status) return tl::unexpected(status.error());
  return begin;
}

void RowWindow::forget() {
  if (held_ && peek_ != nullptr) {
    peek_->catalog.reset();
    forEachTable(peek_->trace, [&](auto& table) {
      using Table = std::decay_t<decltype(table)>;
      if (Table::kName == held_->table && !sbt::isAlwaysRead(Table::kId)) table = Table{};
    });
  }
  held_.reset();
  if (peek_ == nullptr) return;
  if (peek_->trace.strings.size() <= kMostTextsKept) return;
  labels_ = nullptr;
  peek_ = nullptr;
}

Result<Rows> RowWindow::at(OpenTrace& open, std::string_view table,
                           std::span<const std::string> columns, uint64_t first, uint64_t count) {
  TS_TRY(const std::optional<uint64_t> begin, read(open.tables().reader(), table, first, count));
  OpenTrace::Loaded loaded = peek_;
  if (begin) {
    const bool labelled = std::find(columns.begin(), columns.end(), "short_name") != columns.end();
    if (labelled && labels_ == nullptr) {
      labels_ = std::make_unique<KernelLabels>(peek_->trace.strings,
                                               open.tables().reader().kernelNames());
    }
    peek_->catalog = std::make_unique<Catalog>(peek_->trace, labels_.get());
  } else {
    TS_TRY(loaded, open.tables().need(table, columns));
  }
  const uint64_t skipped = first - begin.value_or(0);
  const uint64_t present = presentRows(*loaded->catalog->find(table));
  Rows found;
  found.count = skipped < present ? std::min(count, present - skipped) : 0;
  std::vector<uint64_t> positions(static_cast<size_t>(found.count));
  std::iota(positions.begin(), positions.end(), skipped);
  for (const std::string& name : columns) {
    TS_TRY(const ColumnArray array, arrayOf(loaded, table, name));
    found.columns.push_back(takeRows(array, positions));
  }
  if (peek_ != nullptr && peek_->trace.strings.size() > kMostTextsKept) forget();
  return found;
}

}  // namespace tracesmith::python
