// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/trace_writer.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <functional>
#include <future>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/format/block_encoder.hpp"
#include "tracesmith/format/block_log.hpp"
#include "tracesmith/format/file_io.hpp"
#include "tracesmith/format/keyed_rows.hpp"
#include "tracesmith/format/sbt_layout.hpp"
#include "tracesmith/format/table_traits.hpp"
#include "tracesmith/format/time_hints.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {
namespace {

using namespace sbt;

/// Text of one string block; a single longer string (up to kMaxStringBytes) gets its own.
constexpr size_t kStringBlockBytes = 4u << 20;
constexpr uint32_t kIndexBlockRows = 65536;
constexpr size_t kRowsForTwoThreads = 8192;

/// Which tables the second thread encodes: about half of what an import has.
bool isBeside(TableId id) {
  return id == TableId::kKernel || id == TableId::kCopy || id == TableId::kFill ||
         id == TableId::kSync || id == TableId::kFlowEvent || id == TableId::kCounter;
}

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

/// Whether attributes name rows of the table by their numbers: then those must stay.
bool isDescribed(const AttributeTable& attributes, TableId id) {
  return std::find(attributes.table.begin(), attributes.table.end(), static_cast<uint32_t>(id)) !=
         attributes.table.end();
}

}  // namespace

struct TraceWriter::Impl {
  Impl(std::string file_path, WriterOptions writer_options)
      : path(std::move(file_path)),
        options(writer_options),
        encoder(hints, writer_options),
        beside(hints, writer_options) {}

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
  TimeHints hints;
  BlockEncoder encoder;
  BlockEncoder beside;                  // in a thread of its own
  const SourceRows* sources = nullptr;  // of what is being written
  Bytes block_bytes;
  bool finished = false;

  /// Of what the encoder has.
  Status writeBlock(BlockHeader header) { return writeBlock(header, encoder.builder().contents()); }

  Status writeBlock(BlockHeader header, const BlockBuilder::Contents& contents) {
    header.sequence = at.sequence;
    header.tag = tag;
    if (header.table == static_cast<uint16_t>(TableId::kSource)) {
      header.first_row = at.rows[TableId::kSource];
    }
    const ByteView block = BlockBuilder::layOut(header, at.offset, contents, block_bytes);
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
  Status writeDelta(const Trace& delta);
  Status writeTables(const Trace& delta);
  Status writeTablesTogether(const Trace& delta);
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
    while (next < strings.size() && lengths.size() < encoder.maxBlockRows()) {
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
    BlockBuilder& builder = encoder.builder();
    builder.begin(static_cast<uint32_t>(lengths.size()), header.table);
    builder.addWords(static_cast<uint16_t>(StringColumn::kLength), ElementType::kU32, lengths);
    builder.addBytes(static_cast<uint16_t>(StringColumn::kText), text);
    TS_CHECK_OK(writeBlock(header));
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

template <class Table>
Status TraceWriter::Impl::writeTable(const Table& table, bool may_reorder) {
  return encoder.encode(table, at.rows[Table::kId], may_reorder, sources,
                        [&](const BlockHeader& header) { return writeBlock(header); });
}

/// What is written with its rows in the order of the tables' numbers.
template <class Table>
constexpr bool kIsEvent =
    !std::is_same_v<Table, PendingTable> && !std::is_same_v<Table, CommitTable>;

Status TraceWriter::Impl::writeTables(const Trace& delta) {
  Status status;
  forEachTable(delta, [&](const auto& table) {
    using Table = std::decay_t<decltype(table)>;
    if constexpr (kIsEvent<Table>) {
      const bool may_reorder = kMayReorder<Table> && !isDescribed(delta.attribute, Table::kId);
      if (status) status = writeTable(table, may_reorder);
    }
  });
  return status;
}

/// The same blocks, half of the tables encoded by a thread of their own. Which half does not
/// change, as an encoder learns of each table what suits it.
Status TraceWriter::Impl::writeTablesTogether(const Trace& delta) {
  struct Encoded {
    BlockHeader header;
    uint32_t rows;
    Bytes directory, data;
  };
  std::map<TableId, std::vector<Encoded>> blocks;
  forEachTable(delta, [&](const auto& table) { blocks[std::decay_t<decltype(table)>::kId]; });
  const auto encode = [&](BlockEncoder& with, bool is_beside) {
    forEachTable(delta, [&](const auto& table) {
      using Table = std::decay_t<decltype(table)>;
      if constexpr (kIsEvent<Table>) {
        if (isBeside(Table::kId) != is_beside) return;
        const bool may_reorder = kMayReorder<Table> && !isDescribed(delta.attribute, Table::kId);
        const auto rows = at.rows.find(Table::kId);
        (void)with.encode(table, rows == at.rows.end() ? 0 : rows->second, may_reorder, sources,
                          [&](const BlockHeader& header) -> Status {
                            const auto [n, directory, data] = with.builder().contents();
                            blocks.find(Table::kId)
                                ->second.push_back({header,
                                                    n,
                                                    {directory.begin(), directory.end()},
                                                    {data.begin(), data.end()}});
                            return {};
                          });
      }
    });
  };
  hints.settle();
  std::future<void> other;
  try {
    other = std::async(std::launch::async, encode, std::ref(beside), true);
  } catch (const std::system_error&) {
    encode(beside, true);  // no thread is to be had
  }
  encode(encoder, false);
  if (other.valid()) other.get();
  Status status;
  forEachTable(delta, [&](const auto& table) {
    for (const Encoded& block : blocks[std::decay_t<decltype(table)>::kId]) {
      if (status) status = writeBlock(block.header, {block.rows, block.directory, block.data});
    }
  });
  return status;
}

Status TraceWriter::Impl::writeDelta(const Trace& delta) {
  hints.learn(delta);
  TS_CHECK_OK(writeStrings(delta.strings));
  size_t rows = 0;
  forEachTable(delta, [&](const auto& table) { rows += table.size(); });
  const bool together = options.two_threads && rows >= kRowsForTwoThreads;
  Status status = together ? writeTablesTogether(delta) : writeTables(delta);
  // What says that rows are in the file comes after them: a file cut in between must not claim rows
  // that it has not.
  if (status && sources != nullptr) {
    if (const SourceTable* alone = sources->find(SourceRows::kNone); alone != nullptr) {
      status = encoder.encodeAlone(*alone, *sources,
                                   [&](const BlockHeader& header) { return writeBlock(header); });
    }
  }
  if (status) status = writeTable(delta.pending);
  if (status) status = writeTable(delta.commit_mark);
  return status;
}

Status TraceWriter::Impl::writeIndexAndEnd() {
  BlockBuilder& builder = encoder.builder();
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
