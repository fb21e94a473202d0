// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/recording/recording_file.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "tracesmith/base/temp_folder_test_util.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith {
namespace {

using namespace recording;

Bytes randomBytes(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes out(n);
  for (uint8_t& b : out) b = static_cast<uint8_t>(random());
  return out;
}

template <class Command>
Bytes encoded(Command command, CommandHeader header = {}) {
  Bytes out(encodedBytes(command));
  encode(header, command, out.data());
  return out;
}

/// Chunks of `bytes`, added to `writer`.
std::vector<ContentHash> added(RecordingWriter& writer, const Bytes& bytes) {
  std::vector<ContentHash> hashes;
  for (size_t at = 0; at < bytes.size(); at += kChunkBytes) {
    const ByteView part =
        ByteView(bytes).subspan(at, std::min<size_t>(kChunkBytes, bytes.size() - at));
    hashes.push_back(hashOf(part));
    EXPECT_TRUE(writer.addContent(hashes.back(), part));
  }
  return hashes;
}

TEST(CommandCodec, EveryFieldComesBack) {
  const uint64_t waits[] = {7, 8, 9};
  const uint8_t pattern[] = {1, 2, 3};
  const ContentHash chunks[] = {{1, 2}, {3, 4}};
  Fill fill;
  fill.queue = 11;
  fill.memory = 12;
  fill.box.region[0] = 99;
  fill.pattern = pattern;
  fill.waits = waits;
  fill.event = 13;
  const Bytes bytes =
      encoded(fill, {.flags = command_flags::kBlocking, .result = -5, .sequence = 3});
  ASSERT_EQ(bytes.size() % 8, 0u);
  EXPECT_TRUE(forEachCommand(bytes, [&](const CommandHeader& header, ByteView fields) {
    EXPECT_EQ(header.kind, CommandKind::kFill);
    EXPECT_EQ(header.result, -5);
    EXPECT_EQ(header.sequence, 3u);
    Fill back;
    EXPECT_TRUE(decode(fields, back));
    EXPECT_EQ(back.queue, 11u);
    EXPECT_EQ(back.box.region[0], 99u);
    EXPECT_EQ(back.box.region[2], 1u);
    EXPECT_TRUE(std::equal(back.pattern.begin(), back.pattern.end(), std::begin(pattern),
                           std::end(pattern)));
    EXPECT_TRUE(
        std::equal(back.waits.begin(), back.waits.end(), std::begin(waits), std::end(waits)));
    EXPECT_EQ(back.event, 13u);
    return true;
  }));
  Write write;
  write.content = {kChunkBytes + 1, chunks};
  const Bytes more = encoded(write);
  Write back;
  ASSERT_TRUE(decode(ByteView(more).subspan(sizeof(CommandHeader)), back));
  EXPECT_EQ(back.content.bytes, kChunkBytes + 1);
  ASSERT_EQ(back.content.chunks.size(), 2u);
  EXPECT_EQ(back.content.chunks[1], (ContentHash{3, 4}));
}

TEST(CommandCodec, CutFieldsReadAsNothingAndNeverBeyondTheEnd) {
  const uint64_t waits[] = {7, 8, 9};
  Launch launch;
  launch.queue = 1;
  launch.global = waits;
  launch.waits = waits;
  const Bytes whole = encoded(launch);
  for (size_t n = 0; n + sizeof(CommandHeader) <= whole.size(); n += 8) {
    const Bytes part(whole.begin() + sizeof(CommandHeader),
                     whole.begin() + static_cast<ptrdiff_t>(sizeof(CommandHeader) + n));
    Launch back;
    (void)decode(part, back);  // under AddressSanitizer
    EXPECT_LE(back.global.size(), 3u);
  }
  EXPECT_FALSE(withCommand(CommandKind::kNone, {}, [](auto&) {}));
}

class RecordingFile : public testing::Test {
 protected:
  test::TempFolder folder_;
  std::string path_ = folder_.path("out.sbr");
};

TEST_F(RecordingFile, KnowsTheTraceOfItsSession) {
  const std::string trace_path = folder_.path("out.sbt");
  const auto makeRecording = [&](const std::string& session) {
    auto writer = RecordingWriter::create(path_);
    ASSERT_TRUE(writer->addProcess({1, 4711, 99, "a program", session}));
    ASSERT_TRUE(writer->addCommands(1, encoded(Write{}, {.sequence = 0}), 1));
    ASSERT_TRUE(writer->finish());
  };
  const auto makeTrace = [&](const std::string& session) {
    auto writer = TraceWriter::create(trace_path);
    Trace trace;
    if (!session.empty()) trace.setMetadata("session_id", session);
    ASSERT_TRUE(writer->write(trace));
    ASSERT_TRUE(writer->finish());
  };
  struct Case {
    std::string of_recording, of_trace;
    bool same;
  };
  for (const Case& c : {Case{"a1", "a1", true}, Case{"a1", "b2", false}, Case{"", "b2", true},
                        Case{"a1", "", true}}) {
    makeRecording(c.of_recording);
    makeTrace(c.of_trace);
    auto reader = RecordingReader::open(trace_path);
    ASSERT_TRUE(reader) << reader.error().toString();
    EXPECT_EQ(reader->sessionId(), c.of_recording);
    const Status same = checkSameSession(*reader, trace_path);
    EXPECT_EQ(same.has_value(), c.same) << c.of_recording << " " << c.of_trace;
    if (same) continue;
    EXPECT_NE(same.error().toString().find("a1"), std::string::npos);
    EXPECT_NE(same.error().toString().find("b2"), std::string::npos);
  }
}

TEST_F(RecordingFile, GivesBackCommandsAndContent) {
  const Bytes large = randomBytes(kChunkBytes * 5 + 123, 1);
  const Bytes small = {1, 2, 3};
  std::vector<ContentHash> of_large, of_small;
  {
    auto writer = RecordingWriter::create(path_);
    ASSERT_TRUE(writer) << writer.error().toString();
    ASSERT_TRUE(writer->addProcess({1, 4711, 99, "a program"}));
    ASSERT_TRUE(writer->addProcess({2, 4712, 99, "another"}));
    of_large = added(*writer, large);
    of_small = added(*writer, small);
    EXPECT_EQ(added(*writer, small), of_small);
    EXPECT_EQ(writer->contentBytes(), large.size() + small.size());
    for (uint64_t i = 0; i < 5000; ++i) {
      Write write;
      write.queue = i;
      write.content = {large.size(), of_large};
      const Bytes bytes = encoded(write, {.sequence = i});
      ASSERT_TRUE(writer->addCommands(1 + i % 2, bytes, 1));
      if (i % 1000 == 0) writer->setHurried(i % 2000 == 0);
    }
    ASSERT_TRUE(writer->finish());
  }
  auto reader = RecordingReader::open(path_);
  ASSERT_TRUE(reader) << reader.error().toString();
  EXPECT_TRUE(reader->complete());
  EXPECT_TRUE(reader->losses().empty());
  ASSERT_EQ(reader->processes().size(), 2u);
  EXPECT_EQ(reader->processes()[0].command_line, "a program");
  EXPECT_EQ(*reader->content({small.size(), of_small}), small);
  auto commands = reader->commands(2);
  ASSERT_TRUE(commands);
  uint64_t next = 1;
  EXPECT_TRUE(forEachCommand(*commands, [&](const CommandHeader& header, ByteView fields) {
    EXPECT_EQ(header.sequence, next);
    Write write;
    EXPECT_TRUE(decode(fields, write));
    EXPECT_EQ(write.queue, next);
    if (next == 1) {
      EXPECT_EQ(*reader->content(write.content), large);
    }
    next += 2;
    return true;
  }));
  EXPECT_EQ(next, 5001u);
  auto missing = reader->content({4, std::vector<ContentHash>{{5, 5}}});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("not in the recording"), std::string::npos);
}

TEST_F(RecordingFile, CutAnywhereReadsUpToTheCut) {
  {
    auto writer = RecordingWriter::create(path_);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->addProcess({1, 1, 1, "p"}));
    for (uint64_t i = 0; i < 20; ++i) {
      const Bytes content = randomBytes(100, i);
      const auto hashes = added(*writer, content);
      Write write;
      write.content = {content.size(), hashes};
      ASSERT_TRUE(writer->addCommands(1, encoded(write, {.sequence = i}), 1));
      ASSERT_TRUE(writer->flush());
    }
    ASSERT_TRUE(writer->finish());
  }
  std::ifstream in(path_, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  uint64_t most = 0;
  for (size_t cut = 64; cut < whole.size(); cut += 13) {
    const std::string cut_path = folder_.path("cut.sbr");
    std::ofstream(cut_path, std::ios::binary) << whole.substr(0, cut);
    auto reader = RecordingReader::open(cut_path);
    if (!reader) continue;  // before the first command
    EXPECT_FALSE(reader->complete());
    auto commands = reader->commands(1);
    ASSERT_TRUE(commands);
    uint64_t n = 0;
    EXPECT_TRUE(forEachCommand(*commands, [&](const CommandHeader& header, ByteView fields) {
      EXPECT_EQ(header.sequence, n++);
      Write write;
      EXPECT_TRUE(decode(fields, write));
      EXPECT_TRUE(reader->content(write.content)) << "content comes before what names it";
      return true;
    }));
    EXPECT_GE(n, most);
    most = std::max(most, n);
  }
  EXPECT_EQ(most, 20u);
}

TEST_F(RecordingFile, DamagedContentIsNamedAndTheRestIsRead) {
  Bytes content = randomBytes(5000, 1);
  const Bytes other = randomBytes(5000, 2);
  std::vector<ContentHash> hashes, other_hashes;
  {
    auto writer = RecordingWriter::create(path_);
    ASSERT_TRUE(writer);
    hashes = added(*writer, content);
    ASSERT_TRUE(writer->flush());
    other_hashes = added(*writer, other);
    ASSERT_TRUE(writer->addCommands(1, encoded(Finish{}), 1));
    ASSERT_TRUE(writer->finish());
  }
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(64 + 80 + 24 + 1000);
  file.put('!');
  file.put('!');
  file.close();
  auto reader = RecordingReader::open(path_);
  ASSERT_TRUE(reader) << reader.error().toString();
  EXPECT_FALSE(reader->content({content.size(), hashes}));
  auto read = reader->content({other.size(), other_hashes});
  ASSERT_TRUE(read) << read.error().toString();
  EXPECT_EQ(*read, other);
}

TEST_F(RecordingFile, WhatIsNoRecordingSaysHowToMakeOne) {
  const std::string trace = folder_.path("out.sbt");
  ASSERT_TRUE(sbt::BlockAppender::create(trace));
  auto reader = RecordingReader::open(trace);
  ASSERT_FALSE(reader);
  EXPECT_NE(reader.error().message.find("--record"), std::string::npos);
}

}  // namespace
}  // namespace tracesmith
