// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/hash.hpp"
#include "tracesmith/recording/recording_columns.hpp"

namespace tracesmith {

using namespace recording;

namespace {

/// Chunks are compressed together up to this size, because many programs upload small pieces.
constexpr size_t kContentBlockBytes = 4u << 20;
constexpr size_t kCommandBlockBytes = 1u << 20;
constexpr int kThoroughLevel = 3;
/// Compresses about as fast as a disk writes.
constexpr int kQuickLevel = -3;

sbt::BlockHeader headerOf(TableId table, const sbt::BlockAppender& file) {
  sbt::BlockHeader header;
  header.table = static_cast<uint16_t>(table);
  header.first_row = file.rows(header.table);
  return header;
}

}  // namespace

namespace recording {

ContentHash hashOf(ByteView bytes) {
  const Hash128 hash = hash128(bytes);
  return {hash.low, hash.high};
}

std::string recordingPathFor(const std::string& trace_path) {
  const bool sbt = trace_path.ends_with(".sbt");
  return (sbt ? trace_path.substr(0, trace_path.size() - 4) : trace_path) + ".sbr";
}

std::string tracePathFor(const std::string& path) {
  const bool sbr = path.ends_with(".sbr");
  return sbr ? path.substr(0, path.size() - 4) + ".sbt" : path;
}

}  // namespace recording

RecordingWriter::RecordingWriter(sbt::BlockAppender file)
    : file_(std::move(file)),
      thorough_(std::make_unique<sbt::BlockBuilder>(kThoroughLevel)),
      quick_(std::make_unique<sbt::BlockBuilder>(kQuickLevel)) {}

Result<RecordingWriter> RecordingWriter::create(const std::string& path) {
  TS_TRY(sbt::BlockAppender file, sbt::BlockAppender::create(path));
  return RecordingWriter(std::move(file));
}

Result<RecordingWriter> RecordingWriter::resume(const std::string& path) {
  // Contents without written places are written again: rows of both tables belong together.
  uint64_t keep_until = 0;
  {
    TS_TRY(const auto log, sbt::BlockLog::open(path, false));
    uint64_t contents = 0;
    uint64_t places = 0;
    for (const sbt::LogBlock& block : log.blocks()) {
      if (block.header.table == number(TableId::kRecordedContent)) contents += block.header.rows;
      if (block.header.table == number(TableId::kRecordedPlace)) places += block.header.rows;
      if (contents == places) keep_until = block.end();
    }
  }
  TS_TRY(sbt::BlockAppender file, sbt::BlockAppender::resume(path, keep_until));
  TS_CHECK_OK(file.cut());
  RecordingWriter writer(std::move(file));
  TS_TRY(const auto reader, RecordingReader::open(path));
  reader.forEachChunk([&](const ContentHash& hash, uint64_t bytes) {
    writer.contents_.insert(hash);
    writer.content_bytes_ += bytes;
  });
  writer.commands_ = writer.file_.rows(number(TableId::kRecordedCommand));
  return writer;
}

Status RecordingWriter::addProcess(const Process& process) {
  sbt::BlockBuilder& b = *thorough_;
  b.begin(1, number(TableId::kRecordedProcess));
  const auto word = [&](ProcessColumn column, uint64_t value) {
    b.addWords(number(column), sbt::ElementType::kU64, {&value, 1});
  };
  word(ProcessColumn::kNumber, process.number);
  word(ProcessColumn::kPid, process.pid);
  word(ProcessColumn::kStartTicks, process.start_ticks);
  b.addBytes(
      number(ProcessColumn::kCommandLine),
      {reinterpret_cast<const uint8_t*>(process.command_line.data()), process.command_line.size()});
  b.addBytes(number(ProcessColumn::kSessionId), asBytes(process.session_id));
  return file_.append(headerOf(TableId::kRecordedProcess, file_), b.contents());
}

Status RecordingWriter::addContent(const ContentHash& hash, ByteView bytes) {
  if (bytes.empty() || bytes.size() > kChunkBytes) {
    return fail(ErrorCode::kInvalidArgument, "a chunk has 1 byte to 1 MiB", file_.path());
  }
  if (!contents_.insert(hash).second) return {};
  content_bytes_ += bytes.size();
  pending_content_.insert(pending_content_.end(), bytes.begin(), bytes.end());
  pending_hashes_.push_back(hash);
  pending_sizes_.push_back(bytes.size());
  return pending_content_.size() >= kContentBlockBytes ? flushContent() : Status{};
}

Status RecordingWriter::addCommands(uint32_t process, ByteView commands, uint32_t count) {
  if (count == 0) return {};
  const bool fits = pending_commands_.size() + commands.size() <= kCommandBlockBytes &&
                    pending_count_ + uint64_t{count} <= sbt::kMaxBlockRows;
  if (pending_count_ != 0 && (process != pending_process_ || !fits)) TS_CHECK_OK(flush());
  pending_process_ = process;
  pending_commands_.insert(pending_commands_.end(), commands.begin(), commands.end());
  pending_count_ += count;
  commands_ += count;
  return {};
}

Status RecordingWriter::flushContent() {
  if (pending_hashes_.empty()) return {};
  const Status status = file_.appendAtomically([&]() -> Status {
    const auto rows = static_cast<uint32_t>(pending_hashes_.size());
    sbt::BlockBuilder& b = builder();
    b.begin(rows, number(TableId::kRecordedContent));
    b.addBytes(number(ContentColumn::kBytes), pending_content_);
    TS_CHECK_OK(file_.append(headerOf(TableId::kRecordedContent, file_), b.contents()));
    std::vector<uint64_t> low, high;
    for (const ContentHash& hash : pending_hashes_) {
      low.push_back(hash.low);
      high.push_back(hash.high);
    }
    b.begin(rows, number(TableId::kRecordedPlace));
    b.addWords(number(PlaceColumn::kLow), sbt::ElementType::kU64, low);
    b.addWords(number(PlaceColumn::kHigh), sbt::ElementType::kU64, high);
    b.addWords(number(PlaceColumn::kBytes), sbt::ElementType::kU64, pending_sizes_);
    return file_.append(headerOf(TableId::kRecordedPlace, file_), b.contents());
  });
  if (!status) return status;
  pending_content_.clear();
  pending_hashes_.clear();
  pending_sizes_.clear();
  return {};
}

Status RecordingWriter::flushCommands() {
  if (pending_count_ == 0) return {};
  sbt::BlockBuilder& b = *thorough_;
  b.begin(pending_count_, number(TableId::kRecordedCommand));
  const std::vector<uint64_t> process(pending_count_, pending_process_);
  b.addWords(number(CommandColumn::kProcess), sbt::ElementType::kU64, process);
  b.addBytes(number(CommandColumn::kBytes), pending_commands_);
  TS_CHECK_OK(file_.append(headerOf(TableId::kRecordedCommand, file_), b.contents()));
  pending_commands_.clear();
  pending_count_ = 0;
  return {};
}

Status RecordingWriter::flush() {
  TS_CHECK_OK(flushContent());
  return flushCommands();
}

Status RecordingWriter::finish() {
  if (finished_) return {};
  TS_CHECK_OK(flush());
  TS_CHECK_OK(file_.appendAtomically([&] { return file_.writeIndexAndEnd(*thorough_); }));
  finished_ = true;
  file_.file().unlock();
  return {};
}

}  // namespace tracesmith
