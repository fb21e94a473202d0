// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/trace_writer.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/format/block_builder.hpp"
#include "tracesmith/format/block_log.hpp"
#include "tracesmith/format/file_io.hpp"
#include "tracesmith/format/keyed_rows.hpp"
#include "tracesmith/format/row_order.hpp"
#include "tracesmith/format/sbt_layout.hpp"
#include "tracesmith/format/source_blocks.hpp"
#include "tracesmith/format/table_traits.hpp"
#include "tracesmith/format/time_hints.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/words.hpp"

namespace tracesmith {
namespace {

using namespace sbt;

/// Text of one string block; a single longer string (up to kMaxStringBytes) gets its own.
constexpr size_t kStringBlockBytes = 4u << 20;
constexpr uint32_t kIndexBlockRows = 65536;

std::array<uint8_t, 16> randomUuid() {
  std::array<uint8_t, 16> uuid{};
  if (getrandom(uuid.data(), uuid.size(), 0) != static_cast<ssize_t>(uuid.size())) {
    // Without a random source two clocks still tell files apart.
    const int64_t stamps[2] = {clockNs(CLOCK_REALTIME), monotonicNs()};
    std::memcpy(uuid.data(), stamps, sizeof(stamps));
  }
  uuid[6] = static_cast<uint8_t>((uuid[6] & 0x0f) | 0x40);  // version 4 of RFC 4122
  uuid[8] = static_cast<uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

/// `count` values as words, in the order of `order` (null: as they are); none when all are 0.
template <class T>
void gatherWords(const T* values, size_t count, const uint32_t* order, Buffer<uint64_t>& out) {
  uint64_t any = 0;
  for (size_t i = 0; i < count && any == 0;) {
    for (const size_t end = std::min(count, i + 1024); i < end; ++i) any |= toWord(values[i]);
  }
  out.resize(any == 0 ? 0 : count);
  if (any == 0) return;
  if (order == nullptr) {
    toWords(values, count, out.data());
  } else {
    for (size_t i = 0; i < count; ++i) out[i] = toWord(values[order[i]]);
  }
}

/// Whether attributes name rows of the table by their numbers: then those must stay.
bool isDescribed(const AttributeTable& attributes, TableId id) {
  return std::find(attributes.table.begin(), attributes.table.end(), static_cast<uint32_t>(id)) !=
         attributes.table.end();
}

}  // namespace

struct TraceWriter::Impl {
  Impl(std::string file_path, WriterOptions writer_options)
      : path(std::move(file_path)), options(writer_options), builder(writer_options.zstd_level) {
    options.max_block_rows = std::clamp(options.max_block_rows, uint32_t{1}, kMaxBlockRows);
  }

  /// Where the file stands; put back when a write fails.
  struct Position {
    uint64_t offset = 0;
    uint64_t sequence = 0;
    size_t index_size = 0;
    std::map<TableId, uint64_t> rows;  // strings included
  };

  std::string path;
  WriterOptions options;
  FileHandle file;
  uint64_t tag = 0;
  Position at;
  std::vector<LogBlock> index;
  BlockBuilder builder;
  TimeHints hints;
  struct NumberedWords {
    uint16_t column = 0;
    BaseWords values;  // none: all are 0
  };
  std::vector<NumberedWords> words;  // of the block that is being made
  std::vector<uint32_t> order;
  const SourceRows* sources = nullptr;  // of what is being written
  SourceBlockWriter source_blocks;
  bool finished = false;

  Status writeBlock(BlockHeader header) {
    header.sequence = at.sequence;
    header.tag = tag;
    const ByteView block = builder.finish(header, at.offset);
    TS_CHECK_OK(writeAt(file, at.offset, block, path));
    if (header.kind == BlockKind::kTable) {
      LogBlock entry;
      entry.offset = at.offset;
      entry.header = header;
      decodeBlockHeader(block.data(), at.offset, entry.header);  // with the sizes filled in
      index.push_back(entry);
      at.index_size = index.size();
      at.rows[static_cast<TableId>(header.table)] += entry.header.rows;
    }
    at.offset += block.size();
    ++at.sequence;
    return {};
  }

  Status writeStrings(const StringTable& strings);
  template <class Table>
  Status writeTable(const Table& table, bool may_reorder = false);
  Status writeSources(TableId table, const SourceTable& rows, size_t begin, size_t count,
                      const uint32_t* in_order, BlockHeader of_table);
  Status writeDelta(const Trace& delta);
  Status writeIndexAndEnd();
  Status checkDelta(const Trace& delta) const;

  /// Runs `body`; when it fails the file is cut back to where it was, so that it stays readable and
  /// the same rows may be written again.
  template <class Body>
  Status wholeOrNothing(Body body) {
    const Position before = at;
    Status status = body();
    if (!status) {
      at = before;
      index.resize(at.index_size);
      // If even this fails, readers skip the torn block by its checksum.
      (void)truncateTo(file, at.offset, path);
    }
    return status;
  }
};

Status TraceWriter::Impl::writeStrings(const StringTable& strings) {
  std::vector<uint64_t> lengths;
  Bytes text;
  size_t next = static_cast<size_t>(at.rows[TableId::kString]);
  while (next < strings.size()) {
    BlockHeader header;
    header.table = static_cast<uint16_t>(TableId::kString);
    header.first_row = next;
    lengths.clear();
    text.clear();
    while (next < strings.size() && lengths.size() < options.max_block_rows) {
      const std::string_view s = strings.at(idAt<StringId>(next));
      if (s.size() > kMaxStringBytes) {
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("a string of {} bytes is too long for a trace (at most {})",
                                s.size(), kMaxStringBytes),
                    path);
      }
      if (!lengths.empty() && text.size() + s.size() > kStringBlockBytes) break;
      lengths.push_back(s.size());
      text.insert(text.end(), s.begin(), s.end());
      ++next;
    }
    builder.begin(static_cast<uint32_t>(lengths.size()), header.table);
    builder.addWords(static_cast<uint16_t>(StringColumn::kLength), ElementType::kU32, lengths);
    builder.addBytes(static_cast<uint16_t>(StringColumn::kText), text);
    TS_CHECK_OK(writeBlock(header));
  }
  return {};
}

template <class Table>
Status TraceWriter::Impl::writeTable(const Table& table, bool may_reorder) {
  const size_t rows = table.size();
  for (size_t begin = 0; begin < rows; begin += options.max_block_rows) {
    const size_t count = std::min<size_t>(options.max_block_rows, rows - begin);
    BlockHeader header;
    header.table = static_cast<uint16_t>(Table::kId);
    header.first_row = at.rows[Table::kId];
    const TimeHints::Range range = hints.of(table, begin, begin + count);
    header.min_time_ns = range.min_ns;
    header.max_time_ns = range.max_ns;
    const bool reordered = may_reorder && orderRows(table, begin, count, order);
    size_t columns = 0;
    Table::visitColumns(table, [&](const ColumnInfo& info, const auto& column) {
      if (columns == words.size()) words.emplace_back();
      NumberedWords& w = words[columns++];
      w.column = info.number;
      w.values.clear();
      gatherWords(column.data() + begin, count, reordered ? order.data() : nullptr, w.values.words);
    });
    builder.begin(static_cast<uint32_t>(count), header.table);
    size_t next = 0;
    Table::visitColumns(table, [&](const ColumnInfo& info, const auto& column) {
      using T = typename std::decay_t<decltype(column)>::value_type;
      NumberedWords& w = words[next++];
      const uint16_t base = relatedColumn<Table>(info.number);
      BaseWords* base_words = nullptr;
      for (size_t i = 0; base != 0 && i < columns; ++i) {
        if (words[i].column == base && !words[i].values.words.empty())
          base_words = &words[i].values;
      }
      builder.addWords(info.number, elementTypeOf<T>(), w.values.words, base, base_words);
    });
    TS_CHECK_OK(writeBlock(header));
    const SourceTable* rows_sources = sources == nullptr ? nullptr : sources->find(Table::kId);
    if (rows_sources == nullptr || rows_sources->size() != rows) continue;
    TS_CHECK_OK(writeSources(Table::kId, *rows_sources, begin, count,
                             reordered ? order.data() : nullptr, header));
  }
  return {};
}

/// A block that says how `count` rows stood in their source; `of_table` is the header of theirs.
Status TraceWriter::Impl::writeSources(TableId table, const SourceTable& rows, size_t begin,
                                       size_t count, const uint32_t* in_order,
                                       BlockHeader of_table) {
  const uint64_t first_row = of_table.first_row;
  size_t next = 0;
  while (next < count) {
    const size_t taken = source_blocks.fill(builder, *sources, rows,
                                            {.table = table,
                                             .first_row = first_row + next,
                                             .begin = begin,
                                             .next = next,
                                             .count = count,
                                             .order = in_order});
    BlockHeader header = of_table;
    header.table = static_cast<uint16_t>(TableId::kSource);
    header.first_row = at.rows[TableId::kSource];
    TS_CHECK_OK(writeBlock(header));
    next += taken;
  }
  return {};
}

Status TraceWriter::Impl::checkDelta(const Trace& delta) const {
  const auto strings = at.rows.find(TableId::kString);
  if (strings != at.rows.end() && delta.strings.size() < strings->second) {
    return fail(ErrorCode::kInvalidArgument,
                "the strings given are fewer than those already written: each write must be given "
                "the same, growing string table",
                path);
  }
  const char* uneven = nullptr;
  forEachTable(delta, [&](const auto& table) {
    using Table = std::decay_t<decltype(table)>;
    Table::visitColumns(table, [&](const ColumnInfo&, const auto& column) {
      if (column.size() != table.size()) uneven = Table::kName;
    });
  });
  if (uneven != nullptr) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the columns of table {} have different lengths", uneven), path);
  }
  // Rows that are in the file may lie in another order than they were given in.
  bool too_late = false;
  forEachTable(delta, [&](const auto& table) {
    using Table = std::decay_t<decltype(table)>;
    const auto written = at.rows.find(Table::kId);
    if (!kMayReorder<Table> || written == at.rows.end()) return;
    for (size_t i = 0; i < delta.attribute.size(); ++i) {
      too_late = too_late || (delta.attribute.table[i] == static_cast<uint32_t>(Table::kId) &&
                              delta.attribute.row_number[i] < written->second);
    }
  });
  if (too_late) {
    return fail(ErrorCode::kInvalidArgument,
                "attributes have to be written together with the rows that they describe", path);
  }
  return {};
}

Status TraceWriter::Impl::writeDelta(const Trace& delta) {
  hints.learn(delta);
  TS_CHECK_OK(writeStrings(delta.strings));
  Status status;
  forEachTable(delta, [&](const auto& table) {
    using Table = std::decay_t<decltype(table)>;
    if constexpr (!std::is_same_v<Table, PendingTable> && !std::is_same_v<Table, CommitTable>) {
      const bool may_reorder = kMayReorder<Table> && !isDescribed(delta.attribute, Table::kId);
      if (status) status = writeTable(table, may_reorder);
    }
  });
  // What says that rows are in the file comes after them: a file cut in between must not claim rows
  // that it has not.
  if (status && sources != nullptr) {
    if (const SourceTable* rows = sources->find(SourceRows::kNone); rows != nullptr) {
      for (size_t begin = 0; begin < rows->size() && status; begin += options.max_block_rows) {
        status = writeSources(SourceRows::kNone, *rows, begin,
                              std::min<size_t>(options.max_block_rows, rows->size() - begin),
                              nullptr, {});
      }
    }
  }
  if (status) status = writeTable(delta.pending);
  if (status) status = writeTable(delta.commit_mark);
  return status;
}

Status TraceWriter::Impl::writeIndexAndEnd() {
  BlockHeader end;
  end.kind = BlockKind::kEnd;
  end.first_row = at.offset;
  std::vector<uint64_t> values;
  for (size_t begin = 0; begin < index.size(); begin += kIndexBlockRows) {
    const size_t count = std::min<size_t>(kIndexBlockRows, index.size() - begin);
    builder.begin(static_cast<uint32_t>(count), 0);
    auto add = [&](IndexColumn column, ElementType type, auto value) {
      values.clear();
      for (size_t i = begin; i < begin + count; ++i) {
        values.push_back(static_cast<uint64_t>(value(index[i])));
      }
      builder.addWords(static_cast<uint16_t>(column), type, values);
    };
    using B = const LogBlock&;
    constexpr ElementType kU64 = ElementType::kU64;
    constexpr ElementType kI64 = ElementType::kI64;
    add(IndexColumn::kOffset, kU64, [](B b) { return b.offset; });
    add(IndexColumn::kBytes, kU64, [](B b) { return b.header.totalBytes(); });
    add(IndexColumn::kTable, kU64, [](B b) { return b.header.table; });
    add(IndexColumn::kRows, kU64, [](B b) { return b.header.rows; });
    add(IndexColumn::kFirstRow, kU64, [](B b) { return b.header.first_row; });
    add(IndexColumn::kSequence, kU64, [](B b) { return b.header.sequence; });
    add(IndexColumn::kMinTime, kI64, [](B b) { return b.header.min_time_ns; });
    add(IndexColumn::kMaxTime, kI64, [](B b) { return b.header.max_time_ns; });
    add(IndexColumn::kKind, kU64, [](B b) { return b.header.kind; });
    add(IndexColumn::kDirectoryBytes, kU64, [](B b) { return b.header.directory_bytes; });
    add(IndexColumn::kRequiredFlags, kU64, [](B b) { return b.header.required_flags; });
    BlockHeader header;
    header.kind = BlockKind::kIndex;
    TS_CHECK_OK(writeBlock(header));
    ++end.rows;
  }
  for (const LogBlock& block : index) {
    if (!block.header.hasTimes()) continue;
    end.min_time_ns = std::min(end.min_time_ns, block.header.min_time_ns);
    end.max_time_ns = std::max(end.max_time_ns, block.header.max_time_ns);
  }
  builder.begin(0, 0);
  TS_CHECK_OK(writeBlock(end));
  return syncToDevice(file, path);
}

TraceWriter::TraceWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceWriter::TraceWriter(TraceWriter&&) noexcept = default;
TraceWriter& TraceWriter::operator=(TraceWriter&&) noexcept = default;
TraceWriter::~TraceWriter() = default;

Result<TraceWriter> TraceWriter::create(const std::string& path, WriterOptions options) {
  auto impl = std::make_unique<Impl>(path, options);
  TS_TRY(impl->file, openForWriting(path, true));
  TS_CHECK_OK(truncateTo(impl->file, 0, path));
  FileHeader header;
  header.uuid = randomUuid();
  header.created_ns = clockNs(CLOCK_REALTIME);
  impl->tag = header.tag();
  TS_CHECK_OK(writeAt(impl->file, 0, encodeFileHeader(header), path));
  impl->at.offset = kFileHeaderBytes;
  return TraceWriter(std::move(impl));
}

Result<TraceWriter> TraceWriter::resume(const std::string& path, uint64_t keep_until,
                                        uint32_t strings_in_file, WriterOptions options) {
  auto impl = std::make_unique<Impl>(path, options);
  TS_TRY(impl->file, openForWriting(path, false));
  // Headers are walked, not the index, which may say more than is kept.
  TS_TRY(BlockLog log, BlockLog::open(path, false));
  if (!log.headerIntact()) {
    return fail(ErrorCode::kDamaged, "a trace with a damaged header can not be continued", path);
  }
  impl->tag = log.tag();
  Impl::Position& at = impl->at;
  at.offset = log.header().header_bytes;
  std::vector<LogBlock> kept = log.blocks();
  kept.insert(kept.end(), log.foreignBlocks().begin(), log.foreignBlocks().end());
  std::sort(kept.begin(), kept.end(),
            [](const LogBlock& a, const LogBlock& b) { return a.offset < b.offset; });
  for (const LogBlock& block : kept) {
    if (block.end() > keep_until) break;
    impl->index.push_back(block);
    at.offset = block.end();
    at.sequence = block.header.sequence + 1;
    if (block.header.kind == BlockKind::kTable) {
      at.rows[static_cast<TableId>(block.header.table)] =
          block.header.first_row + block.header.rows;
    }
  }
  at.index_size = impl->index.size();
  if (at.rows[TableId::kString] != strings_in_file) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the part that is kept has {} strings, the caller counts {}",
                            at.rows[TableId::kString], strings_in_file),
                path);
  }
  {
    TS_TRY(TraceReader reader, TraceReader::open(path));
    ReadOptions clocks;
    clocks.convert_clocks = false;
    clocks.tables = {TableId::kDevice};  // the tables that hints need are always read
    clocks.until_offset = at.offset;
    TS_TRY(const Trace known, reader.read(clocks));
    impl->hints.learn(known);
  }
  TS_CHECK_OK(truncateTo(impl->file, at.offset, path));
  return TraceWriter(std::move(impl));
}

Status TraceWriter::write(const Trace& delta, const SourceRows* sources) {
  if (impl_->finished) {
    return fail(ErrorCode::kInvalidArgument, "the trace is finished", impl_->path);
  }
  TS_CHECK_OK(impl_->checkDelta(delta));
  impl_->sources = sources;
  Status status = impl_->wholeOrNothing([&] { return impl_->writeDelta(delta); });
  impl_->sources = nullptr;
  return status;
}

Status TraceWriter::finish() {
  if (impl_->finished) return {};
  TS_CHECK_OK(impl_->wholeOrNothing([&] { return impl_->writeIndexAndEnd(); }));
  impl_->finished = true;
  impl_->file.unlock();
  return {};
}

void TraceWriter::closeInChild() { impl_->file = FileHandle(); }

uint64_t TraceWriter::bytesWritten() const { return impl_->at.offset; }
const std::string& TraceWriter::path() const { return impl_->path; }

}  // namespace tracesmith
