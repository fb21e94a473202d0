// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/recording/recording_copy.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tracesmith/base/temp_folder_test_util.hpp"
#include "tracesmith/format/trace_check.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith {
namespace {

using namespace recording;

constexpr uint64_t kCommands = 12;

template <class Command>
Bytes encoded(Command command, uint64_t sequence) {
  Bytes out(encodedBytes(command));
  encode({.sequence = sequence}, command, out.data());
  return out;
}

/// The data that a reader gets from a recording.
struct ReadBack {
  std::vector<uint64_t> sequences;
  std::vector<bool> has_content;  // by Write
  std::string end;                // "-": no End
  bool complete = false;
};

ReadBack readBack(const std::string& path) {
  ReadBack out;
  out.end = "-";
  auto reader = RecordingReader::open(path);
  if (!reader) return out;
  out.complete = reader->complete();
  const auto commands = reader->commands(1);
  EXPECT_TRUE(commands);
  (void)forEachCommand(*commands, [&](const CommandHeader& header, ByteView fields) {
    Write write;
    End end;
    if (header.kind == CommandKind::kWrite && decode(fields, write)) {
      out.sequences.push_back(header.sequence);
      out.has_content.push_back(reader->content(write.content).has_value());
    } else if (header.kind == CommandKind::kEnd && decode(fields, end)) {
      out.end = {end.reason.begin(), end.reason.end()};
    }
    return true;
  });
  return out;
}

class RecordingCopyTest : public testing::Test {
 protected:
  /// Writes one block of content and one of commands per command, so that damage affects only one
  /// of them.
  void record(bool finish = true) {
    auto writer = RecordingWriter::create(recording_);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->addProcess({1, 4711, 5, "p"}));
    for (uint64_t i = 0; i < kCommands; ++i) {
      const Bytes content(50 + i, static_cast<uint8_t>(i));
      const ContentHash hash = hashOf(content);
      ASSERT_TRUE(writer->addContent(hash, content));
      Write write;
      write.content = {content.size(), {&hash, 1}};
      ASSERT_TRUE(writer->addCommands(1, encoded(write, i), 1));
      ASSERT_TRUE(writer->flush());
    }
    if (!finish) return;
    ASSERT_TRUE(writer->addCommands(1, encoded(End{}, kCommands), 1));
    ASSERT_TRUE(writer->finish());
  }

  Result<RecordingCopy> fold(const std::string& recording) {
    Trace trace;
    trace.kernel.push({.start_ns = 1, .duration_ns = 2, .name = trace.strings.intern("k")});
    TS_TRY(TraceWriter writer, TraceWriter::create(folded_));
    TS_CHECK_OK(writer.write(trace));
    { const TraceWriter closed = std::move(writer); }
    TS_TRY(sbt::BlockAppender file, sbt::BlockAppender::resume(folded_, UINT64_MAX));
    TS_TRY(RecordingCopy copy, copyRecording(recording, file));
    sbt::BlockBuilder builder(1);
    TS_CHECK_OK(file.writeIndexAndEnd(builder));
    return copy;
  }

  test::TempFolder folder_;
  std::string recording_ = folder_.path("out.sbr");
  std::string folded_ = folder_.path("folded.sbt");
};

TEST_F(RecordingCopyTest, OneFileHoldsTraceAndRecording) {
  record();
  const auto copy = fold(recording_);
  ASSERT_TRUE(copy) << copy.error().toString();
  EXPECT_TRUE(copy->whole());
  EXPECT_EQ(copy->commands, kCommands + 1);
  const auto check = checkTrace(folded_);
  ASSERT_TRUE(check);
  EXPECT_TRUE(check->intact());
  EXPECT_TRUE(check->skipped.empty());
  const ReadBack of = readBack(folded_);
  EXPECT_EQ(of.sequences.size(), kCommands);
  EXPECT_EQ(of.has_content, std::vector<bool>(kCommands, true));
  EXPECT_EQ(of.end, "");
  auto reader = TraceReader::open(folded_);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->read()->kernel.size(), 1u);
  EXPECT_EQ(RecordingReader::open(folded_)->processes()[0].pid, 4711u);
}

TEST_F(RecordingCopyTest, DamageIsLeftOutNamedAndNeverCalledWhole) {
  record();
  const std::string whole = test::contentsOf(recording_);
  const std::string bad = folder_.path("bad.sbr");
  size_t named = 0;
  for (size_t at = 8; at < whole.size(); at += 61) {
    SCOPED_TRACE(at);
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x41);
    std::ofstream(bad, std::ios::binary) << bytes;
    const ReadBack before = readBack(bad);
    const auto copy = fold(bad);
    if (!copy) {
      EXPECT_TRUE(before.sequences.empty()) << copy.error().toString();
      continue;
    }
    named += copy->losses.empty() ? 0 : 1;
    const auto check = checkTrace(folded_);
    ASSERT_TRUE(check);
    EXPECT_TRUE(check->intact());
    const ReadBack after = readBack(folded_);
    EXPECT_EQ(after.sequences, before.sequences);
    EXPECT_EQ(after.has_content, before.has_content);
    EXPECT_NE(after.end, "-");
    const bool all = before.sequences.size() == kCommands &&
                     before.has_content == std::vector<bool>(kCommands, true) && before.end == "";
    EXPECT_EQ(after.end.empty(), before.end.empty());
    EXPECT_TRUE(all || !copy->losses.empty());
  }
  EXPECT_GT(named, whole.size() / 61 * 9 / 10);
}

TEST_F(RecordingCopyTest, OneThatWasCutSaysSoInTheNewFile) {
  record(false);
  const std::string whole = test::contentsOf(recording_);
  const std::string cut = folder_.path("cut.sbr");
  size_t copied = 0;
  for (size_t size = 64; size <= whole.size(); size += 211) {
    SCOPED_TRACE(size);
    std::ofstream(cut, std::ios::binary) << whole.substr(0, size);
    const auto copy = fold(cut);
    if (!copy) continue;  // before the first command
    ++copied;
    EXPECT_FALSE(copy->whole());
    const ReadBack after = readBack(folded_);
    EXPECT_EQ(after.sequences, readBack(cut).sequences);
    EXPECT_TRUE(after.complete);
    EXPECT_NE(after.end.find("not finished"), std::string::npos);
  }
  EXPECT_GT(copied, 10u);
}

}  // namespace
}  // namespace tracesmith
