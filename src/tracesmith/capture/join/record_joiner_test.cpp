// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/record_joiner.hpp"

#include <gtest/gtest.h>

#include "tracesmith/capture/protocol/arena_test_util.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith {
namespace {

using arena::StampClockKind;

/// A joiner and the rows that it makes.
struct Joined {
  explicit Joined(StampClockKind clock = StampClockKind::kMonotonicNs)
      : joiner(shared, ProcessId{1}, clock) {}
  void take(const std::vector<Bytes>& records, uint32_t tid = 5) {
    for (const Bytes& r : records) joiner.define(r);
    for (const Bytes& r : records) joiner.join(r, tid);
    joiner.endPass();
  }
  const Trace& rows() const { return shared.delta; }
  SharedRows shared;
  RecordJoiner joiner;
};

TEST(RecordJoiner, BringsALaunchAndItsCompletionTogetherInWhateverOrderTheyAreRead) {
  for (const bool completion_first : {false, true}) {
    Joined j;
    const Bytes object = test::kernelObject(7, "saxpy");
    const Bytes launch = test::kernelRecord(3);
    const Bytes done = test::completeRecord(3);
    if (completion_first) {
      j.take({done, launch, object});
    } else {
      j.take({object, launch, done});
    }
    ASSERT_EQ(j.rows().kernel.size(), 1u);
    const KernelRow row = j.rows().kernel.row(0);
    EXPECT_EQ(j.rows().text(row.name), "saxpy");
    EXPECT_EQ(row.correlation_id, 3u);
    EXPECT_EQ(row.duration_ns, 10);
    EXPECT_EQ(row.queued_before_ns, 15);
    EXPECT_EQ(j.rows().host_call.size(), 1u);
    EXPECT_EQ(j.joiner.pendingCount(), 0u);
    EXPECT_EQ(j.joiner.completionsWithoutCommand(), 0u);
  }
}

TEST(RecordJoiner, CountsHalvesThatStayAlone) {
  Joined j;
  j.take({test::kernelRecord(1), test::kernelRecord(2), test::completeRecord(2),
          test::completeRecord(9)});
  EXPECT_EQ(j.joiner.pendingCount(), 1u);
  EXPECT_EQ(j.joiner.completionsWithoutCommand(), 1u);
  EXPECT_EQ(j.rows().kernel.size(), 1u);
}

TEST(RecordJoiner, WhatWasUnderWayIsFinishedByTheNextCollector) {
  Joined first;
  first.take({test::kernelObject(7, "saxpy"), test::kernelRecord(1), test::kernelRecord(2)});
  first.joiner.writePending();
  first.joiner.writePending();
  ASSERT_EQ(first.rows().pending.size(), 2u) << "each of them once";

  Joined next;
  next.shared.delta.strings = first.rows().strings;
  for (size_t i = 0; i < 2; ++i) next.joiner.restorePending(first.rows().pending.row(i));
  next.joiner.forgetPending(2);  // the file shows that it completed
  next.take({test::completeRecord(1)});
  ASSERT_EQ(next.rows().kernel.size(), 1u);
  EXPECT_EQ(next.rows().text(next.rows().kernel.row(0).name), "saxpy");
  EXPECT_EQ(next.joiner.pendingCount(), 0u);
}

TEST(RecordJoiner, CountsRecordsThatAreTooShortForTheirKind) {
  test::RandomRecords random(3);
  const std::vector<Bytes> whole = {test::kernelObject(7, "a name of some length"),
                                    test::kernelRecord(1), test::completeRecord(1),
                                    test::threadRecord(4, "worker")};
  for (const Bytes& record : whole) {
    for (size_t bytes = 8; bytes < record.size(); bytes += 8) {
      Joined j;
      const Bytes cut =
          test::finished(Bytes(record.begin(), record.begin() + static_cast<ptrdiff_t>(bytes)));
      j.take({cut});
      EXPECT_EQ(j.joiner.damagedRecords(), 1u) << bytes << " of " << record.size();
      EXPECT_EQ(j.rows().kernel.size(), 0u);
    }
  }
}

TEST(RecordJoiner, GetsThroughAnyRecordsAndWhatItMakesCanBeWrittenAndRead) {
  test::RandomRecords random(2026);
  const test::TempDirectory dir;
  uint64_t kernels = 0, damaged = 0, records = 0;
  Joined* j = nullptr;
  std::unique_ptr<Joined> owned;
  for (int i = 0; i < 20'000; ++i) {
    if (i % 500 == 0) {
      if (j != nullptr) {
        j->joiner.writePending();
        const std::string file = dir / "out.sbt";
        auto writer = TraceWriter::create(file);
        ASSERT_TRUE(writer);
        ASSERT_TRUE(writer->write(j->rows()));
        ASSERT_TRUE(writer->finish());
        auto reader = TraceReader::open(file);
        ASSERT_TRUE(reader);
        auto back = reader->read();
        ASSERT_TRUE(back) << back.error().toString();
        EXPECT_TRUE(reader->losses().empty());
        EXPECT_EQ(back->kernel.size(), j->rows().kernel.size());
        EXPECT_EQ(back->host_call.size(), j->rows().host_call.size());
        kernels += back->kernel.size();
        damaged += j->joiner.damagedRecords();
      }
      owned = std::make_unique<Joined>(i % 1000 == 0 ? StampClockKind::kMonotonicNs
                                                     : StampClockKind::kTimeStampCounter);
      j = owned.get();
      for (int k = 0; k < 4; ++k) {
        j->shared.stamps.add({static_cast<int64_t>(random.pick(1 << 20)),
                              static_cast<int64_t>(random.pick(1 << 20)), 1});
      }
    }
    std::vector<Bytes> pass;
    for (uint64_t n = random.pick(20) % 20; n > 0; --n) pass.push_back(random.next());
    records += pass.size();
    j->take(pass, static_cast<uint32_t>(random.pick(4)));
  }
  EXPECT_GT(kernels, records / 200) << "the records were too random to be joined";
  EXPECT_GT(damaged, 0u);
  EXPECT_LT(damaged, records / 2);
}

}  // namespace
}  // namespace tracesmith
