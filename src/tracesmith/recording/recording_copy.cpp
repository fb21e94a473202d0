// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/recording/recording_copy.hpp"

#include <map>
#include <unordered_map>

#include "tracesmith/recording/recording_columns.hpp"

namespace tracesmith {

using namespace recording;

namespace {

class Copier {
 public:
  Copier(const sbt::BlockLog& from, sbt::BlockAppender& to) : from_(from), to_(to) {
    done_.path = from.path();
    done_.complete = from.complete();
    done_.losses = from.losses();
  }

  Result<RecordingCopy> run() {
    std::unordered_map<uint64_t, const sbt::LogBlock*> places;  // by first row
    for (const sbt::LogBlock& block : from_.blocks()) {
      if (isOf(block, TableId::kRecordedPlace)) places.try_emplace(block.header.first_row, &block);
    }
    for (const sbt::LogBlock& block : from_.blocks()) {
      if (isOf(block, TableId::kRecordedProcess) && load(block, contents_)) {
        TS_CHECK_OK(append(block, contents_));
      }
      if (isOf(block, TableId::kRecordedCommand)) TS_CHECK_OK(copyCommands(block));
      if (isOf(block, TableId::kRecordedContent)) {
        const auto of = places.find(block.header.first_row);
        TS_CHECK_OK(copyContent(block, of == places.end() ? nullptr : of->second));
      }
    }
    if (done_.commands == 0) {
      return fail(ErrorCode::kDamaged, "no recorded command of it can be read", from_.path());
    }
    TS_CHECK_OK(endStreams());
    return std::move(done_);
  }

 private:
  struct Stream {
    uint64_t next_sequence = 0;
    int64_t end_ns = 0;
    bool ended = false;
  };

  void lose(const sbt::LogBlock& block, const std::string& why) {
    done_.losses.push_back({block.offset, block.header.totalBytes(), why});
  }

  bool load(const sbt::LogBlock& block, sbt::BlockContents& contents) {
    sbt::Problem problem = contents.load(from_.file(), from_.path(), block.offset, block.header);
    if (!problem) problem = contents.checkStored();
    if (problem) lose(block, problem.text);
    return !problem;
  }

  Status append(const sbt::LogBlock& block, const sbt::BlockContents& contents) {
    sbt::BlockHeader header = block.header;
    header.first_row = to_.rows(header.table);
    return to_.append(header, contents.stored());
  }

  /// Rows of both tables correspond: neither is copied without the other.
  Status copyContent(const sbt::LogBlock& block, const sbt::LogBlock* place) {
    if (place == nullptr || place->header.rows != block.header.rows) {
      lose(block, "content whose hashes were lost");
      return {};
    }
    if (!load(block, contents_) || !load(*place, of_place_)) return {};
    TS_CHECK_OK(append(block, contents_));
    return append(*place, of_place_);
  }

  /// Copy nothing after a gap, because later commands may depend on lost ones.
  Status copyCommands(const sbt::LogBlock& block) {
    if (cut_) return {};
    if (block.header.first_row != to_.rows(block.header.table)) {
      lose(block, "commands before it were lost; it and later ones are left out");
      cut_ = true;
      return {};
    }
    cut_ = !load(block, contents_);
    if (cut_) return {};
    TS_CHECK_OK(append(block, contents_));
    done_.commands += block.header.rows;
    std::vector<uint64_t> process;
    ByteView commands;
    // A block that verifies but does not decode is left for readers to report.
    if (wordsOf(contents_, number(CommandColumn::kProcess), process) || process.empty() ||
        bytesOf(contents_, number(CommandColumn::kBytes), commands)) {
      return {};
    }
    Stream& stream = streams_[process[0]];
    forEachCommand(commands, [&](const CommandHeader& header, ByteView) {
      stream = {header.sequence + 1, header.end_ns, header.kind == CommandKind::kEnd};
      return true;
    });
    return {};
  }

  Status endStreams() {
    if (done_.complete && !cut_) return {};
    const std::string_view reason =
        cut_ ? "the recording was damaged: later commands are lost"
             : "the recording was not finished when it was copied into this file";
    sbt::BlockBuilder builder(1);
    for (const auto& [process, stream] : streams_) {
      if (stream.ended) continue;
      CommandHeader header;
      header.flags = command_flags::kAddedByAgent;
      header.sequence = stream.next_sequence;
      header.start_ns = header.end_ns = stream.end_ns;
      End end;
      end.reason = {reason.data(), reason.size()};
      Bytes bytes(encodedBytes(end));
      encode(header, end, bytes.data());
      sbt::BlockHeader block;
      block.table = number(TableId::kRecordedCommand);
      block.first_row = to_.rows(block.table);
      builder.begin(1, block.table);
      builder.addWords(number(CommandColumn::kProcess), sbt::ElementType::kU64, {&process, 1});
      builder.addBytes(number(CommandColumn::kBytes), bytes);
      TS_CHECK_OK(to_.append(block, builder.contents()));
    }
    return {};
  }

  const sbt::BlockLog& from_;
  sbt::BlockAppender& to_;
  sbt::BlockContents contents_;
  sbt::BlockContents of_place_;
  std::map<uint64_t, Stream> streams_;  // by process number
  bool cut_ = false;                    // commands were lost, so later ones are meaningless
  RecordingCopy done_;
};

}  // namespace

Result<RecordingCopy> copyRecording(const std::string& path, sbt::BlockAppender& to) {
  TS_TRY(const sbt::BlockLog from, openLog(path));
  return Copier(from, to).run();
}

}  // namespace tracesmith
