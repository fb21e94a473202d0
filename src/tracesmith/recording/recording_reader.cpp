// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "tracesmith/base/memory_limit.hpp"
#include "tracesmith/recording/recording_columns.hpp"

namespace tracesmith {

using namespace recording;

namespace {

bool hasRecording(const sbt::BlockLog& log) {
  return std::any_of(log.blocks().begin(), log.blocks().end(), [](const sbt::LogBlock& block) {
    return isOf(block, TableId::kRecordedCommand);
  });
}

/// A small damaged file can claim a huge size: limit it to the memory of this machine.
uint64_t mostBytes() { return physicalMemoryBytes().value_or(uint64_t{1} << 36); }

}  // namespace

Result<sbt::BlockLog> recording::openLog(const std::string& path) {
  TS_TRY(sbt::BlockLog log, sbt::BlockLog::open(path));
  if (hasRecording(log)) return log;
  // `path` is a recording itself
  const std::string beside = path.ends_with(".sbr") ? path : recordingPathFor(path);
  if (beside == path || access(beside.c_str(), F_OK) != 0) {
    return fail(ErrorCode::kNotFound,
                beside == path
                    ? "holds no recorded command"
                    : "holds no recording, and " + beside +
                          " does not exist; record with `tracesmith profile --record -- COMMAND`",
                path);
  }
  TS_TRY(log, sbt::BlockLog::open(beside));
  if (!hasRecording(log)) return fail(ErrorCode::kNotFound, "holds no recorded command", beside);
  return log;
}

Result<RecordingReader> RecordingReader::open(const std::string& path) {
  RecordingReader reader;
  TS_TRY(sbt::BlockLog log, openLog(path));
  reader.log_ = std::make_unique<sbt::BlockLog>(std::move(log));
  reader.contents_ = std::make_unique<sbt::BlockContents>();
  TS_CHECK_OK(reader.load());
  return reader;
}

bool RecordingReader::isThere(const std::string& path) {
  const auto log = sbt::BlockLog::open(path);
  if (log && hasRecording(*log)) return true;
  // A file truncated before its first command is still a recording.
  if (path.ends_with(".sbr")) return access(path.c_str(), F_OK) == 0;
  return log && access(recordingPathFor(path).c_str(), F_OK) == 0;
}

void RecordingReader::lose(const sbt::LogBlock& block, const std::string& why) {
  losses_.push_back({block.offset, block.header.totalBytes(), why});
}

Status RecordingReader::load() {
  losses_ = log_->losses();
  std::vector<sbt::LogBlock> places;
  std::vector<sbt::LogBlock> processes;
  for (const sbt::LogBlock& block : log_->blocks()) {
    if (isOf(block, TableId::kRecordedContent)) content_blocks_.push_back(block);
    if (isOf(block, TableId::kRecordedPlace)) places.push_back(block);
    if (isOf(block, TableId::kRecordedCommand)) command_blocks_.push_back(block);
    if (isOf(block, TableId::kRecordedProcess)) processes.push_back(block);
  }
  for (const sbt::LogBlock& block : processes) {
    std::vector<uint64_t> numbers, pids, ticks;
    ByteView text;
    sbt::Problem problem = contents_->load(log_->file(), log_->path(), block.offset, block.header);
    if (!problem) problem = wordsOf(*contents_, number(ProcessColumn::kNumber), numbers);
    if (!problem) problem = wordsOf(*contents_, number(ProcessColumn::kPid), pids);
    if (!problem) problem = wordsOf(*contents_, number(ProcessColumn::kStartTicks), ticks);
    if (!problem && numbers.size() != 1) problem = sbt::damaged("a block has one process");
    if (problem) {
      lose(block, problem.text);
      continue;
    }
    (void)bytesOf(*contents_, number(ProcessColumn::kCommandLine), text);
    ByteView session;
    (void)bytesOf(*contents_, number(ProcessColumn::kSessionId), session);
    processes_.push_back({static_cast<uint32_t>(numbers[0]), static_cast<uint32_t>(pids[0]),
                          ticks[0], std::string(text.begin(), text.end()),
                          std::string(session.begin(), session.end())});
  }
  std::unordered_map<uint64_t, uint32_t> contents_at;  // by first row
  for (uint32_t i = 0; i < content_blocks_.size(); ++i) {
    contents_at.try_emplace(content_blocks_[i].header.first_row, i);
  }
  for (const sbt::LogBlock& block : places) {
    // Rows of places and of contents correspond, so a lost block shifts nothing. Lost contents are
    // known as such; a missing chunk is reported when requested.
    const auto of = contents_at.find(block.header.first_row);
    if (of != contents_at.end() && content_blocks_[of->second].header.rows == block.header.rows) {
      loadPlaces(block, of->second);
    }
  }
  return {};
}

std::string RecordingReader::sessionId() const {
  for (const Process& process : processes_) {
    if (!process.session_id.empty()) return process.session_id;
  }
  return {};
}

Status checkSameSession(const RecordingReader& recording, const std::string& trace_path) {
  const std::string of_recording = recording.sessionId();
  if (of_recording.empty() || recording.path() == trace_path) return {};
  Result<TraceReader> reader = TraceReader::open(trace_path);
  if (!reader) return {};
  const Result<Trace> facts = reader->read({.tables = {TableId::kMetadata}});
  if (!facts) return {};
  const std::string of_trace(facts->metadataValue("session_id"));
  if (of_trace.empty() || of_trace == of_recording) return {};
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("is the recording of session {}, and {} is a trace of session {}: one of "
                  "them was moved or replaced. Put the right recording beside the trace, or "
                  "name the recording itself",
                  of_recording, trace_path, of_trace),
      recording.path());
}

void RecordingReader::loadPlaces(const sbt::LogBlock& block, uint32_t contents) {
  // Hashes do not compress: if there are more rows than the block has bytes for, the count is
  // damaged.
  if (block.header.rows > block.header.totalBytes() / sizeof(ContentHash)) {
    return lose(block, "more chunks than hashes fit into it");
  }
  std::vector<uint64_t> low, high, sizes;
  sbt::Problem problem = contents_->load(log_->file(), log_->path(), block.offset, block.header);
  if (!problem) problem = wordsOf(*contents_, number(PlaceColumn::kLow), low);
  if (!problem) problem = wordsOf(*contents_, number(PlaceColumn::kHigh), high);
  if (!problem) problem = wordsOf(*contents_, number(PlaceColumn::kBytes), sizes);
  if (problem) {
    return lose(block, problem.text);
  }
  uint64_t offset = 0;
  for (size_t i = 0; i < low.size(); ++i) {
    if (sizes[i] == 0 || sizes[i] > kChunkBytes || offset + sizes[i] > sbt::kMaxColumnBytes) {
      return lose(block, "a chunk of an impossible size");
    }
    places_.try_emplace({low[i], high[i]}, Place{contents, static_cast<uint32_t>(offset),
                                                 static_cast<uint32_t>(sizes[i])});
    offset += sizes[i];
    content_bytes_ += sizes[i];
  }
}

Result<Bytes> RecordingReader::commands(uint32_t process) {
  Bytes all;
  uint64_t next_row = 0;
  std::vector<uint64_t> processes;
  for (const sbt::LogBlock& block : command_blocks_) {
    sbt::Problem problem = contents_->load(log_->file(), log_->path(), block.offset, block.header);
    ByteView bytes;
    if (!problem && block.header.first_row != next_row) {
      problem = sbt::damaged("commands before it were lost, so that it cannot be replayed");
    }
    if (!problem) problem = wordsOf(*contents_, number(CommandColumn::kProcess), processes);
    if (!problem) problem = bytesOf(*contents_, number(CommandColumn::kBytes), bytes);
    if (problem) {
      lose(block, problem.text);
      break;
    }
    next_row = block.header.first_row + block.header.rows;
    if (processes.empty() || processes[0] != process) continue;
    if (all.size() + bytes.size() > mostBytes()) {
      return fail(ErrorCode::kNoSpace, "its commands take more memory than this machine has",
                  path());
    }
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

Result<ByteView> RecordingReader::contentBlock(uint32_t number_of) {
  const auto known = unpacked_.find(number_of);
  if (known != unpacked_.end()) return ByteView(known->second);
  const sbt::LogBlock& block = content_blocks_[number_of];
  sbt::Problem problem = contents_->load(log_->file(), log_->path(), block.offset, block.header);
  ByteView bytes;
  if (!problem) problem = bytesOf(*contents_, number(ContentColumn::kBytes), bytes);
  if (problem) return fail(ErrorCode::kDamaged, problem.text);
  while (!unpacked_order_.empty() && unpacked_bytes_ + bytes.size() > kMostUnpackedBytes) {
    unpacked_bytes_ -= unpacked_[unpacked_order_.front()].size();
    unpacked_.erase(unpacked_order_.front());
    unpacked_order_.pop_front();
  }
  unpacked_bytes_ += bytes.size();
  unpacked_order_.push_back(number_of);
  return ByteView(unpacked_[number_of] = Bytes(bytes.begin(), bytes.end()));
}

Result<ByteView> RecordingReader::chunk(const ContentHash& hash) {
  const auto name = [&] { return fmt::format("{:016x}{:016x}", hash.high, hash.low); };
  const auto it = places_.find(hash);
  if (it == places_.end()) {
    return fail(ErrorCode::kDamaged, "content " + name() + " is not in the recording", path());
  }
  Place& place = it->second;
  const auto at = [&] {
    return fmt::format("{} at byte {}", path(), content_blocks_[place.block].offset);
  };
  const auto block = contentBlock(place.block);
  if (!block) {
    return fail(ErrorCode::kDamaged,
                fmt::format("content {} cannot be read: {}", name(), block.error().message), at());
  }
  if (place.offset + uint64_t{place.bytes} > block->size()) {
    return fail(ErrorCode::kDamaged, "content " + name() + " exceeds its block", at());
  }
  const ByteView bytes = block->subspan(place.offset, place.bytes);
  if (!place.verified && hashOf(bytes) != hash) {
    return fail(ErrorCode::kDamaged, "content " + name() + " does not match its hash", at());
  }
  place.verified = true;
  return bytes;
}

Result<Bytes> RecordingReader::content(const Payload& payload) {
  if (!payload.known() || payload.chunks.size() != chunkCount(payload.bytes)) {
    return fail(ErrorCode::kDamaged, "the content was not recorded", path());
  }
  uint64_t bytes_there = 0;
  for (const ContentHash& hash : payload.chunks) {
    const auto place = places_.find(hash);
    bytes_there += place == places_.end() ? kChunkBytes : place->second.bytes;
  }
  if (bytes_there > mostBytes()) {
    return fail(
        ErrorCode::kNoSpace,
        fmt::format("a content of {} bytes is more than this machine can hold", bytes_there),
        path());
  }
  Bytes all;
  all.reserve(static_cast<size_t>(bytes_there));
  for (const ContentHash& hash : payload.chunks) {
    TS_TRY(const ByteView bytes, chunk(hash));
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  if (all.size() != payload.bytes) {
    return fail(ErrorCode::kDamaged, "the chunks of a content do not add up to its size", path());
  }
  return all;
}

}  // namespace tracesmith
