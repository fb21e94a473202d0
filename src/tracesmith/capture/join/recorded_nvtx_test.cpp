// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/recorded_nvtx.hpp"
#include "tracesmith/capture/protocol/cuda_records.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "tracesmith/capture/join/record_joiner.hpp"
#include "tracesmith/capture/protocol/cuda_layout.hpp"

namespace tracesmith {
namespace {

using arena::CudaText;
using arena::NvtxEvent;
using arena::NvtxPayload;
using arena::NvtxRecord;
using arena::RecordKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ThreadId kMain{7};
constexpr ThreadId kOtherThread{8};

class RecordedNvtxTest : public ::testing::Test {
 protected:
  RecordedNvtxTest() {
    define(CudaText::kNvtxName, 1, "outer");
    define(CudaText::kNvtxName, 2, "inner");
    define(CudaText::kNvtxDomain, 1, "training");
    define(CudaText::kNvtxCategory, 5, "compute", 1);
  }
  void define(CudaText kind, uint32_t number, const std::string& text, uint32_t domain = 0,
              uint64_t life = 0) {
    const arena::CudaTextRecord r{{RecordKind::kCudaText, static_cast<uint8_t>(kind), 0, number},
                                  static_cast<uint32_t>(text.size()),
                                  domain};
    Bytes bytes(sizeof r + text.size());
    std::memcpy(bytes.data(), &r, sizeof r);
    std::memcpy(bytes.data() + sizeof r, text.data(), text.size());
    ASSERT_TRUE(RecordedNvtx::defines(bytes));
    ASSERT_TRUE(nvtx_.define(bytes, life * cuda_file::kIdsOfLife));
  }
  static NvtxRecord record(NvtxEvent event, int64_t time, uint32_t name = 0,
                           uint32_t level = arena::kNvtxNoLevel, uint16_t domain = 0) {
    NvtxRecord r{};
    r.header = {RecordKind::kNvtx, static_cast<uint8_t>(event), 0, name};
    r.time = time;
    r.domain = domain;
    r.level = level;
    return r;
  }
  template <class... Parts>
  void give(ThreadId thread, const Parts&... parts) {
    Bytes bytes;
    const auto add = [&bytes](const auto& part) {
      const auto* p = reinterpret_cast<const uint8_t*>(&part);
      bytes.insert(bytes.end(), p, p + sizeof part);
    };
    (add(parts), ...);
    ASSERT_TRUE(nvtx_.join(bytes, thread, [this](uint32_t tid, std::string_view name) {
      thread_names_.push_back(std::to_string(tid) + " " + std::string(name));
    }));
  }
  void push(int64_t time, uint32_t name, uint32_t level, uint16_t domain = 0) {
    give(kMain, record(NvtxEvent::kPush, time, name, level, domain));
  }
  void pop(int64_t time, uint32_t level, uint16_t domain = 0) {
    give(kMain, record(NvtxEvent::kPop, time, 0, level, domain));
  }
  /// "name category kind start+duration thread" of all rows.
  std::vector<std::string> rows() const {
    std::vector<std::string> out;
    const Trace& t = shared_.delta;
    for (size_t i = 0; i < t.range.size(); ++i) {
      const RangeRow r = t.range.row(i);
      out.push_back(std::string(t.text(r.name)) + " " + std::string(t.text(r.category)) + " " +
                    std::string(toString(r.kind)) + " " + std::to_string(r.start_ns) + "+" +
                    std::to_string(r.duration_ns) + " " +
                    std::to_string(static_cast<uint32_t>(r.thread_id)));
    }
    return out;
  }
  /// "row key=value"
  std::vector<std::string> attributes() const {
    std::vector<std::string> out;
    const Trace& t = shared_.delta;
    for (size_t i = 0; i < t.attribute.size(); ++i) {
      const AttributeRow r = t.attribute.row(i);
      EXPECT_EQ(r.table, static_cast<uint32_t>(TableId::kRange));
      out.push_back(std::to_string(r.row_number) + " " + std::string(t.text(r.key)) + "=" +
                    std::string(t.text(r.value)));
    }
    return out;
  }

  SharedRows shared_;
  std::vector<std::string> thread_names_;
  RecordedNvtx nvtx_{shared_, ProcessId{1}, [](int64_t stamp) { return stamp; }};
};

TEST_F(RecordedNvtxTest, RangesOfAThreadNest) {
  push(10, 1, 0);
  push(20, 2, 1);
  pop(30, 1);
  pop(40, 0);
  EXPECT_THAT(rows(), ElementsAre("inner NVTX range 20+10 7", "outer NVTX range 10+30 7"));
  EXPECT_EQ(nvtx_.totals().begun, 2u);
}

TEST_F(RecordedNvtxTest, EachDomainHasItsOwnStack) {
  push(10, 1, 0, 1);
  push(20, 2, 0);
  pop(30, 0, 1);
  pop(40, 0);
  EXPECT_THAT(rows(), ElementsAre("outer training range 10+20 7", "inner NVTX range 20+20 7"));
}

TEST_F(RecordedNvtxTest, EachThreadHasItsOwnStack) {
  push(10, 1, 0);
  give(kOtherThread, record(NvtxEvent::kPush, 15, 2, 0));
  pop(20, 0);
  give(kOtherThread, record(NvtxEvent::kPop, 30, 0, 0));
  EXPECT_THAT(rows(), ElementsAre("outer NVTX range 10+10 7", "inner NVTX range 15+15 8"));
}

TEST_F(RecordedNvtxTest, ARangeOfTheProcessEndsOnAnyThreadInAnyOrderOfReading) {
  const uint64_t first = 1;
  const uint64_t second = 2;
  give(kOtherThread, record(NvtxEvent::kEnd, 50), second);
  EXPECT_THAT(rows(), IsEmpty());
  give(kMain, record(NvtxEvent::kStart, 10, 1), first);
  give(kMain, record(NvtxEvent::kStart, 20, 2), second);
  give(kMain, record(NvtxEvent::kEnd, 30), first);
  EXPECT_THAT(rows(), ElementsAre("inner NVTX range 20+30 7", "outer NVTX range 10+20 7"));
  EXPECT_THAT(attributes(), ElementsAre("0 end_thread_id=8"));
  nvtx_.finish();
  EXPECT_EQ(nvtx_.totals().without_start, 0u);
}

TEST_F(RecordedNvtxTest, WhatNeverEndsIsMarkedAsBegun) {
  push(10, 1, 0);
  give(kMain, record(NvtxEvent::kStart, 20, 2), uint64_t{9});
  nvtx_.finish();
  EXPECT_THAT(rows(), ElementsAre("outer NVTX begin 10+0 7", "inner NVTX begin 20+0 7"));
  EXPECT_EQ(nvtx_.totals().open, 2u);
}

TEST_F(RecordedNvtxTest, EndsWithoutABeginAreCounted) {
  pop(10, arena::kNvtxNoLevel);
  pop(20, 3);
  give(kMain, record(NvtxEvent::kEnd, 30), uint64_t{9});
  nvtx_.finish();
  EXPECT_THAT(rows(), IsEmpty());
  EXPECT_EQ(nvtx_.totals().without_start, 3u);
}

TEST_F(RecordedNvtxTest, ALostEndDoesNotShiftWhatIsAroundIt) {
  push(10, 1, 0);
  push(20, 2, 1);  // its end is lost
  pop(40, 0);
  EXPECT_THAT(rows(), ElementsAre("inner NVTX begin 20+0 7", "outer NVTX range 10+30 7"));
  push(50, 1, 0);  // its end is lost as well
  push(60, 2, 0);
  pop(70, 0);
  EXPECT_EQ(rows().at(2), "outer NVTX begin 50+0 7");
  EXPECT_EQ(rows().at(3), "inner NVTX range 60+10 7");
}

TEST_F(RecordedNvtxTest, ALostBeginDoesNotEndWhatIsAroundIt) {
  push(10, 1, 0);
  pop(30, 1);  // its start was lost
  EXPECT_THAT(rows(), IsEmpty());
  pop(40, 0);
  EXPECT_THAT(rows(), ElementsAre("outer NVTX range 10+30 7"));
  EXPECT_EQ(nvtx_.totals().without_start, 1u);
}

TEST_F(RecordedNvtxTest, WithoutLevelsTheInnermostEnds) {
  constexpr uint32_t kNone = arena::kNvtxNoLevel;
  push(10, 1, kNone);
  push(20, 2, kNone);
  pop(30, kNone);
  pop(40, kNone);
  EXPECT_THAT(rows(), ElementsAre("inner NVTX range 20+10 7", "outer NVTX range 10+30 7"));
}

TEST_F(RecordedNvtxTest, AttributesGoToTheirRow) {
  shared_.ranges_written = 100;
  const auto mark = [&](NvtxPayload type, uint64_t payload, uint32_t category = 0) {
    NvtxRecord r = record(NvtxEvent::kMark, 10, 1, arena::kNvtxNoLevel, 1);
    r.header.flags |= arena::kNvtxAttributes;
    give(kMain, r, arena::NvtxAttributes{payload, type, category, 0xff00ff00, category == 5});
  };
  mark(NvtxPayload::kUint64, UINT64_MAX, 5);
  mark(NvtxPayload::kInt64, UINT64_MAX, 6);
  mark(NvtxPayload::kDouble, std::bit_cast<uint64_t>(0.5));
  mark(NvtxPayload::kUint32, 0x1ffffffff);
  mark(NvtxPayload::kInt32, 0xffffffff);
  mark(NvtxPayload::kFloat, std::bit_cast<uint32_t>(0.25f));
  mark(NvtxPayload::kOther, 1);
  EXPECT_EQ(rows().at(0), "outer training instant 10+0 7");
  EXPECT_THAT(
      attributes(),
      ElementsAre("100 nvtx_category=compute", "100 color=0xff00ff00",
                  "100 payload=18446744073709551615", "101 nvtx_category=6", "101 payload=-1",
                  "102 payload=0.5", "103 payload=4294967295", "104 payload=-1", "105 payload=0.25",
                  "106 payload=not recorded: of an extended type"));
}

TEST_F(RecordedNvtxTest, ATextMayComeWithItsEvent) {
  NvtxRecord r = record(NvtxEvent::kMark, 10);
  r.header.flags |= arena::kNvtxText;
  give(kMain, r, uint32_t{5}, std::array<char, 12>{'h', 'e', 'l', 'l', 'o'});
  NvtxRecord name = record(NvtxEvent::kThreadName, 20, 123);
  name.header.flags |= arena::kNvtxText;
  give(kMain, name, uint32_t{4}, std::array<char, 4>{'m', 'a', 'i', 'n'});
  EXPECT_THAT(rows(), ElementsAre("hello NVTX instant 10+0 7"));
  EXPECT_THAT(thread_names_, ElementsAre("123 main"));
}

TEST_F(RecordedNvtxTest, ANameThatWasNeverToldIsCounted) {
  give(kMain, record(NvtxEvent::kMark, 10, 77));
  give(kMain, record(NvtxEvent::kMark, 20, 0));  // the program gave no name
  EXPECT_THAT(rows(), ElementsAre(" NVTX instant 10+0 7", " NVTX instant 20+0 7"));
  EXPECT_EQ(nvtx_.totals().unnamed, 1u);
}

TEST_F(RecordedNvtxTest, ANewProgramHasItsOwnNamesAndRanges) {
  define(CudaText::kNvtxName, 1, "second program", 0, 1);
  push(10, 1, 0);
  NvtxRecord r = record(NvtxEvent::kPush, 20, 1, 0);
  r.life = 1;
  give(kMain, r);
  r = record(NvtxEvent::kPop, 30, 0, 0);
  r.life = 1;
  give(kMain, r);
  nvtx_.finish();
  EXPECT_THAT(rows(), ElementsAre("second program NVTX range 20+10 7", "outer NVTX begin 10+0 7"));
}

TEST_F(RecordedNvtxTest, ANewThreadOfTheSameNumberEndsNothing) {
  push(10, 1, 0);
  nvtx_.threadBegins(kMain);
  pop(20, arena::kNvtxNoLevel);
  EXPECT_THAT(rows(), ElementsAre("outer NVTX begin 10+0 7"));
  EXPECT_EQ(nvtx_.totals().without_start, 1u);
}

TEST_F(RecordedNvtxTest, AnotherCollectorGoesOnWithWhatIsOpen) {
  push(10, 1, 0, 1);
  nvtx_.writeOpen();
  NvtxRecord inner = record(NvtxEvent::kPush, 20, 2, 1, 1);
  inner.header.flags |= arena::kNvtxAttributes;
  give(kMain, inner,
       arena::NvtxAttributes{std::bit_cast<uint64_t>(0.5), NvtxPayload::kDouble, 5, 0x12, 1});
  push(25, 2, 2, 1);
  give(kMain, record(NvtxEvent::kStart, 30, 1), uint64_t{4});
  nvtx_.writeOpen();
  nvtx_.writeOpen();
  pop(35, 2, 1);
  ASSERT_EQ(shared_.delta.pending.size(), 4u);

  SharedRows shared;
  shared.delta.strings = shared_.delta.strings;
  RecordedNvtx other(shared, ProcessId{1}, [](int64_t stamp) { return stamp; });
  for (size_t i = 0; i < 4; ++i) other.restoreOpen(shared_.delta.pending.row(i));
  other.restoreRange(shared_.delta.range.row(0));
  other.restored();
  const auto take = [&](const NvtxRecord& r, uint64_t id) {
    Bytes bytes(sizeof r + sizeof id);
    std::memcpy(bytes.data(), &r, sizeof r);
    std::memcpy(bytes.data() + sizeof r, &id, sizeof id);
    ASSERT_TRUE(other.join(bytes, kMain, nullptr));
  };
  take(record(NvtxEvent::kPop, 40, 0, 1, 1), 0);
  take(record(NvtxEvent::kPop, 50, 0, 0, 1), 0);
  take(record(NvtxEvent::kEnd, 60), 4);
  other.finish();
  const Trace& t = shared.delta;
  ASSERT_EQ(t.range.size(), 3u);
  EXPECT_EQ(t.range.row(0).start_ns, 20);
  EXPECT_EQ(t.text(t.range.row(0).name), "inner");
  EXPECT_EQ(t.range.row(1).duration_ns, 40);
  EXPECT_EQ(t.range.row(2).duration_ns, 30);
  ASSERT_EQ(t.attribute.size(), 3u);
  EXPECT_EQ(t.text(t.attribute.row(2).value), "0.5");
  EXPECT_EQ(other.totals().open + other.totals().without_start, 0u);
}

TEST_F(RecordedNvtxTest, WhatIsTooShortMakesNoSense) {
  const auto refuses = [&](NvtxEvent event, uint8_t flags, size_t more) {
    NvtxRecord r = record(event, 10);
    r.header.flags |= flags;
    Bytes bytes(sizeof r + more);
    std::memcpy(bytes.data(), &r, sizeof r);
    if (more >= 4) bytes[sizeof r] = 100;  // bytes of a text
    return !nvtx_.join(bytes, kMain, [](uint32_t, std::string_view) {});
  };
  EXPECT_TRUE(refuses(NvtxEvent::kStart, 0, 0));
  EXPECT_TRUE(refuses(NvtxEvent::kEnd, 0, 4));
  EXPECT_TRUE(refuses(NvtxEvent::kMark, arena::kNvtxAttributes, 16));
  EXPECT_TRUE(refuses(NvtxEvent::kMark, arena::kNvtxText, 8));
  EXPECT_TRUE(refuses(static_cast<NvtxEvent>(7), 0, 0));
  EXPECT_FALSE(nvtx_.join(Bytes(8), kMain, nullptr));
}

}  // namespace
}  // namespace tracesmith
