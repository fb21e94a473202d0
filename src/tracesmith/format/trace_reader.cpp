// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/trace_reader.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/base/memory_limit.hpp"
#include "tracesmith/format/block_log.hpp"
#include "tracesmith/format/blocks/block_contents.hpp"
#include "tracesmith/format/blocks/block_rows.hpp"
#include "tracesmith/format/blocks/keyed_rows.hpp"
#include "tracesmith/format/blocks/row_segments.hpp"
#include "tracesmith/format/blocks/source_blocks.hpp"
#include "tracesmith/format/blocks/table_traits.hpp"
#include "tracesmith/format/name_set.hpp"
#include "tracesmith/model/clock_map.hpp"

namespace tracesmith {

using namespace sbt;  // NOLINT

struct TraceReader::Impl {
  explicit Impl(BlockLog block_log) : log(std::move(block_log)) {}

  BlockLog log;
  BlockContents contents;
  std::vector<uint64_t> words;
  std::vector<BlockInfo> infos;  // for the blocks requested so far
  uint32_t infos_resets = 0;
  std::map<std::pair<uint64_t, std::string>, DataLoss>
      column_losses;                               // each once, however often it is read
  std::map<std::string, DataLoss> column_skipped;  // one per kind
  std::vector<DataLoss> all_losses;
  std::vector<DataLoss> all_skipped;

  /// Into `contents`.
  Problem load(const LogBlock& block, bool only_directory = false) {
    return contents.load(log.file(), log.path(), block.offset, block.header, only_directory);
  }

  void note(const LogBlock& block, const Problem& problem, const std::string& consequence = {}) {
    const uint64_t bytes = block.header.totalBytes();
    if (problem.kind == Problem::Kind::kNewer) {
      // A newer writer does the same in every block: report it once, with the bytes of all blocks.
      auto [it, fresh] = column_skipped.try_emplace(
          problem.text, DataLoss{block.offset, 0, problem.text + consequence});
      it->second.bytes += bytes;
    } else {
      column_losses.try_emplace({block.offset, problem.text},
                                DataLoss{block.offset, bytes, problem.text + consequence});
    }
  }
  void note(const LogBlock& block, const std::vector<ColumnProblem>& problems) {
    for (const ColumnProblem& p : problems) {
      note(block, p.problem,
           p.dropped ? fmt::format("; {} rows were left out", block.header.rows) : std::string());
    }
  }

  /// Decodes a column of the loaded block into the rows from `first_row` on, if it is wanted.
  template <class T>
  Problem decode(const ColumnInfo& info, std::span<const uint16_t> wanted, uint64_t first_row,
                 Column<T>& column) {
    if (std::find(wanted.begin(), wanted.end(), info.number) == wanted.end()) return {};
    const ColumnEntry* entry = contents.find(info.number);
    return entry == nullptr
               ? Problem{}
               : readColumn(contents, *entry, contents.rows(), column.data() + first_row, words);
  }

  const std::vector<BlockInfo>& blockInfos() {
    if (infos_resets != log.resets()) infos.clear();
    infos_resets = log.resets();
    for (size_t i = infos.size(); i < log.blocks().size(); ++i) {
      const LogBlock& block = log.blocks()[i];
      BlockInfo info;
      info.offset = block.offset;
      info.end = block.end();
      info.table = static_cast<TableId>(block.header.table);
      info.rows = block.header.rows;
      info.first_row = block.header.first_row;
      info.min_time_ns = block.header.min_time_ns;
      info.max_time_ns = block.header.max_time_ns;
      infos.push_back(info);
    }
    return infos;
  }

  Status appendBlock(const LogBlock& block, Trace& out, size_t most_events = SIZE_MAX,
                     std::span<const uint16_t> columns = {});
  /// Whether the block in `contents` has, or may have, times of a device's clock. Uses `words`.
  bool inDeviceClock(const LogBlock& block);
  int64_t endOfFirst(const std::vector<const LogBlock*>& blocks, uint64_t events);
  /// The blocks to read, and their numbers of rows.
  struct WantedBlocks {
    std::vector<const LogBlock*> blocks;
    std::map<TableId, uint64_t> rows;   // in these blocks
    std::map<TableId, uint64_t> total;  // in the file, including lost rows
  };
  static bool takes(const LogBlock& block, const ReadOptions& options);
  WantedBlocks wantedBlocks(const ReadOptions& options) const;
  void keepFirstEvents(WantedBlocks& wanted, uint64_t events, const std::set<uint64_t>& unreadable);
  Result<SegmentsOf> readBlocks(const std::vector<const LogBlock*>& blocks, Trace& trace,
                                Trace& keyed, std::set<uint64_t>& unreadable);
  void mergeKeyedRows(WantedBlocks& wanted, uint64_t memory_limit, Trace& keyed, Trace& trace);
  Result<Trace> readOnce(const ReadOptions& options, std::set<uint64_t>& unreadable);
  Status checkMemory(const std::vector<const LogBlock*>& wanted, uint64_t limit) const;
};

Status TraceReader::Impl::appendBlock(const LogBlock& block, Trace& out, size_t most_events,
                                      std::span<const uint16_t> columns) {
  const auto table_id = static_cast<TableId>(block.header.table);
  if (isReadApart(table_id)) return {};  // see readSources()
  TS_CHECK_OK(checkCancelled());
  if (!isKnown(table_id)) {
    note(block,
         newerVersion(fmt::format("table {} is unknown to this version", block.header.table)));
    return {};
  }
  auto outOfOrder = [&] {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("rows of dictionary {} must be read in their order",
                            tableName(block.header.table)),
                log.path());
  };
  const Problem problem = load(block);
  const uint64_t first = block.header.first_row;
  const uint64_t rows = block.header.rows;
  if (table_id == TableId::kString) {
    if (out.strings.size() > first) return outOfOrder();
    while (out.strings.size() < first) out.strings.append({});
    if (!problem) {
      note(block, appendStrings(contents, out.strings));
    } else {
      note(block, problem, fmt::format("; {} strings read as \"\"", rows));
      while (out.strings.size() < first + rows) out.strings.append({});
    }
    return {};
  }
  Status status;
  forEachTable(out, [&](auto& table) {
    using Table = std::decay_t<decltype(table)>;
    if (Table::kId != table_id) return;
    if (isDictionary(Table::kId)) {
      if (table.size() > first) {
        status = outOfOrder();
        return;
      }
      table.resize(static_cast<size_t>(first));
    }
    if (!problem) {
      const bool is_dictionary = isDictionary(Table::kId) || isKeyed(Table::kId);
      note(block, is_dictionary ? appendRows(contents, table, words, SIZE_MAX)
                                : appendRows(contents, table, words, most_events, columns));
      return;
    }
    note(block, problem, fmt::format("; {} rows of {} were left out", rows, Table::kName));
    if (isDictionary(Table::kId)) table.resize(static_cast<size_t>(first + rows));
  });
  return status;
}

bool TraceReader::Impl::inDeviceClock(const LogBlock& block) {
  const auto id = static_cast<TableId>(block.header.table);
  if (id != TableId::kKernel && id != TableId::kCopy && id != TableId::kFill &&
      id != TableId::kSync) {
    return false;
  }
  constexpr uint16_t kFlagsColumn = 9;
  const ColumnEntry* entry = contents.find(kFlagsColumn);
  if (entry == nullptr) return false;
  words.resize(contents.rows());
  return contents.words(*entry, words) ||
         std::any_of(words.begin(), words.end(),
                     [](uint64_t flags) { return (flags & op_flags::kDeviceClock) != 0; });
}

/// A time before which at least `events` rows of `blocks` start; or the largest time.
int64_t TraceReader::Impl::endOfFirst(const std::vector<const LogBlock*>& blocks, uint64_t events) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  const LogBlock* first = nullptr;
  for (const LogBlock* block : blocks) {
    if (!block->header.hasTimes() || block->header.rows < events) continue;
    if (first == nullptr || block->header.max_time_ns < first->header.max_time_ns) first = block;
  }
  if (first == nullptr) return kNever;
  // All its rows start before its end. Its starts in host time give the exact value; starts in a
  // device's clock would need the clocks first.
  int64_t end = first->header.max_time_ns;
  for (const LogBlock* block : blocks) {
    if (!block->header.hasTimes() || block->header.rows < events ||
        block->header.min_time_ns > end) {
      continue;
    }
    constexpr uint16_t kStartColumn = 1;
    if (load(*block)) continue;
    const ColumnEntry* entry = contents.find(kStartColumn);
    if (inDeviceClock(*block) || entry == nullptr) continue;
    words.resize(contents.rows());
    if (contents.words(*entry, words)) continue;
    const auto earlier = [](uint64_t a, uint64_t b) {
      return static_cast<int64_t>(a) < static_cast<int64_t>(b);
    };
    const auto nth = words.begin() + static_cast<ptrdiff_t>(events - 1);
    std::nth_element(words.begin(), nth, words.end(), earlier);
    end = std::min(end, static_cast<int64_t>(*nth));
    break;
  }
  return end;
}

Status TraceReader::Impl::checkMemory(const std::vector<const LogBlock*>& wanted,
                                      uint64_t limit) const {
  // Far above any limit; the exact value does not matter.
  constexpr uint64_t kFarTooMuch = uint64_t{1} << 61;
  uint64_t rows = 0, bytes = 0;
  std::map<TableId, uint64_t> dictionary_rows;
  for (const LogBlock* block : wanted) {
    const auto id = static_cast<TableId>(block->header.table);
    uint64_t of_block = block->header.rows;
    if (isDictionary(id)) {
      // Rows that were lost or skipped before this block take up room as well.
      uint64_t& known = dictionary_rows[id];
      const uint64_t end = block->header.first_row + block->header.rows;
      of_block = end > known ? end - known : 0;
      known = std::max(known, end);
    }
    rows += of_block;
    bytes += std::min(of_block, kFarTooMuch / 1024) * rowBytesOf(id);
    if (id == TableId::kString) bytes += block->header.data_bytes;
    bytes = std::min(bytes, kFarTooMuch);
  }
  if (bytes <= limit) return {};
  return fail(ErrorCode::kNoSpace,
              fmt::format("the {} rows asked for take {} MiB of memory, more than the {} MiB "
                          "that can be taken here now; read fewer tables or a shorter time "
                          "(--from, --to), or use a machine with more free memory",
                          rows, bytes >> 20, limit >> 20),
              log.path());
}

TraceReader::TraceReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceReader::TraceReader(TraceReader&&) noexcept = default;
TraceReader& TraceReader::operator=(TraceReader&&) noexcept = default;
TraceReader::~TraceReader() = default;

Result<TraceReader> TraceReader::open(const std::string& path) {
  TS_TRY(BlockLog log, BlockLog::open(path));
  return TraceReader(std::make_unique<Impl>(std::move(log)));
}

bool TraceReader::complete() const { return impl_->log.complete(); }
uint64_t TraceReader::cutBytes() const { return impl_->log.cutBytes(); }
uint64_t TraceReader::fileBytes() const { return impl_->log.fileBytes(); }
uint64_t TraceReader::endOfBlocks() const {
  const auto& blocks = impl_->log.blocks();
  return blocks.empty() ? headerBytes() : blocks.back().end();
}
uint16_t TraceReader::versionMajor() const { return impl_->log.header().version_major; }
uint16_t TraceReader::versionMinor() const { return impl_->log.header().version_minor; }
uint64_t TraceReader::flags() const { return impl_->log.header().flags; }
uint32_t TraceReader::headerBytes() const { return impl_->log.header().header_bytes; }
std::array<uint8_t, 16> TraceReader::uuid() const { return impl_->log.header().uuid; }
int64_t TraceReader::createdNs() const { return impl_->log.header().created_ns; }
const std::vector<BlockInfo>& TraceReader::blocks() const { return impl_->blockInfos(); }
std::vector<ColumnExtent> TraceReader::columnsOf(size_t index) const {
  const LogBlock& block = impl_->log.blocks().at(index);
  BlockContents& contents = impl_->contents;
  if (const Problem problem = impl_->load(block, true)) {
    impl_->note(block, problem);
  }
  std::vector<ColumnExtent> out;
  for (const ColumnEntry& entry : contents.entries()) {
    out.push_back({entry.column, entry.encoding, entry.stored_bytes});
  }
  return out;
}
uint64_t TraceReader::rows(TableId table) const {
  uint64_t rows = 0;
  for (const LogBlock& block : impl_->log.blocks()) {
    if (static_cast<TableId>(block.header.table) == table) {
      rows = std::max(rows, block.header.first_row + block.header.rows);
    }
  }
  return rows;
}
Result<size_t> TraceReader::refresh() { return impl_->log.refresh(); }

const std::vector<DataLoss>& TraceReader::losses() const {
  impl_->all_losses = impl_->log.losses();
  for (const auto& [key, loss] : impl_->column_losses) impl_->all_losses.push_back(loss);
  std::stable_sort(impl_->all_losses.begin(), impl_->all_losses.end(),
                   [](const DataLoss& a, const DataLoss& b) { return a.offset < b.offset; });
  return impl_->all_losses;
}

const std::vector<DataLoss>& TraceReader::skipped() const {
  impl_->all_skipped = impl_->log.skipped();
  for (const auto& [key, loss] : impl_->column_skipped) impl_->all_skipped.push_back(loss);
  return impl_->all_skipped;
}

Status TraceReader::readBlock(size_t index, Trace& out, uint64_t max_memory_bytes,
                              size_t most_events, std::span<const uint16_t> columns) {
  if (index >= impl_->log.blocks().size()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("there is no block {}", index),
                impl_->log.path());
  }
  const LogBlock& block = impl_->log.blocks()[index];
  TS_CHECK_OK(
      impl_->checkMemory({&block}, max_memory_bytes != 0 ? max_memory_bytes : memoryBudget()));
  return impl_->appendBlock(block, out, most_events, columns);
}

bool TraceReader::readSources(size_t index, const StringTable& strings, SourceShapes& shapes,
                              SourceBlock& out) {
  const LogBlock& block = impl_->log.blocks().at(index);
  BlockContents& contents = impl_->contents;
  Problem problem = impl_->load(block);
  if (!problem) problem = readSourceBlock(contents, strings, shapes, out);
  if (problem) impl_->note(block, problem, "; the sources of its events are omitted");
  return !problem;
}

void TraceReader::checkBlock(size_t index) {
  const LogBlock& block = impl_->log.blocks().at(index);
  BlockContents& contents = impl_->contents;
  Problem problem = impl_->load(block);
  if (!problem) problem = contents.checkStored();
  if (problem) impl_->note(block, problem);
}

Status TraceReader::readColumns(TableId table_id, std::span<const uint16_t> columns, Trace& out) {
  const auto damage = [&](const std::string& what) {
    return fail(ErrorCode::kDamaged, what, impl_->log.path());
  };
  Status status = fail(ErrorCode::kInvalidArgument, "no table of events", impl_->log.path());
  const auto fill = [&](auto& table) -> Status {
    BlockContents& contents = impl_->contents;
    uint64_t next_row = 0;
    for (const LogBlock& block : impl_->log.blocks()) {
      if (static_cast<TableId>(block.header.table) != table_id) continue;
      TS_CHECK_OK(checkCancelled());
      if (block.header.first_row != next_row) return damage("rows are missing");
      next_row += block.header.rows;
      if (next_row > table.size()) return damage("there are more rows than before");
      Problem problem = impl_->load(block);
      if (!problem) problem = contents.checkStored();
      if (problem) return damage(problem.text);
      table.visitColumns(table, [&](const ColumnInfo& info, auto& column) {
        if (!problem) problem = impl_->decode(info, columns, block.header.first_row, column);
      });
      if (problem) return damage(problem.text);
    }
    if (next_row != table.size()) return damage("rows are missing");
    return {};
  };
  forEachTable(out, [&](auto& table) {
    constexpr TableId kId = std::decay_t<decltype(table)>::kId;
    if constexpr (!isDictionary(kId) && !isKeyed(kId)) {
      if (kId == table_id) status = fill(table);
    }
  });
  return status;
}

std::vector<StringId> TraceReader::kernelNames(std::optional<uint64_t> until_offset) {
  if (!until_offset && impl_->log.kernelNames()) return *impl_->log.kernelNames();
  constexpr uint16_t kKernelName = 3;
  BlockContents& contents = impl_->contents;
  NameSet found;
  std::vector<StringId> names;
  for (const LogBlock& block : impl_->log.blocks()) {
    if (static_cast<TableId>(block.header.table) != TableId::kKernel) continue;
    if (until_offset && block.end() > *until_offset) break;
    Problem problem = impl_->load(block);
    names.assign(block.header.rows, StringId::kNone);
    const ColumnEntry* const entry = problem ? nullptr : contents.find(kKernelName);
    if (entry != nullptr)
      problem = readColumn(contents, *entry, names.size(), names.data(), impl_->words);
    if (problem) {
      impl_->note(block, problem);
    } else {
      found.add(names);
    }
  }
  return found.names();
}

Result<std::optional<int64_t>> TraceReader::beginNs() {
  // The tables of timeRange().
  ReadOptions options;
  options.first_events = 1;
  options.tables = {TableId::kHostCall, TableId::kKernel,      TableId::kCopy,
                    TableId::kFill,     TableId::kSync,        TableId::kProgramBuild,
                    TableId::kRange,    TableId::kMemoryEvent, TableId::kCounter};
  TS_TRY(const Trace first, read(options));
  bool any = false;
  for (const TableId id : options.tables) {
    forEachTable(first, [&](const auto& table) {
      any = any || (std::decay_t<decltype(table)>::kId == id && !table.empty());
    });
  }
  return any ? std::optional(timeRange(first).begin_ns) : std::nullopt;
}

Result<Trace> TraceReader::read(const ReadOptions& options) {
  // Blocks that lost rows, and so do not count among the first events.
  std::set<uint64_t> unreadable;
  for (;;) {
    const size_t known = unreadable.size();
    TS_TRY(Trace trace, impl_->readOnce(options, unreadable));
    if (options.first_events == 0 || unreadable.size() == known) return trace;
  }
}

/// Whether the block may have requested rows.
bool TraceReader::Impl::takes(const LogBlock& block, const ReadOptions& options) {
  const BlockHeader& header = block.header;
  const auto id = static_cast<TableId>(header.table);
  if (isAlwaysRead(id)) return true;
  if (options.from_offset && block.offset < *options.from_offset) return false;
  if (!options.tables.empty() &&
      std::find(options.tables.begin(), options.tables.end(), id) == options.tables.end()) {
    return false;
  }
  return !header.hasTimes() || !((options.from_ns && header.max_time_ns < *options.from_ns) ||
                                 (options.to_ns && header.min_time_ns > *options.to_ns));
}

TraceReader::Impl::WantedBlocks TraceReader::Impl::wantedBlocks(const ReadOptions& options) const {
  WantedBlocks wanted;
  for (const LogBlock& block : log.blocks()) {
    const auto id = static_cast<TableId>(block.header.table);
    if (isReadApart(id)) continue;
    if (options.until_offset && block.end() > *options.until_offset) continue;
    wanted.total[id] = block.header.first_row + block.header.rows;
    if (!takes(block, options)) continue;
    wanted.blocks.push_back(&block);
    wanted.rows[id] += block.header.rows;
  }
  return wanted;
}

/// Removes event blocks that start after the first `events` events. Blocks in `unreadable` do not
/// count towards these.
void TraceReader::Impl::keepFirstEvents(WantedBlocks& wanted, uint64_t events,
                                        const std::set<uint64_t>& unreadable) {
  std::vector<const LogBlock*> readable;
  for (const LogBlock* block : wanted.blocks) {
    const auto id = static_cast<TableId>(block->header.table);
    if (!isAlwaysRead(id) && isKnown(id) && unreadable.count(block->offset) == 0) {
      readable.push_back(block);
    }
  }
  const int64_t end = endOfFirst(readable, events);
  std::erase_if(wanted.blocks, [&](const LogBlock* block) {
    const BlockHeader& header = block->header;
    const bool later = !isAlwaysRead(static_cast<TableId>(header.table)) && header.hasTimes() &&
                       header.min_time_ns > end;
    if (later) wanted.rows[static_cast<TableId>(header.table)] -= header.rows;
    return later;
  });
}

/// Rows of keyed tables go to `keyed`, as stored on disk. Returns where the other rows were placed.
/// Adds event blocks that lost rows to `unreadable`.
Result<SegmentsOf> TraceReader::Impl::readBlocks(const std::vector<const LogBlock*>& blocks,
                                                 Trace& trace, Trace& keyed,
                                                 std::set<uint64_t>& unreadable) {
  SegmentsOf segments;
  for (const LogBlock* block : blocks) {
    const auto id = static_cast<TableId>(block->header.table);
    if (isKeyed(id)) {
      TS_CHECK_OK(appendBlock(*block, keyed));
      continue;
    }
    size_t before = 0, after = 0;
    auto sizeOf = [&](size_t& size) {
      forEachTable(trace, [&](const auto& table) {
        if (std::decay_t<decltype(table)>::kId == id) size = table.size();
      });
    };
    sizeOf(before);
    TS_CHECK_OK(appendBlock(*block, trace));
    sizeOf(after);
    if (isKnown(id) && !isAlwaysRead(id) && after - before < block->header.rows) {
      unreadable.insert(block->offset);
    }
    if (isKnown(id) && !isDictionary(id)) {
      segments[block->header.table].push_back({block->header.first_row, before, after - before});
    }
  }
  return segments;
}

void TraceReader::Impl::mergeKeyedRows(WantedBlocks& wanted, uint64_t memory_limit, Trace& keyed,
                                       Trace& trace) {
  forEachTable(trace, [&](auto& table) {
    using Table = std::decay_t<decltype(table)>;
    if constexpr (isKeyed(Table::kId)) {
      Table* rows = nullptr;
      forEachTable(keyed, [&](auto& raw) {
        if constexpr (std::is_same_v<std::decay_t<decltype(raw)>, Table>) rows = &raw;
      });
      // Only ids of lost rows need more rows than were read, and these are few.
      const uint64_t most = std::min(wanted.total[Table::kId] + kMaxIdsAhead,
                                     wanted.rows[Table::kId] + memory_limit / rowBytes<Table>());
      if (const size_t n = mergeById(table, *rows, most); n != 0) {
        const auto block = std::find_if(
            wanted.blocks.begin(), wanted.blocks.end(),
            [](const LogBlock* b) { return static_cast<TableId>(b->header.table) == Table::kId; });
        note(**block, damaged(fmt::format("{} rows of {} were left out: their ids are "
                                          "impossible",
                                          n, Table::kName)));
      }
    }
  });
}

/// `unreadable`: offsets of blocks known to have lost rows; adds more.
Result<Trace> TraceReader::Impl::readOnce(const ReadOptions& options,
                                          std::set<uint64_t>& unreadable) {
  WantedBlocks wanted = wantedBlocks(options);
  if (options.first_events != 0) keepFirstEvents(wanted, options.first_events, unreadable);
  const uint64_t limit = options.max_memory_bytes != 0 ? options.max_memory_bytes : memoryBudget();
  TS_CHECK_OK(checkMemory(wanted.blocks, limit));

  Trace trace, keyed;
  forEachTable(trace, [&](auto& table) {
    const auto id = std::decay_t<decltype(table)>::kId;
    if (!isKeyed(id))
      table.reserve(static_cast<size_t>(isDictionary(id) ? wanted.total[id] : wanted.rows[id]));
  });
  TS_TRY(const SegmentsOf segments, readBlocks(wanted.blocks, trace, keyed, unreadable));
  mergeKeyedRows(wanted, limit, keyed, trace);
  if (!trace.attribute.empty()) followMovedRows(trace.attribute, segments);
  if (options.convert_clocks) convertToHostTime(trace);
  return trace;
}

}  // namespace tracesmith
