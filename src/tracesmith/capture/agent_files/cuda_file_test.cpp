// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agent_files/cuda_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "tracesmith/base/temp_folder_test_util.hpp"
#include "tracesmith/capture/agents/cuda/cupti.hpp"
#include "tracesmith/capture/join/record_joiner.hpp"
#include "tracesmith/capture/protocol/cuda_records.hpp"

namespace tracesmith {
namespace {

namespace cupti = agent::cupti;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint32_t kKernelBytes = 216;

/// A file as the agent creates it, written by hand.
class CudaFileTest : public ::testing::Test {
 protected:
  CudaFileTest() {
    header_.magic = cuda_file::kMagic;
    header_.version = cuda_file::kVersion;
    header_.pid = 42;
    header_.start_ticks = 7;
    header_.pid_namespace = 9;
    header_.record_bytes[cupti::kConcurrentKernel] = kKernelBytes;
    fd_ = open(path_.c_str(), O_RDWR | O_CREAT, 0600);
  }
  ~CudaFileTest() override { close(fd_); }

  void put(const void* data, size_t bytes, uint64_t at) {
    ASSERT_EQ(pwrite(fd_, data, bytes, static_cast<off_t>(at)), static_cast<ssize_t>(bytes));
  }
  void definition(const arena::CudaContextRecord& record) {
    put(&record, sizeof record, cuda_file::kLogAt + header_.log_end);
    header_.log_end += sizeof record;
  }
  void kernel(uint32_t buffer, uint32_t place, uint32_t correlation, uint64_t end,
              int32_t kind = cupti::kConcurrentKernel, uint64_t graph_node = 0) {
    alignas(8) uint8_t bytes[kKernelBytes] = {};
    cupti::Kernel k{};
    k.kind = kind;
    k.start = 100;
    k.end = end;
    k.correlation = correlation;
    k.graph_node = graph_node;
    std::memcpy(bytes, &k, sizeof k);
    put(bytes, sizeof bytes,
        cuda_file::kMemoryAt + buffer * cuda_file::kBufferBytes + place * kKernelBytes);
  }
  void taken(uint32_t buffer, uint64_t copied_bytes = 0, uint32_t state = cuda_file::kTaken) {
    cuda_file::Buffer b{};
    b.state = state;
    b.copied_bytes = copied_bytes;
    put(&b, sizeof b, cuda_file::kBuffersAt + buffer * sizeof b);
  }
  Result<CudaFile> opened() {
    put(&header_, sizeof header_, 0);
    const uint64_t end = cuda_file::kMemoryAt + 4 * cuda_file::kBufferBytes;
    if (ftruncate(fd_, static_cast<off_t>(end)) != 0) return failErrno(errno, "truncate", path_);
    return CudaFile::open(path_);
  }
  /// Correlation ids of the records left in the buffers.
  std::vector<uint64_t> left(UnreadCudaRecords* counts = nullptr) {
    auto file = opened();
    EXPECT_TRUE(file) << file.error().toString();
    std::vector<uint64_t> out;
    const UnreadCudaRecords found = file->readBuffers(
        1, [&](ByteView record, bool) { out.push_back(loadFixed<uint64_t>(record.data() + 8)); });
    if (counts != nullptr) *counts = found;
    return out;
  }

  test::TempFolder dir_;
  const std::string path_ = dir_.path("42.1.0.cuda");
  int fd_ = -1;
  cuda_file::Header header_{};
};

TEST_F(CudaFileTest, DefinitionsAreGivenOnce) {
  definition({{arena::RecordKind::kCudaContext, 0, 2, 1}, 0});
  auto file = opened();
  ASSERT_TRUE(file) << file.error().toString();
  EXPECT_EQ(file->pid(), 42u);
  EXPECT_EQ(file->pidNamespace(), 9u);
  std::vector<uint32_t> numbers;
  const auto take = [&](ByteView record) {
    numbers.push_back(loadFixed<arena::RecordHeader>(record.data()).aux);
  };
  file->readDefinitions(take);
  definition({{arena::RecordKind::kCudaContext, 0, 2, 2}, 0});
  put(&header_, sizeof header_, 0);
  file->readDefinitions(take);
  file->readDefinitions(take);
  EXPECT_THAT(numbers, ElementsAre(1, 2));
}

TEST_F(CudaFileTest, ReadingsOfTheClockAreGivenOnceAndTheNewestOfManyAreKept) {
  const auto read = [&](int64_t time) {
    const uint64_t number = header_.clock_samples_done;
    header_.clock_samples_begun = number + 1;
    header_.clock_samples[number % cuda_file::kClockSamples] = {time, time + 1, time + 2};
    header_.clock_samples_done = number + 1;
  };
  const auto times = [](const std::vector<cuda_file::ClockSample>& samples) {
    std::vector<int64_t> out;
    for (const cuda_file::ClockSample& s : samples) out.push_back(s.before_ns);
    return out;
  };
  read(1000);
  read(2000);
  auto file = opened();
  ASSERT_TRUE(file) << file.error().toString();
  file->readDefinitions([](ByteView) {});
  EXPECT_EQ(file->clock(), arena::StampClockKind::kMonotonicNs);
  EXPECT_THAT(times(file->takeClockSamples()), ElementsAre(1000, 2000));
  EXPECT_THAT(file->takeClockSamples(), IsEmpty());
  file->readDefinitions([](ByteView) {});
  EXPECT_THAT(file->takeClockSamples(), IsEmpty());

  for (int64_t i = 0; i < cuda_file::kClockSamples + 5; ++i) read(10'000 + i);
  put(&header_, sizeof header_, 0);
  file->readDefinitions([](ByteView) {});
  const std::vector<int64_t> newest = times(file->takeClockSamples());
  ASSERT_EQ(newest.size(), cuda_file::kClockSamples);
  EXPECT_EQ(newest.front(), 10'005);
  EXPECT_EQ(newest.back(), 10'000 + cuda_file::kClockSamples + 4);

  // A sample that the agent is writing takes the slot of the oldest.
  for (int64_t i = 0; i < cuda_file::kClockSamples; ++i) read(20'000 + i);
  header_.clock_samples_begun = header_.clock_samples_done + 1;
  header_.clock = static_cast<uint32_t>(arena::StampClockKind::kTimeStampCounter);
  put(&header_, sizeof header_, 0);
  file->readDefinitions([](ByteView) {});
  EXPECT_EQ(file->clock(), arena::StampClockKind::kTimeStampCounter);
  EXPECT_EQ(times(file->takeClockSamples()).front(), 20'001);
}

TEST_F(CudaFileTest, WhatWasFinishedInABufferIsRead) {
  taken(0, kKernelBytes);  // the first is in a ring
  for (uint32_t i = 0; i < 4; ++i) kernel(0, i, 10 + i, i == 2 ? 0 : 200);
  taken(1, 0, cuda_file::kPrivate);
  kernel(1, 0, 20, 200);
  kernel(2, 0, 30, 200);  // in a buffer that is not in use
  taken(3);
  kernel(3, 0, 40, 200);
  UnreadCudaRecords counts;
  kernel(3, 1, 41, 0, cupti::kConcurrentKernel, 9);  // of a graph
  EXPECT_THAT(left(&counts), ElementsAre(11, 13, 40));
  EXPECT_EQ(counts.records, 3u);
  EXPECT_EQ(counts.unfinished, 2u);
  EXPECT_EQ(counts.unfinished_others, 1u);
  EXPECT_EQ(counts.unreadable, 0u);
}

TEST_F(CudaFileTest, IdsGoOnWhereTheLifeBefore) {
  header_.first_correlation = 3 * cuda_file::kIdsOfLife;
  taken(0);
  kernel(0, 0, 10, 200);
  auto file = opened();
  ASSERT_TRUE(file);
  EXPECT_EQ(file->firstCorrelation(), 3 * cuda_file::kIdsOfLife);
  uint64_t id = 0;
  (void)file->readBuffers(file->firstCorrelation() + 5, [&](ByteView record, bool first) {
    id = loadFixed<uint64_t>(record.data() + 8);
    EXPECT_TRUE(first);
  });
  EXPECT_EQ(id, 3 * cuda_file::kIdsOfLife + 10);
}

TEST_F(CudaFileTest, WhatIsLeftOfALifeMakesItsRowsAtOnceWhenTheNextOneHasBegun) {
  header_.first_correlation = cuda_file::kIdsOfLife;
  taken(0);
  kernel(0, 0, 10, 200);
  auto file = opened();
  ASSERT_TRUE(file);
  SharedRows shared;
  RecordJoiner joiner(shared, ProcessId{1}, arena::StampClockKind::kMonotonicNs);
  for (const uint64_t life : {1, 2}) {
    joiner.restoreCall({.thread_id = static_cast<ThreadId>(life),
                        .correlation_id = life * cuda_file::kIdsOfLife + 10});
  }
  joiner.noteCudaFile(*file, true);
  ASSERT_EQ(shared.delta.kernel.size(), 1u);
  EXPECT_EQ(shared.delta.kernel.correlation_id[0], cuda_file::kIdsOfLife + 10);
  EXPECT_EQ(shared.delta.kernel.thread_id[0], ThreadId{1});
}

TEST_F(CudaFileTest, WhatAVersionDoesNotHaveIsNotRead) {
  // The next record follows where an older version's ends.
  alignas(8) uint8_t bytes[4096] = {};
  size_t at = 0;
  const auto add = [&](const auto& record, size_t length) {
    std::memcpy(bytes + at, &record, std::min(length, sizeof record));
    header_.record_bytes[record.kind] = static_cast<uint32_t>(length);
    at += length;
  };
  const auto addAll = [&](bool old) {
    at = 0;
    std::memset(bytes, 0, sizeof bytes);
    add(cupti::Synchronization{.kind = cupti::kSynchronization,
                               .type = 2,
                               .start = 1,
                               .end = 2,
                               .correlation = 10,
                               .event = 7,
                               .event_sync = 31},
        old ? 40 : 56);
    add(
        cupti::CudaEvent{
            .kind = cupti::kCudaEvent, .correlation = 11, .event = 7, .event_sync = 31},
        old ? 24 : 80);
    add(cupti::MemoryPool{.kind = cupti::kMemoryPool,
                          .operation = 1,
                          .pool_kind = 1,
                          .correlation = 12,
                          .address = 0x7000,
                          .bytes = 64,
                          .time = 3,
                          .used = 5},
        old ? 64 : 80);
    add(
        cupti::Overhead{
            .kind = cupti::kOverhead, .overhead = 5 << 16, .start = 1, .end = 2, .correlation = 13},
        old ? 40 : 56);
    taken(0);
    put(bytes, sizeof bytes, cuda_file::kMemoryAt);
  };
  for (const bool old : {false, true}) {
    addAll(old);
    auto file = opened();
    ASSERT_TRUE(file);
    std::vector<Bytes> found;
    const UnreadCudaRecords counts = file->readBuffers(
        1, [&](ByteView record, bool) { found.emplace_back(record.begin(), record.end()); });
    EXPECT_EQ(counts.unreadable, 0u);
    ASSERT_EQ(found.size(), 4u);
    const auto sync = loadFixed<arena::CudaSyncRecord>(found[0].data());
    EXPECT_EQ(sync.event, 7u);
    EXPECT_EQ(sync.event_sync, old ? arena::kNoEventSync : 31);
    const auto event = loadFixed<arena::CudaEventRecord>(found[1].data());
    EXPECT_EQ(event.header.aux, 7u);
    EXPECT_EQ(event.correlation, 11u);
    EXPECT_EQ(event.event_sync, old ? arena::kNoEventSync : 31);
    const auto pool = loadFixed<arena::CudaPoolRecord>(found[2].data());
    EXPECT_EQ(pool.address, 0x7000u);
    EXPECT_EQ(pool.used, old ? 0u : 5u);
    const auto overhead = loadFixed<arena::CudaOverheadRecord>(found[3].data());
    EXPECT_EQ(overhead.start, 1);
    EXPECT_EQ(overhead.correlation, old ? 0u : 13u);
  }
}

TEST_F(CudaFileTest, ARecordOfUnknownLengthEndsTheBuffer) {
  taken(0);
  kernel(0, 0, 10, 200);
  kernel(0, 1, 11, 200, 77);
  kernel(0, 2, 12, 200);
  UnreadCudaRecords counts;
  EXPECT_THAT(left(&counts), ElementsAre(10));
  EXPECT_EQ(counts.unreadable, 1u);
}

TEST_F(CudaFileTest, LengthsThatMakeNoSenseAreNotBelieved) {
  taken(0);
  kernel(0, 0, 10, 200);
  for (const uint32_t bytes : {1u, 7u, 1u << 30, ~0u, 0u}) {
    header_.record_bytes[cupti::kConcurrentKernel] = bytes;
    UnreadCudaRecords counts;
    EXPECT_THAT(left(&counts), IsEmpty()) << bytes;
    EXPECT_EQ(counts.unreadable, 1u) << bytes;
  }
  header_.record_bytes[cupti::kConcurrentKernel] = 8;  // less than is read of a kernel record
  EXPECT_THAT(left(), IsEmpty());
  for (const uint64_t copied_bytes : {uint64_t{12345}, ~uint64_t{7}}) {  // not starts of records
    taken(0, copied_bytes);
    UnreadCudaRecords counts;
    EXPECT_THAT(left(&counts), IsEmpty()) << copied_bytes;
    EXPECT_EQ(counts.unreadable, 1u) << copied_bytes;
  }
}

TEST_F(CudaFileTest, ALogThatMakesNoSenseEnds) {
  definition({{arena::RecordKind::kCudaContext, 0, 2, 1}, 0});
  definition({{arena::RecordKind::kCudaContext, 0, 4000, 2}, 0});
  auto file = opened();
  ASSERT_TRUE(file);
  int given = 0;
  for (int i = 0; i < 2; ++i) file->readDefinitions([&](ByteView) { ++given; });
  EXPECT_EQ(given, 1);
  EXPECT_EQ(file->definitionsLost(), 1u);
}

TEST_F(CudaFileTest, RecordsOfSelectedFieldsAreReadByTheirLayout) {
  // Kind, end, correlation and start, in records of 32 bytes.
  struct Selected {
    int32_t kind = cupti::kConcurrentKernel;
    int32_t unused = -1;
    uint64_t end, correlation, start;
  };
  header_.selects = 1;
  header_.record_bytes[cupti::kConcurrentKernel] = sizeof(Selected);
  taken(0);
  uint64_t at = cuda_file::kMemoryAt;
  for (uint64_t id = 10; id < 13; ++id, at += sizeof(Selected)) {
    const Selected record{.end = id == 11 ? 0u : 200u, .correlation = id, .start = 100};
    put(&record, sizeof record, at);
  }
  UnreadCudaRecords counts;
  EXPECT_THAT(left(&counts), IsEmpty());  // the layout was never given
  EXPECT_EQ(counts.unreadable, 1u);
  cuda_file::Selection& s = header_.selections[3];
  s.kind = cupti::kConcurrentKernel;
  s.count = 3;
  s.fields[0] = {8, offsetof(cupti::Kernel, end), 8};
  s.fields[1] = {16, offsetof(cupti::Kernel, correlation), 4};
  s.fields[2] = {24, offsetof(cupti::Kernel, start), 8};
  EXPECT_THAT(left(&counts), ElementsAre(10, 12));
  EXPECT_EQ(counts.unfinished, 1u);
  // Fields outside a record are ignored.
  s.fields[0] = {28, offsetof(cupti::Kernel, end), 8};
  EXPECT_THAT(left(&counts), IsEmpty());
  EXPECT_EQ(counts.unfinished, 3u);
  s.fields[0] = {8, 0xfff8, 0xffff};
  s.count = ~0u;
  EXPECT_THAT(left(&counts), IsEmpty());
  s.kind = ~0u;
  EXPECT_THAT(left(&counts), IsEmpty());
}

TEST_F(CudaFileTest, AFileThatBecomesShorterIsReadAsFarAsItGoes) {
  definition({{arena::RecordKind::kCudaContext, 0, 2, 1}, 0});
  header_.log_lost = 3;
  header_.refused = 5;
  for (uint32_t buffer = 0; buffer < 3; ++buffer) {
    taken(buffer);
    kernel(buffer, 0, 10 + buffer, 200);
  }
  auto file = opened();
  ASSERT_TRUE(file) << file.error().toString();
  int given = 0;
  const auto define = [&] { file->readDefinitions([&](ByteView) { ++given; }); };
  std::vector<uint64_t> left;
  const auto read = [&] {
    left.clear();
    return file->readBuffers(
        1, [&](ByteView record, bool) { left.push_back(loadFixed<uint64_t>(record.data() + 8)); });
  };
  define();
  EXPECT_EQ(given, 1);

  // The last buffer is truncated.
  const auto second_end = cuda_file::kMemoryAt + 2 * cuda_file::kBufferBytes;
  ASSERT_EQ(ftruncate(fd_, static_cast<off_t>(second_end + 100)), 0);
  EXPECT_EQ(read().unreadable, 1u);
  EXPECT_THAT(left, ElementsAre(10, 11));

  // The header claims more definitions than the file has.
  header_.log_end += 32;
  put(&header_, sizeof header_, 0);
  ASSERT_EQ(ftruncate(fd_, static_cast<off_t>(cuda_file::kLogAt + 16)), 0);
  define();
  EXPECT_EQ(given, 1);
  EXPECT_EQ(file->definitionsLost(), 4u);  // the three, and those that are missing

  for (const off_t bytes : {off_t{cuda_file::kBuffersAt + 100}, off_t{100}, off_t{0}}) {
    ASSERT_EQ(ftruncate(fd_, bytes), 0);
    define();
    EXPECT_EQ(read().unreadable, 1u) << bytes;
    EXPECT_THAT(left, IsEmpty()) << bytes;
    EXPECT_EQ(file->definitionsLost(), 4u) << bytes;
    EXPECT_EQ(file->buffersRefused(), 5u) << bytes;
  }
  EXPECT_EQ(given, 1);
}

TEST_F(CudaFileTest, OtherFilesAreRefused) {
  header_.magic = 1;
  EXPECT_FALSE(opened());
  header_.magic = cuda_file::kMagic;
  header_.version = 99;
  EXPECT_EQ(opened().error().code, ErrorCode::kTooNew);
  ASSERT_EQ(ftruncate(fd_, 100), 0);
  EXPECT_FALSE(CudaFile::open(path_));
  EXPECT_FALSE(CudaFile::open(dir_.folder()));
}

}  // namespace
}  // namespace tracesmith
