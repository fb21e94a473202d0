// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/trace_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <future>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "tracesmith/format/block_appender.hpp"
#include "tracesmith/format/block_encoder.hpp"
#include "tracesmith/format/blocks/keyed_rows.hpp"
#include "tracesmith/format/blocks/table_traits.hpp"
#include "tracesmith/format/blocks/time_hints.hpp"
#include "tracesmith/format/encoding/sbt_layout.hpp"
#include "tracesmith/format/event_copy.hpp"
#include "tracesmith/format/name_set.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {
namespace {

using namespace sbt;

/// Bytes of text per string block; a longer string (up to kMaxStringBytes) gets its own block.
constexpr size_t kStringBlockBytes = 4u << 20;
constexpr size_t kRowsForTwoThreads = 8192;

/// The tables that the second thread encodes: about half of the data of an import.
bool isBeside(TableId id) {
  return id == TableId::kKernel || id == TableId::kCopy || id == TableId::kFill ||
         id == TableId::kSync || id == TableId::kFlowEvent || id == TableId::kCounter;
}

/// Whether attributes refer to the table's rows by number; the rows must then not be reordered.
bool isDescribed(const AttributeTable& attributes, TableId id) {
  return std::find(attributes.table.begin(), attributes.table.end(), static_cast<uint32_t>(id)) !=
         attributes.table.end();
}

}  // namespace

struct TraceWriter::Impl {
  Impl(BlockAppender appender, WriterOptions writer_options)
      : file(std::move(appender)),
        options(writer_options),
        encoder(hints, writer_options),
        beside(hints, writer_options) {}

  BlockAppender file;
  WriterOptions options;
  TimeHints hints;
  NameSet kernel_names;  // of the rows that are in the file
  BlockEncoder encoder;
  BlockEncoder beside;                  // used by the second thread
  const SourceRows* sources = nullptr;  // of the current write
  bool finished = false;

  uint64_t rowsOf(TableId id) const { return file.rows(static_cast<uint16_t>(id)); }
  const std::string& path() const { return file.path(); }

  /// Writes the block that the encoder has built.
  Status writeBlock(BlockHeader header) { return writeBlock(header, encoder.builder().contents()); }

  Status writeBlock(BlockHeader header, const BlockBuilder::Contents& contents) {
    if (header.table == static_cast<uint16_t>(TableId::kSource)) {
      header.first_row = rowsOf(TableId::kSource);
    }
    return file.append(header, contents);
  }

  Status writeStrings(const StringTable& strings);
  template <class Table>
  Status writeTable(const Table& table, bool may_reorder = false);
  Status writeDelta(const Trace& delta);
  Status writeTables(const Trace& delta);
  Status writeTablesTogether(const Trace& delta);
  Status checkDelta(const Trace& delta) const;
};

Status TraceWriter::Impl::writeStrings(const StringTable& strings) {
  std::vector<uint64_t> lengths;
  Bytes text;
  size_t next = static_cast<size_t>(rowsOf(TableId::kString));
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
                    path());
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
  if (delta.strings.size() < rowsOf(TableId::kString)) {
    return fail(ErrorCode::kInvalidArgument,
                "there are fewer strings than already written: all writes need the same, growing "
                "string table",
                path());
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
                fmt::format("the columns of table {} have different lengths", uneven), path());
  }
  // Rows already in the file may have been reordered.
  bool too_late = false;
  forEachTable(delta, [&](const auto& table) {
    using Table = std::decay_t<decltype(table)>;
    if (!kMayReorder<Table>) return;
    const uint64_t written = rowsOf(Table::kId);
    for (size_t i = 0; i < delta.attribute.size(); ++i) {
      too_late = too_late || (delta.attribute.table[i] == static_cast<uint32_t>(Table::kId) &&
                              delta.attribute.row_number[i] < written);
    }
  });
  if (too_late) {
    return fail(ErrorCode::kInvalidArgument,
                "attributes have to be written together with the rows that they describe", path());
  }
  return {};
}

template <class Table>
Status TraceWriter::Impl::writeTable(const Table& table, bool may_reorder) {
  return encoder.encode(table, rowsOf(Table::kId), may_reorder, sources,
                        [&](const BlockHeader& header) { return writeBlock(header); });
}

/// Tables that are written first, in the order of their numbers. The others follow at the end.
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

/// Writes the same blocks, with half of the tables encoded by a second thread. The halves never
/// change, because an encoder learns what suits each table.
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
        (void)with.encode(table, rowsOf(Table::kId), may_reorder, sources,
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
    encode(beside, true);  // no thread could be started
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
  // Tables that say that rows are in the file come after these rows: a file cut in between must not
  // claim rows that it does not have.
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

TraceWriter::TraceWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceWriter::TraceWriter(TraceWriter&&) noexcept = default;
TraceWriter& TraceWriter::operator=(TraceWriter&&) noexcept = default;
TraceWriter::~TraceWriter() = default;

Result<TraceWriter> TraceWriter::create(const std::string& path, WriterOptions options) {
  TS_TRY(BlockAppender file, BlockAppender::create(path));
  return TraceWriter(std::make_unique<Impl>(std::move(file), options));
}

Result<TraceWriter> TraceWriter::resume(const std::string& path, uint64_t keep_until,
                                        uint32_t strings_in_file, WriterOptions options) {
  TS_TRY(BlockAppender file, BlockAppender::resume(path, keep_until));
  auto impl = std::make_unique<Impl>(std::move(file), options);
  if (impl->rowsOf(TableId::kString) != strings_in_file) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the part that is kept has {} strings, the caller counts {}",
                            impl->rowsOf(TableId::kString), strings_in_file),
                path);
  }
  TS_TRY(TraceReader reader, TraceReader::open(path));
  ReadOptions clocks;
  clocks.convert_clocks = false;
  clocks.tables = {TableId::kDevice};  // the tables needed for time hints are always read
  clocks.until_offset = impl->file.position().offset;
  TS_TRY(const Trace known, reader.read(clocks));
  impl->hints.learn(known);
  impl->kernel_names.add(reader.kernelNames(clocks.until_offset));
  TS_CHECK_OK(impl->file.cut());
  return TraceWriter(std::move(impl));
}

Status TraceWriter::write(const Trace& delta, const SourceRows* sources) {
  if (impl_->finished) {
    return fail(ErrorCode::kInvalidArgument, "the trace is finished", impl_->path());
  }
  TS_CHECK_OK(impl_->checkDelta(delta));
  impl_->sources = sources;
  Status status = impl_->file.appendAtomically([&] { return impl_->writeDelta(delta); });
  impl_->sources = nullptr;
  if (status) impl_->kernel_names.add(delta.kernel.name);
  return status;
}

Status TraceWriter::appendEvents(const sbt::BlockLog& from, uint64_t until,
                                 std::vector<DataLoss>& losses) {
  if (impl_->finished) {
    return fail(ErrorCode::kInvalidArgument, "the trace is finished", impl_->path());
  }
  return impl_->file.appendAtomically([&] {
    return copyEvents(from, until, impl_->file, impl_->encoder, impl_->kernel_names, losses);
  });
}

Status TraceWriter::finish() {
  if (impl_->finished) return {};
  Bytes names;
  if (impl_->rowsOf(TableId::kKernel) >= kFewestKernelsWithNames) {
    names = encodeNames(impl_->kernel_names.names());
  }
  if (names.size() > kMostKernelNamesBytes) names.clear();
  TS_CHECK_OK(impl_->file.appendAtomically(
      [&] { return impl_->file.writeIndexAndEnd(impl_->encoder.builder(), names); }));
  impl_->finished = true;
  impl_->file.file().unlock();
  return {};
}

void TraceWriter::closeInChild() { impl_->file.file() = FileHandle(); }

uint64_t TraceWriter::bytesWritten() const { return impl_->file.position().offset; }
const std::string& TraceWriter::path() const { return impl_->path(); }

}  // namespace tracesmith
