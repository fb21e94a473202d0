// SPDX-License-Identifier: Apache-2.0
// Recordings as files: the same log of checksummed blocks as a trace (docs/sbt.md), with tables of
// its own. Content is written before the commands that name it, so a truncated file replays up to
// the point of truncation.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tracesmith/format/block_appender.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/recording/command_codec.hpp"

namespace tracesmith {

namespace recording {

/// Columns on disk: append, never renumber.
enum class ProcessColumn : uint16_t {
  kNumber = 1,
  kPid = 2,
  kStartTicks = 3,
  kCommandLine = 4,
  kSessionId = 5,
};
enum class CommandColumn : uint16_t { kProcess = 1, kBytes = 2 };
enum class ContentColumn : uint16_t { kBytes = 1 };
/// One row for each row of kRecordedContent.
enum class PlaceColumn : uint16_t { kLow = 1, kHigh = 2, kBytes = 3 };

ContentHash hashOf(ByteView bytes);

/// A process whose commands were recorded.
struct Process {
  uint32_t number = 0;  ///< within the recording
  uint32_t pid = 0;
  uint64_t start_ticks = 0;
  std::string command_line;
  /// Id of the session that wrote the recording and its trace; the trace has it as metadata
  /// `session_id`. Empty: written by an earlier version.
  std::string session_id;
};

/// "out.sbt" -> "out.sbr": path of the recording that belongs to a trace.
std::string recordingPathFor(const std::string& trace_path);
/// The inverse: "out.sbr" -> "out.sbt". A path with another extension is returned unchanged, as the
/// path of a trace.
std::string tracePathFor(const std::string& path);

}  // namespace recording

/// Use from one thread at a time. Flushed data survives the death of this process.
class RecordingWriter {
 public:
  static Result<RecordingWriter> create(const std::string& path);
  /// Continues a recording whose writer died, including its known content. Requires a recording
  /// that has commands.
  static Result<RecordingWriter> resume(const std::string& path);

  Status addProcess(const recording::Process& process);
  bool has(const recording::ContentHash& hash) const { return contents_.contains(hash); }
  /// Adds a chunk of at most kChunkBytes; does nothing if it exists already.
  Status addContent(const recording::ContentHash& hash, ByteView bytes);
  /// Adds complete commands of one process, one after the other.
  Status addCommands(uint32_t process, ByteView commands, uint32_t count);
  /// Reduces compression from now on, or restores it, for callers that cannot wait.
  void setHurried(bool hurried) { hurried_ = hurried; }

  /// Writes all pending data to the file.
  Status flush();
  /// Calls flush(), then writes the index and the end marker.
  Status finish();

  uint64_t bytesWritten() const { return file_.position().offset; }
  uint64_t contentBytes() const { return content_bytes_; }  ///< bytes of distinct chunks
  uint64_t commands() const { return commands_; }

 private:
  explicit RecordingWriter(sbt::BlockAppender file);
  Status flushContent();
  Status flushCommands();
  sbt::BlockBuilder& builder() { return hurried_ ? *quick_ : *thorough_; }

  sbt::BlockAppender file_;
  std::unique_ptr<sbt::BlockBuilder> thorough_;
  std::unique_ptr<sbt::BlockBuilder> quick_;
  bool hurried_ = false;
  bool finished_ = false;
  std::unordered_set<recording::ContentHash, recording::HashOfContentHash> contents_;
  Bytes pending_content_;
  std::vector<recording::ContentHash> pending_hashes_;
  std::vector<uint64_t> pending_sizes_;
  Bytes pending_commands_;
  uint32_t pending_count_ = 0;
  uint32_t pending_process_ = 0;
  uint64_t content_bytes_ = 0;
  uint64_t commands_ = 0;
};

/// Reads a recording. Damage affects only the damaged part: missing data is reported when it is
/// requested. Use from one thread at a time.
class RecordingReader {
 public:
  /// Opens a recording, or a trace that has one beside it or in it.
  static Result<RecordingReader> open(const std::string& path);
  /// True if there is a recording to open, readable or not. False for a trace without one.
  static bool isThere(const std::string& path);

  const std::string& path() const { return log_->path(); }
  const std::vector<recording::Process>& processes() const { return processes_; }
  /// Session id of the first process that has one; empty: none has.
  std::string sessionId() const;
  /// True if the writer finished the recording. An unfinished one can be replayed up to its end.
  bool complete() const { return log_->complete(); }
  /// Parts of the file that could not be read.
  const std::vector<DataLoss>& losses() const { return losses_; }

  /// The commands of a process, in call order. Each starts with a CommandHeader and takes
  /// header.bytes. Commands after a gap in the stream are omitted and listed in losses(), because
  /// they may depend on lost ones.
  Result<Bytes> commands(uint32_t process);

  bool has(const recording::ContentHash& hash) const { return places_.contains(hash); }
  /// Calls f(hash, bytes) for each chunk.
  template <class F>
  void forEachChunk(F&& f) const {
    for (const auto& [hash, place] : places_) f(hash, uint64_t{place.bytes});
  }
  /// The bytes of a payload. kDamaged names the first chunk that is missing or does not match its
  /// hash. kNoSpace: the payload exceeds this machine's memory.
  Result<Bytes> content(const recording::Payload& payload);
  /// Number of distinct chunks, and their size in bytes.
  size_t chunks() const { return places_.size(); }
  uint64_t contentBytes() const { return content_bytes_; }

 private:
  struct Place {
    uint32_t block;   // in content_blocks_
    uint32_t offset;  // within its bytes
    uint32_t bytes;
    bool verified = false;  // matches its hash
  };
  RecordingReader() = default;
  Status load();
  void loadPlaces(const sbt::LogBlock& block, uint32_t contents);
  void lose(const sbt::LogBlock& block, const std::string& why);
  Result<ByteView> chunk(const recording::ContentHash& hash);
  Result<ByteView> contentBlock(uint32_t number);

  std::unique_ptr<sbt::BlockLog> log_;
  std::unique_ptr<sbt::BlockContents> contents_;
  std::vector<recording::Process> processes_;
  std::vector<sbt::LogBlock> content_blocks_;
  std::vector<sbt::LogBlock> command_blocks_;
  std::unordered_map<recording::ContentHash, Place, recording::HashOfContentHash> places_;
  std::vector<DataLoss> losses_;
  uint64_t content_bytes_ = 0;
  // Cache of unpacked blocks, because programs upload the same data repeatedly.
  static constexpr size_t kMostUnpackedBytes = 256u << 20;
  std::unordered_map<uint32_t, Bytes> unpacked_;
  std::deque<uint32_t> unpacked_order_;  // the oldest first
  size_t unpacked_bytes_ = 0;
};

/// Checks that the trace at `trace_path` may be of the same session as the recording. Fails with
/// kInvalidArgument if both have a session id and the ids differ. An unreadable trace passes.
Status checkSameSession(const RecordingReader& recording, const std::string& trace_path);

/// Calls f(header, fields) for each command of a stream until f returns false. Returns false if the
/// stream ends within a command or a command's size is invalid.
template <class F>
bool forEachCommand(ByteView commands, F&& f) {
  using recording::CommandHeader;
  size_t at = 0;
  while (at < commands.size()) {
    if (commands.size() - at < sizeof(CommandHeader)) return false;
    const auto header = loadFixed<CommandHeader>(commands.data() + at);
    if (header.bytes < sizeof(CommandHeader) || header.bytes % 8 != 0 ||
        header.bytes > commands.size() - at) {
      return false;
    }
    const ByteView fields =
        commands.subspan(at + sizeof(CommandHeader), header.bytes - sizeof(CommandHeader));
    if (!f(header, fields)) return true;
    at += header.bytes;
  }
  return true;
}

}  // namespace tracesmith
