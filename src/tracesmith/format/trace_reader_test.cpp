// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/trace_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/hash.hpp"
#include "tracesmith/format/blocks/block_builder.hpp"
#include "tracesmith/format/encoding/sbt_layout.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith {
namespace {

using test::TempFile;
using testing::HasSubstr;

std::string openError(const std::string& path, ErrorCode* code = nullptr) {
  auto reader = TraceReader::open(path);
  if (reader) return "opened";
  if (code != nullptr) *code = reader.error().code;
  return reader.error().toString();
}

/// `deltas` writes with some kernels each; each write adds new strings and one launch shape.
Bytes sampleTrace(const TempFile& file, int deltas, bool finish, size_t kernels = 5) {
  auto writer = TraceWriter::create(file.path());
  EXPECT_TRUE(writer);
  Trace delta;
  for (int d = 0; d < deltas; ++d) {
    const StringId name = delta.strings.intern("kernel " + std::to_string(d));
    delta.launch_shape.push({.dimensions = 1, .global_x = static_cast<uint64_t>(d) + 1});
    for (size_t i = 0; i < kernels; ++i) {
      delta.kernel.push({.start_ns = 1'000'000 + d * 1'000 + static_cast<int64_t>(i),
                         .duration_ns = 7,
                         .name = name,
                         .correlation_id = static_cast<uint64_t>(d) * 10'000 + i,
                         .shape_id = idAt<ShapeId>(static_cast<uint64_t>(d))});
      delta.attribute.push({.table = static_cast<uint32_t>(TableId::kKernel),
                            .row_number = static_cast<uint64_t>(d) * kernels + i,
                            .key = name,
                            .value = name});
    }
    EXPECT_TRUE(writer->write(delta));
    delta.launch_shape.clear();
    delta.kernel.clear();
    delta.attribute.clear();
  }
  if (finish) {
    EXPECT_TRUE(writer->finish());
  }
  return file.bytes();
}

/// Measured in processor time of this thread, so that other load on the machine does not count.
class WithinTwoSeconds {
 public:
  ~WithinTwoSeconds() { EXPECT_LT(clockNs(CLOCK_THREAD_CPUTIME_ID) - begin_, 2'000'000'000); }

 private:
  int64_t begin_ = clockNs(CLOCK_THREAD_CPUTIME_ID);
};

/// Conditions that every kernel read from a sampleTrace() must meet, however damaged the file is.
void expectKernelsAreTrue(const Trace& trace) {
  for (size_t i = 0; i < trace.kernel.size(); ++i) {
    const KernelRow row = trace.kernel.row(i);
    const auto d = static_cast<int64_t>(row.correlation_id / 10'000);
    EXPECT_EQ(row.start_ns,
              1'000'000 + d * 1'000 + static_cast<int64_t>(row.correlation_id % 10'000));
    const std::string_view name = trace.text(row.name);
    if (!name.empty()) {
      EXPECT_EQ(name, "kernel " + std::to_string(d));
    }
    const auto shape = static_cast<size_t>(row.shape_id);
    if (shape != 0 && shape <= trace.launch_shape.size() &&
        trace.launch_shape.global_x[shape - 1] != 0) {
      EXPECT_EQ(trace.launch_shape.global_x[shape - 1], static_cast<uint64_t>(d) + 1);
    }
  }
  for (size_t i = 0; i < trace.attribute.size(); ++i) {
    const uint64_t row = trace.attribute.row_number[i];
    ASSERT_LT(row, trace.kernel.size());
    const std::string_view name = trace.text(trace.attribute.value[i]);
    if (!name.empty()) {
      EXPECT_EQ(name, "kernel " + std::to_string(trace.kernel.correlation_id[row] / 10'000));
    }
  }
}

TEST(TraceReader, SaysWhatAFileIsThatIsNoTrace) {
  using namespace std::string_view_literals;
  const struct {
    std::string_view content;
    const char* expected;
  } cases[] = {
      {""sv, "the file is empty"},
      {"hello, world\n"sv, "looks like text"},
      {"  {\"traceEvents\": []}"sv, "looks like JSON"},
      {"\x1f\x8b\x08\x00\x00\x00"sv, "looks like gzip"},
      {"\x28\xb5\x2f\xfd\x00\x00"sv, "looks like zstd"},
      {"SQLite format 3\0..."sv, "SQLite"},
      {"SBT\0\x00\x00\x01\x00"sv, "TraceSmith 0.x"},
      {"\x0a\x10\x08\x01\x00\x00\x00\x00\x00\x00"sv, "Perfetto"},
      {"\x7f\x45LF\x02\x01\x01\x00"sv, "ELF"},
      {"\x89SBT\n\x1a\n..........."sv, "text mode"},
      {"\x00\x01\x02\x03\x04\x05\x06\x07\x08"sv, "not those of an SBT file"},
      {"\x89SBT\r\n\x1a\n\x01\x00"sv, "cut within its header"},
  };
  for (const auto& c : cases) {
    const TempFile file;
    file.write(asBytes(c.content));
    EXPECT_THAT(openError(file.path()), HasSubstr(c.expected));
    EXPECT_THAT(openError(file.path()), HasSubstr(file.path()));
  }
}

TEST(TraceReader, MissingFilesDirectoriesAndPipesAreRefusedAtOnce) {
  const TempFile file;
  ErrorCode code{};
  EXPECT_THAT(openError(file.path(), &code), HasSubstr("No such file"));
  EXPECT_EQ(code, ErrorCode::kNotFound);
  EXPECT_THAT(openError(file.dir()), HasSubstr("directory"));
  ASSERT_EQ(mkfifo(file.path().c_str(), 0600), 0);
  EXPECT_THAT(openError(file.path()), HasSubstr("pipe"));
}

TEST(TraceReader, AnIntactHeaderOfALaterMajorVersionIsRefusedByNumber) {
  const TempFile file;
  Bytes bytes = sampleTrace(file, 2, true);
  sbt::FileHeader header;
  header.version_major = 2;
  header.version_minor = 7;
  const auto encoded = sbt::encodeFileHeader(header);
  std::copy(encoded.begin(), encoded.end(), bytes.begin());
  file.write(bytes);
  ErrorCode code{};
  const std::string error = openError(file.path(), &code);
  EXPECT_EQ(code, ErrorCode::kTooNew);
  EXPECT_THAT(error, HasSubstr("2.7"));
  EXPECT_THAT(error, HasSubstr("1.x"));
}

TEST(TraceReader, AFlagThatChangesTheMeaningOfAFileIsRefusedAndOthersAreNot) {
  const TempFile file;
  sbt::FileHeader header;
  header.flags = 1ull << 40;
  file.write(sbt::encodeFileHeader(header));
  ErrorCode code{};
  openError(file.path(), &code);
  EXPECT_EQ(code, ErrorCode::kTooNew);
  header.flags = 1;
  file.write(sbt::encodeFileHeader(header));
  EXPECT_EQ(openError(file.path()), "opened");
}

TEST(TraceReader, ADamagedFileHeaderCostsNothingButItself) {
  const TempFile file;
  const Bytes good = sampleTrace(file, 3, true);
  for (size_t i = 8; i < sbt::kFileHeaderBytes; ++i) {
    Bytes bytes = good;
    bytes[i] ^= 0x41;
    file.write(bytes);
    auto reader = TraceReader::open(file.path());
    ASSERT_TRUE(reader) << "byte " << i << ": " << reader.error().toString();
    auto trace = reader->read();
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->kernel.size(), 15u);
    ASSERT_EQ(reader->losses().size(), 1u);
    EXPECT_THAT(reader->losses()[0].reason, HasSubstr("file header"));
  }
}

TEST(TraceReader, AFileCutAtAnyByteReadsWhatIsWhole) {
  const TempFile file;
  const Bytes whole = sampleTrace(file, 4, true);
  std::vector<uint64_t> ends;
  {
    auto reader = TraceReader::open(file.path());
    ASSERT_TRUE(reader);
    EXPECT_TRUE(reader->complete());
    for (const BlockInfo& block : reader->blocks()) ends.push_back(block.end);
  }
  for (size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    file.write(ByteView(whole).first(size));
    const WithinTwoSeconds in_time;
    auto reader = TraceReader::open(file.path());
    if (size < sbt::kFileHeaderBytes) {
      EXPECT_FALSE(reader);
      continue;
    }
    ASSERT_TRUE(reader) << reader.error().toString();
    EXPECT_FALSE(reader->complete());
    EXPECT_TRUE(reader->losses().empty()) << "a cut is no damage: " << reader->losses()[0].reason;
    const auto whole_blocks =
        std::count_if(ends.begin(), ends.end(), [&](uint64_t end) { return end <= size; });
    EXPECT_EQ(reader->blocks().size(), static_cast<size_t>(whole_blocks));
    auto trace = reader->read();
    ASSERT_TRUE(trace);
    expectKernelsAreTrue(*trace);
    // Every byte is accounted for: header, blocks (including the index), the incomplete rest.
    const uint64_t last = whole_blocks == 0 ? sbt::kFileHeaderBytes : ends[whole_blocks - 1];
    if (size < ends.back()) {
      EXPECT_EQ(reader->cutBytes(), size - last);
    }
  }
}

TEST(TraceReader, AnyDamagedBitIsNoticedAndWhatIsReadIsTrue) {
  const TempFile file;
  const Bytes whole = sampleTrace(file, 2, true);
  Bytes bytes = whole;
  size_t damaged_bit = 0;
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    SCOPED_TRACE(bit);
    const size_t i = bit / 8;
    bytes[damaged_bit / 8] = whole[damaged_bit / 8];
    bytes[i] ^= static_cast<uint8_t>(1u << (bit % 8));
    damaged_bit = bit;
    file.write(bytes);
    const WithinTwoSeconds in_time;
    auto reader = TraceReader::open(file.path());
    if (i < 8) {
      EXPECT_FALSE(reader) << "the magic is wrong";
      continue;
    }
    ASSERT_TRUE(reader) << reader.error().toString();
    auto trace = reader->read();
    ASSERT_TRUE(trace) << trace.error().toString();
    expectKernelsAreTrue(*trace);
    EXPECT_GE(trace->kernel.size(), 5u) << "one flipped bit costs one block at most";
    EXPECT_TRUE(!reader->losses().empty() || reader->cutBytes() != 0) << "a loss has a name";
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

TEST(TraceReader, RandomDamageOfEveryKindNeverDoesMoreThanLoseRows) {
  const TempFile file;
  std::vector<Bytes> originals;
  originals.push_back(sampleTrace(file, 4, true));
  originals.push_back(sampleTrace(file, 3, false, 200));
  std::mt19937_64 random(99);
  for (int round = 0; round < 20'000; ++round) {
    Bytes bytes = originals[random() % originals.size()];
    for (uint64_t n = 1 + random() % 3; n > 0; --n) {
      const size_t at = random() % bytes.size();
      const size_t length = std::min<size_t>(1 + random() % 64, bytes.size() - at);
      switch (random() % 6) {
        case 0:
          bytes[at] ^= static_cast<uint8_t>(1u << (random() % 8));
          break;
        case 1:  // absurd counts
          std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(at), std::min<size_t>(length, 8),
                      0xff);
          break;
        case 2:
          for (size_t i = 0; i < length; ++i) bytes[at + i] = static_cast<uint8_t>(random());
          break;
        case 3:  // a part is missing
          bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(at),
                      bytes.begin() + static_cast<ptrdiff_t>(at + length));
          break;
        case 4: {  // a part appears twice
          const Bytes piece(bytes.begin() + static_cast<ptrdiff_t>(at),
                            bytes.begin() + static_cast<ptrdiff_t>(at + length));
          bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at), piece.begin(), piece.end());
          break;
        }
        case 5:  // a hole of zeros, as after a machine crash
          std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(at), length, 0);
          break;
      }
      if (bytes.empty()) bytes.push_back(0);
    }
    file.write(bytes);
    const WithinTwoSeconds in_time;
    auto reader = TraceReader::open(file.path());
    if (!reader) continue;
    auto trace = reader->read();
    ASSERT_TRUE(trace) << "round " << round << ": " << trace.error().toString();
    expectKernelsAreTrue(*trace);
    reader->blocks();
    ASSERT_FALSE(testing::Test::HasFailure()) << "round " << round;
  }
}

TEST(TraceReader, IdsHoldWhenABlockOfADictionaryIsLost) {
  const TempFile file;
  Bytes bytes = sampleTrace(file, 3, true);
  auto reader = TraceReader::open(file.path());
  ASSERT_TRUE(reader);
  int hit = 0;
  int strings_seen = 0;
  int shapes_seen = 0;
  for (const BlockInfo& block : reader->blocks()) {
    if ((block.table == TableId::kString && ++strings_seen == 2) ||
        (block.table == TableId::kLaunchShape && ++shapes_seen == 2)) {
      bytes[block.offset + 5] ^= 1;
      ++hit;
    }
  }
  ASSERT_EQ(hit, 2);
  for (bool with_index : {true, false}) {
    if (!with_index) bytes.resize(bytes.size() - 1);
    file.write(bytes);
    auto damaged = TraceReader::open(file.path());
    ASSERT_TRUE(damaged);
    auto trace = damaged->read();
    ASSERT_TRUE(trace);
    EXPECT_EQ(damaged->losses().empty(), false);
    ASSERT_EQ(trace->strings.size(), 3u);
    EXPECT_EQ(trace->text(idAt<StringId>(0)), "kernel 0");
    EXPECT_EQ(trace->text(idAt<StringId>(1)), "");
    EXPECT_EQ(trace->text(idAt<StringId>(2)), "kernel 2");
    EXPECT_EQ(trace->launch_shape.global_x, (std::vector<uint64_t>{1, 0, 3}));
    EXPECT_EQ(trace->kernel.size(), 15u);
    EXPECT_EQ(trace->attribute.size(), 15u);
    expectKernelsAreTrue(*trace);
  }
}

TEST(TraceReader, AttributesFollowTheirRowsWhenABlockOfEventsIsLost) {
  const TempFile file;
  Bytes bytes = sampleTrace(file, 3, true);
  auto reader = TraceReader::open(file.path());
  ASSERT_TRUE(reader);
  for (const BlockInfo& block : reader->blocks()) {
    if (block.table == TableId::kKernel && block.min_time_ns == 1'001'000) {
      bytes[block.end - 1] ^= 1;  // in its last column
    }
  }
  file.write(bytes);
  auto damaged = TraceReader::open(file.path());
  ASSERT_TRUE(damaged);
  auto trace = damaged->read();
  ASSERT_TRUE(trace);
  ASSERT_FALSE(damaged->losses().empty());
  EXPECT_THAT(damaged->losses()[0].reason, HasSubstr("of kernel"));
  EXPECT_EQ(trace->attribute.size(), trace->kernel.size());
  expectKernelsAreTrue(*trace);
}

TEST(TraceReader, ReadsOnlyBlocksOfTheTimeAndTablesAskedFor) {
  const TempFile file;
  sampleTrace(file, 5, true);
  auto reader = TraceReader::open(file.path());
  ASSERT_TRUE(reader);
  auto middle = reader->read({.from_ns = 1'002'000, .to_ns = 1'002'500});
  ASSERT_TRUE(middle);
  EXPECT_EQ(middle->kernel.size(), 5u);
  EXPECT_EQ(middle->kernel.start_ns[0], 1'002'000);
  EXPECT_EQ(middle->attribute.size(), 5u) << "attributes of rows that were not read stay away";
  expectKernelsAreTrue(*middle);
  // The end of a span counts, not only its start.
  auto last_moment = reader->read({.from_ns = 1'004'011, .to_ns = 2'000'000});
  ASSERT_TRUE(last_moment);
  EXPECT_EQ(last_moment->kernel.size(), 5u);

  auto none = reader->read({.tables = {TableId::kCopy}});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->kernel.empty());
  EXPECT_EQ(none->launch_shape.size(), 5u) << "dictionaries are always read";
  EXPECT_EQ(none->strings.size(), 5u);

  auto early = reader->read({.until_offset = reader->blocks()[4].end});
  ASSERT_TRUE(early);
  EXPECT_LT(early->kernel.size(), 25u);
}

TEST(TraceReader, RefusesToTakeMoreMemoryThanAllowed) {
  const TempFile file;
  sampleTrace(file, 2, true, 1'000);
  auto reader = TraceReader::open(file.path());
  ASSERT_TRUE(reader);
  auto trace = reader->read({.max_memory_bytes = 10'000});
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().code, ErrorCode::kNoSpace);
}

TEST(TraceReader, ManyEqualRowsInASmallFileAreRead) {
  // Everything that a writer writes can be read: equal rows take no bytes.
  const TempFile file;
  constexpr size_t kRows = 9'000'000;
  {
    auto writer = TraceWriter::create(file.path());
    ASSERT_TRUE(writer);
    Trace trace;
    for (size_t i = 0; i < 1'000'000; ++i) trace.kernel.push({.start_ns = 5, .duration_ns = 7});
    for (size_t rows = 0; rows < kRows; rows += trace.kernel.size()) {
      ASSERT_TRUE(writer->write(trace));
    }
    ASSERT_TRUE(writer->finish());
  }
  auto reader = TraceReader::open(file.path());
  ASSERT_TRUE(reader);
  EXPECT_LT(reader->fileBytes(), 100'000U);
  const auto trace = reader->read({.tables = {TableId::kKernel}});
  ASSERT_TRUE(trace) << trace.error().toString();
  EXPECT_EQ(trace->kernel.size(), kRows);
}

TEST(TraceReader, ReadBlockGivesTheFirstRowsOfEachBlock) {
  const TempFile file;
  sampleTrace(file, 3, false);
  auto reader = TraceReader::open(file.path());
  ASSERT_TRUE(reader);
  Trace whole;
  Trace part;
  for (size_t i = 0; i < reader->blocks().size(); ++i) {
    ASSERT_TRUE(reader->readBlock(i, whole));
    ASSERT_TRUE(reader->readBlock(i, part, 0, 2));
  }
  ASSERT_EQ(part.kernel.size(), 6u);
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(part.kernel.correlation_id[i], whole.kernel.correlation_id[i / 2 * 5 + i % 2]);
  EXPECT_EQ(part.launch_shape.size(), whole.launch_shape.size()) << "others refer to its rows";
  EXPECT_EQ(part.strings.size(), whole.strings.size());
  EXPECT_EQ(part.attribute.size(), 6u);
}

TEST(TraceReader, ReadBlockGivesTheRowsOfOneBlockAfterAnother) {
  const TempFile file;
  sampleTrace(file, 3, false);
  auto reader = TraceReader::open(file.path());
  ASSERT_TRUE(reader);
  Trace trace;
  for (size_t i = 0; i < reader->blocks().size(); ++i) ASSERT_TRUE(reader->readBlock(i, trace));
  EXPECT_EQ(trace.kernel.size(), 15u);
  EXPECT_EQ(trace.strings.size(), 3u);
  EXPECT_FALSE(reader->readBlock(0, trace)) << "strings again would move the ids";
  EXPECT_FALSE(reader->readBlock(reader->blocks().size(), trace));
}

TEST(TraceReader, RefreshSeesWhatAnotherProcessAppends) {
  const TempFile file;
  constexpr int kDeltas = 300;
  auto first = TraceWriter::create(file.path());
  ASSERT_TRUE(first);
  int seen[2];  // the writer is not to be done before the reader has seen its first half
  ASSERT_EQ(pipe(seen), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Trace delta;
    bool ok = true;
    close(seen[1]);
    for (int d = 0; d < kDeltas; ++d) {
      char any = 0;
      if (d == kDeltas / 2) ok = ok && read(seen[0], &any, 1) == 1;
      const StringId name = delta.strings.intern("kernel " + std::to_string(d));
      for (uint64_t i = 0; i < 50; ++i) {
        delta.kernel.push({.start_ns = 1'000'000 + d * 1'000 + static_cast<int64_t>(i),
                           .name = name,
                           .correlation_id = static_cast<uint64_t>(d) * 10'000 + i});
      }
      ok = ok && first->write(delta);
      delta.kernel.clear();
    }
    ok = ok && first->finish();
    _exit(ok ? 0 : 1);
  }
  auto reader = TraceReader::open(file.path());
  ASSERT_TRUE(reader);
  Trace trace;
  size_t next = 0;
  size_t rounds_with_news = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!reader->complete() && std::chrono::steady_clock::now() < deadline) {
    auto fresh = reader->refresh();
    ASSERT_TRUE(fresh);
    rounds_with_news += *fresh > 0 ? 1 : 0;
    if (*fresh > 0 && rounds_with_news == 1) {
      ASSERT_EQ(write(seen[1], "y", 1), 1);
    }
    EXPECT_TRUE(reader->losses().empty()) << reader->losses()[0].reason;
    for (; next < reader->blocks().size(); ++next) ASSERT_TRUE(reader->readBlock(next, trace));
    std::this_thread::yield();
  }
  close(seen[0]);
  close(seen[1]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(reader->complete());
  EXPECT_GT(rounds_with_news, 1u);
  EXPECT_EQ(trace.kernel.size(), static_cast<size_t>(kDeltas) * 50);
  expectKernelsAreTrue(trace);
}

TEST(TraceReader, AFileThatShrinksUnderneathIsALossNotACrash) {
  const TempFile file;
  const Bytes bytes = sampleTrace(file, 4, true);
  auto reader = TraceReader::open(file.path());
  ASSERT_TRUE(reader);
  ASSERT_EQ(truncate(file.path().c_str(), static_cast<off_t>(bytes.size() / 2)), 0);
  auto trace = reader->read();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(reader->losses().empty());
  expectKernelsAreTrue(*trace);
  ASSERT_TRUE(reader->refresh());
  EXPECT_FALSE(reader->complete());
  auto again = reader->read();
  ASSERT_TRUE(again);
  expectKernelsAreTrue(*again);
}

}  // namespace
}  // namespace tracesmith
