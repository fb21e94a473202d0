// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/trace_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <map>
#include <set>

#include "tracesmith/format/block_log.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_test_util.hpp"

namespace tracesmith {
namespace {

using test::addRandomRows;
using test::expectSameRows;
using test::TempFile;

/// The rows of keyed tables that should remain: the last row of each id.
template <class Table>
void expectLastOfEachId(const Table& written, const Table& read) {
  std::map<uint32_t, size_t> last;
  for (size_t i = 0; i < written.size(); ++i) last[static_cast<uint32_t>(written.id[i])] = i;
  for (const auto& [id, row] : last) {
    ASSERT_LE(id, read.size()) << Table::kName;
    std::vector<uint64_t> expected;
    std::vector<uint64_t> actual;
    Table::visitColumns(written, [&, r = row](const ColumnInfo&, const auto& column) {
      expected.push_back(sbt::toWord(column[r]));
    });
    Table::visitColumns(read, [&, r = id - 1](const ColumnInfo&, const auto& column) {
      actual.push_back(sbt::toWord(column[r]));
    });
    EXPECT_EQ(expected, actual) << Table::kName << " " << id;
  }
}

Trace readAll(const std::string& path) {
  auto reader = TraceReader::open(path);
  EXPECT_TRUE(reader) << reader.error().toString();
  if (!reader) return {};
  EXPECT_TRUE(reader->losses().empty()) << reader->losses()[0].reason;
  EXPECT_TRUE(reader->skipped().empty());
  auto trace = reader->read({.convert_clocks = false});
  EXPECT_TRUE(trace) << trace.error().toString();
  EXPECT_TRUE(reader->losses().empty()) << reader->losses()[0].reason;
  return trace ? std::move(*trace) : Trace{};
}

/// The rows that were added to `whole` since `before`, with all strings.
Trace rowsSince(const Trace& whole, const Trace& before) {
  Trace delta;
  delta.strings = whole.strings;
#define TS_Y(number, Name, name, columns)                           \
  for (size_t i = before.name.size(); i < whole.name.size(); ++i) { \
    delta.name.push(whole.name.row(i));                             \
  }
  TS_TABLES(TS_Y)
#undef TS_Y
  return delta;
}

TEST(TraceWriter, EveryColumnOfEveryTableSurvivesRandomDeltas) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const TempFile file;
    auto writer = TraceWriter::create(
        file.path(),
        {.zstd_level = 1, .max_block_rows = static_cast<uint32_t>(1 + random() % 300)});
    ASSERT_TRUE(writer) << writer.error().toString();
    Trace whole;
    const size_t deltas = 1 + random() % 4;
    for (size_t i = 0; i < deltas; ++i) {
      const Trace before = whole;
      addRandomRows(whole, random, random() % 400);
      const Status status = writer->write(rowsSince(whole, before));
      ASSERT_TRUE(status) << status.error().toString();
    }
    const bool finished = random() % 2 == 0;
    if (finished) {
      ASSERT_TRUE(writer->finish());
    }

    auto reader = TraceReader::open(file.path());
    ASSERT_TRUE(reader);
    EXPECT_EQ(reader->complete(), finished);
    EXPECT_EQ(reader->cutBytes(), 0u);
    EXPECT_EQ(writer->bytesWritten(), reader->fileBytes());
    const Trace read = readAll(file.path());
    // The reader drops attributes of rows that do not exist; the random ones refer to any row.
    Trace expected = whole;
    expected.attribute = read.attribute;
    expectSameRows(expected, read);
#define TS_Y(number, Name, name, columns) \
  if constexpr (isKeyed(TableId::k##Name)) expectLastOfEachId(whole.name, read.name);
    TS_TABLES(TS_Y)
#undef TS_Y
  }
}

/// A small delta: `names` new strings, as many kernels and host calls.
Trace smallDelta(Trace& all, uint64_t from, uint64_t count) {
  Trace delta;
  for (uint64_t i = from; i < from + count; ++i) {
    const StringId name = all.strings.intern("name " + std::to_string(i));
    delta.kernel.push({.start_ns = static_cast<int64_t>(1'000 * i), .name = name});
    delta.host_call.push({.start_ns = static_cast<int64_t>(1'000 * i), .subject = name});
  }
  delta.strings = all.strings;
  return delta;
}

void expectNames(const Trace& trace, uint64_t count) {
  ASSERT_EQ(trace.kernel.size(), count);
  for (uint64_t i = 0; i < count; ++i) {
    EXPECT_EQ(trace.kernel.start_ns[i], static_cast<int64_t>(1'000 * i));
    EXPECT_EQ(trace.text(trace.kernel.name[i]), "name " + std::to_string(i));
  }
}

TEST(TraceWriter, TwoThreadsWriteTheSameBlocks) {
  Trace trace;
  std::mt19937_64 random(3);
  for (int i = 0; i < 3; ++i) addRandomRows(trace, random, 800);
  std::array<std::vector<BlockInfo>, 2> blocks;
  std::array<Trace, 2> read;
  for (size_t threads = 0; threads < 2; ++threads) {
    const TempFile file;
    auto writer =
        TraceWriter::create(file.path(), {.max_block_rows = 700, .two_threads = threads == 1});
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->write(trace));
    ASSERT_TRUE(writer->finish());
    blocks[threads] = TraceReader::open(file.path())->blocks();
    read[threads] = readAll(file.path());
  }
  expectSameRows(read[0], read[1]);
  ASSERT_EQ(blocks[0].size(), blocks[1].size());
  for (size_t i = 0; i < blocks[0].size(); ++i) {
    EXPECT_EQ(blocks[0][i].table, blocks[1][i].table);
    EXPECT_EQ(blocks[0][i].offset, blocks[1][i].offset);
    EXPECT_EQ(blocks[0][i].first_row, blocks[1][i].first_row);
  }
}

TEST(TraceWriter, StringsAreWrittenOnceHoweverManyDeltasThereAre) {
  const TempFile file;
  auto writer = TraceWriter::create(file.path());
  ASSERT_TRUE(writer);
  Trace all;
  all.strings.append(std::string(3u << 20, 'x'));
  all.strings.append(std::string(3u << 20, 'y'));  // together more than one block can hold
  for (uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(writer->write(smallDelta(all, i * 10, 10)));
  ASSERT_TRUE(writer->finish());
  const Trace read = readAll(file.path());
  Trace strings;
  strings.strings = all.strings;
  Trace strings_read;
  strings_read.strings = read.strings;
  expectSameRows(strings, strings_read);
  expectNames(read, 50);
}

TEST(TraceWriter, AnEmptyTraceIsATraceAndFinishingTwiceIsOne) {
  const TempFile file;
  auto writer = TraceWriter::create(file.path());
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(Trace{}));
  ASSERT_TRUE(writer->finish());
  const uint64_t size = writer->bytesWritten();
  ASSERT_TRUE(writer->finish());
  EXPECT_EQ(writer->bytesWritten(), size);
  EXPECT_FALSE(writer->write(Trace{}));
  auto reader = TraceReader::open(file.path());
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->complete());
  EXPECT_TRUE(reader->blocks().empty());
}

TEST(TraceWriter, ReplacesAnEarlierFile) {
  const TempFile file;
  file.write(Bytes(100'000, 'x'));
  auto writer = TraceWriter::create(file.path());
  ASSERT_TRUE(writer);
  Trace all;
  ASSERT_TRUE(writer->write(smallDelta(all, 0, 3)));
  ASSERT_TRUE(writer->finish());
  expectNames(readAll(file.path()), 3);
}

TEST(TraceWriter, ResumeContinuesAfterACutAtAnyPlace) {
  const TempFile file;
  Trace all;
  Bytes whole;
  std::vector<uint64_t> ends;     // of complete deltas
  std::vector<uint32_t> strings;  // number of strings in the file at that offset
  {
    auto writer = TraceWriter::create(file.path());
    ASSERT_TRUE(writer);
    for (uint64_t i = 0; i < 4; ++i) {
      ASSERT_TRUE(writer->write(smallDelta(all, i * 10, 10)));
      ends.push_back(writer->bytesWritten());
      strings.push_back(static_cast<uint32_t>(all.strings.size()));
    }
    ASSERT_TRUE(writer->finish());
    whole = file.bytes();
  }
  for (size_t kept = 0; kept < ends.size(); ++kept) {
    for (size_t size : {static_cast<size_t>(ends[kept]), static_cast<size_t>(ends[kept]) + 33,
                        whole.size() - 1, whole.size()}) {
      SCOPED_TRACE(testing::Message() << kept << " kept of " << size << " bytes");
      file.write(ByteView(whole).first(std::min(size, whole.size())));
      Trace known;
      for (uint32_t i = 0; i < strings[kept]; ++i)
        known.strings.append(all.text(idAt<StringId>(i)));
      auto writer = TraceWriter::resume(file.path(), ends[kept], strings[kept]);
      ASSERT_TRUE(writer) << writer.error().toString();
      EXPECT_EQ(writer->bytesWritten(), ends[kept]);
      ASSERT_TRUE(writer->write(smallDelta(known, (kept + 1) * 10, 10)));
      ASSERT_TRUE(writer->finish());
      expectNames(readAll(file.path()), (kept + 2) * 10);
      EXPECT_TRUE(TraceReader::open(file.path())->complete());
    }
  }
}

TEST(TraceWriter, TheIndexHasTheNamesOfKernelsAlsoAfterAResume) {
  const TempFile file;
  Trace whole;
  const auto addKernels = [&](const char* prefix, uint32_t names) {
    for (uint32_t i = 0; i < sbt::kFewestKernelsWithNames; ++i) {
      const StringId name = whole.strings.intern(prefix + std::to_string(i % names));
      whole.kernel.push({.start_ns = i, .duration_ns = 1, .name = name});
    }
  };
  const auto namesOf = [&] {
    std::set<StringId> names(whole.kernel.name.begin(), whole.kernel.name.end());
    return std::vector<StringId>(names.begin(), names.end());
  };
  whole.strings.intern("no kernel");
  addKernels("a", 300);
  uint64_t first_part = 0;
  {
    auto writer = TraceWriter::create(file.path());
    ASSERT_TRUE(writer && writer->write(whole));
    first_part = writer->bytesWritten();
    ASSERT_EQ(TraceReader::open(file.path())->kernelNames(), namesOf()) << "without an index";
    ASSERT_TRUE(writer->finish());
  }
  EXPECT_EQ(TraceReader::open(file.path())->kernelNames(), namesOf());
  EXPECT_TRUE(TraceReader::open(file.path())->kernelNames(first_part - 1).empty());

  const Trace before = whole;
  addKernels("b", 7);
  auto writer =
      TraceWriter::resume(file.path(), first_part, static_cast<uint32_t>(before.strings.size()));
  ASSERT_TRUE(writer && writer->write(rowsSince(whole, before)) && writer->finish());
  EXPECT_EQ(TraceReader::open(file.path())->kernelNames(), namesOf());
  auto log = sbt::BlockLog::open(file.path());
  ASSERT_TRUE(log && log->kernelNames());
  EXPECT_EQ(*log->kernelNames(), namesOf());
}

TEST(TraceWriter, ResumeRefusesAWrongStringCountAForeignFileAndALivingWriter) {
  const TempFile file;
  Trace all;
  uint64_t end = 0;
  {
    auto writer = TraceWriter::create(file.path());
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->write(smallDelta(all, 0, 10)));
    end = writer->bytesWritten();
    auto second = TraceWriter::resume(file.path(), end, 10);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message.find("another process"), std::string::npos);
    EXPECT_FALSE(TraceWriter::create(file.path()));
  }
  EXPECT_EQ(file.bytes().size(), end) << "a refused create leaves the file alone";
  EXPECT_FALSE(TraceWriter::resume(file.path(), end, 9));
  EXPECT_EQ(file.bytes().size(), end);
  EXPECT_TRUE(TraceWriter::resume(file.path(), end, 10));
  file.write(asBytes("some text"));
  EXPECT_FALSE(TraceWriter::resume(file.path(), end, 10));
  EXPECT_EQ(file.bytes().size(), 9u);
  EXPECT_FALSE(TraceWriter::resume(file.path() + "-missing", end, 10));
}

TEST(TraceWriter, ResumedBlocksFollowTheRowsBeforeThem) {
  const TempFile file;
  uint64_t cut = 0;
  {
    auto writer = TraceWriter::create(file.path());
    ASSERT_TRUE(writer);
    Trace delta;
    delta.launch_shape.push({.dimensions = 1});
    ASSERT_TRUE(writer->write(delta));
    cut = writer->bytesWritten();
    ASSERT_TRUE(writer->write(delta));
  }
  auto writer = TraceWriter::resume(file.path(), cut + 5, 0);
  ASSERT_TRUE(writer);
  Trace delta;
  delta.launch_shape.push({.dimensions = 3});
  ASSERT_TRUE(writer->write(delta));
  EXPECT_EQ(readAll(file.path()).launch_shape.dimensions, (std::vector<uint32_t>{1, 3}));
}

/// Limits the size of files that this process writes, as a full disk would.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    handler_ = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_;
};

TEST(TraceWriter, AFullDiskFailsTheWriteAndLeavesAReadableTrace) {
  const TempFile file;
  auto writer = TraceWriter::create(file.path());
  ASSERT_TRUE(writer);
  Trace all;
  ASSERT_TRUE(writer->write(smallDelta(all, 0, 100)));
  const uint64_t good = writer->bytesWritten();
  const Trace next = smallDelta(all, 100, 5'000);
  for (uint64_t room : {0, 1, 50, 100, 700, 3'000}) {
    const FileSizeLimit limit(good + room);
    const Status status = writer->write(next);
    ASSERT_FALSE(status) << room;
    EXPECT_EQ(status.error().code, ErrorCode::kNoSpace);
    EXPECT_NE(status.error().toString().find(file.path()), std::string::npos);
    EXPECT_EQ(writer->bytesWritten(), good);
    EXPECT_EQ(file.bytes().size(), good) << "nothing of the failed delta is left";
    expectNames(readAll(file.path()), 100);
  }
  ASSERT_TRUE(writer->write(next)) << "there is room again";
  {
    const FileSizeLimit limit(writer->bytesWritten() + 40);
    EXPECT_FALSE(writer->finish());
  }
  expectNames(readAll(file.path()), 5'100);
  ASSERT_TRUE(writer->finish());
  expectNames(readAll(file.path()), 5'100);
}

TEST(TraceWriter, RefusesWhatCanNotBeATrace) {
  const TempFile file;
  EXPECT_FALSE(TraceWriter::create(file.dir())) << "a directory";
  EXPECT_FALSE(TraceWriter::create("/dev/full")) << "a device";
  EXPECT_FALSE(TraceWriter::create(file.dir() + "/no/such/directory.sbt"));
  auto writer = TraceWriter::create(file.path());
  ASSERT_TRUE(writer);
  Trace uneven;
  uneven.kernel.push({});
  uneven.kernel.name.push_back(StringId::kNone);
  EXPECT_FALSE(writer->write(uneven));
  Trace all;
  ASSERT_TRUE(writer->write(smallDelta(all, 0, 10)));
  Trace fewer;
  Trace none;
  EXPECT_FALSE(writer->write(smallDelta(none, 0, 3))) << "another, smaller string table";
  fewer.strings.append(std::string(17u << 20, 'x'));
  for (int i = 0; i < 20; ++i) fewer.strings.append("x");
  auto other = TraceWriter::create(file.dir() + "/other.sbt");
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->write(fewer)) << "a string that is too long";
  unlink((file.dir() + "/other.sbt").c_str());
  expectNames(readAll(file.path()), 10);
}

TEST(TraceWriter, DeathAtAnyMomentLeavesWholeDeltas) {
  const TempFile file;
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto writer = TraceWriter::create(file.path());
      if (!writer) _exit(1);
      Trace all;
      for (uint64_t i = 0;; ++i) {
        if (!writer->write(smallDelta(all, i * 20, 20))) _exit(1);
      }
    }
    usleep(2'000 + 1'000 * static_cast<unsigned>(round));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    auto reader = TraceReader::open(file.path());
    if (!reader) continue;  // killed before the header was written
    EXPECT_FALSE(reader->complete());
    EXPECT_TRUE(reader->losses().empty());
    auto trace = reader->read();
    ASSERT_TRUE(trace);
    expectNames(*trace, trace->kernel.size());
  }
}

TEST(TraceWriter, CommitMarksComeAfterTheRowsTheyStandFor) {
  const TempFile file;
  auto writer = TraceWriter::create(file.path());
  ASSERT_TRUE(writer);
  Trace delta;
  delta.commit_mark.push({.ring = 1, .position = 64});
  delta.pending.push({.correlation_id = 5});
  delta.kernel.push({.start_ns = 1});
  delta.attribute.push({.table = 33});
  ASSERT_TRUE(writer->write(delta));
  auto reader = TraceReader::open(file.path());
  ASSERT_TRUE(reader);
  std::vector<TableId> order;
  for (const BlockInfo& block : reader->blocks()) order.push_back(block.table);
  EXPECT_EQ(order, (std::vector{TableId::kKernel, TableId::kAttribute, TableId::kPending,
                                TableId::kCommit}));
}

TEST(TraceWriter, TimeHintsOfDeviceRowsAreHostTimesAndUnknownClocksHaveNone) {
  const TempFile file;
  auto writer = TraceWriter::create(file.path());
  ASSERT_TRUE(writer);
  Trace delta;
  delta.clock_domain.push({.id = idAt<ClockDomainId>(0), .kind = ClockKind::kBracketed});
  delta.device.push({.id = idAt<DeviceId>(0), .clock_domain_id = idAt<ClockDomainId>(0)});
  delta.device.push({.id = idAt<DeviceId>(1), .clock_domain_id = idAt<ClockDomainId>(1)});
  delta.stream.push({.id = idAt<StreamId>(0), .device_id = idAt<DeviceId>(0)});
  delta.stream.push({.id = idAt<StreamId>(1), .device_id = idAt<DeviceId>(1)});
  delta.clock_snapshot.push({.domain_id = idAt<ClockDomainId>(0),
                             .host_ns = 5'000'000'000,
                             .clock_value = 1'000,
                             .error_ns = 10});
  ASSERT_TRUE(writer->write(delta));
  Trace kernels;
  kernels.kernel.push({.start_ns = 2'000,
                       .duration_ns = 500,
                       .stream_id = idAt<StreamId>(0),
                       .flags = op_flags::kDeviceClock});
  ASSERT_TRUE(writer->write(kernels));
  kernels.kernel.push({.stream_id = idAt<StreamId>(1), .flags = op_flags::kDeviceClock});
  ASSERT_TRUE(writer->write(kernels));
  ASSERT_TRUE(writer->finish());
  auto reader = TraceReader::open(file.path());
  ASSERT_TRUE(reader);
  std::vector<BlockInfo> blocks;
  for (const BlockInfo& block : reader->blocks()) {
    if (block.table == TableId::kKernel) blocks.push_back(block);
  }
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_LE(blocks[0].min_time_ns, 5'000'001'000);
  EXPECT_GE(blocks[0].min_time_ns, 5'000'001'000 - 100);
  EXPECT_GE(blocks[0].max_time_ns, 5'000'001'500);
  EXPECT_LE(blocks[0].max_time_ns, 5'000'001'500 + 100);
  EXPECT_GT(blocks[1].min_time_ns, blocks[1].max_time_ns) << "a clock without snapshots";
  auto trace = reader->read({.from_ns = 5'000'001'200, .to_ns = 5'000'001'300});
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->kernel.size(), 3u) << "a block without hints is never skipped";
  EXPECT_EQ(trace->kernel.start_ns[0], 5'000'001'000);
}

}  // namespace
}  // namespace tracesmith
