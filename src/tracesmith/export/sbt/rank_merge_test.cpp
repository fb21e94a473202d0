// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/sbt/rank_merge.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/model/clock_map.hpp"
#include "tracesmith/model/ranks/ranks.hpp"
#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

using ::testing::HasSubstr;

/// A trace with rows in most tables, whose ids are those that every other rank has as well.
Trace rankTrace(int64_t start_ns, const std::string& kernel) {
  test::SampleTrace s;
  const ProcessId process = s.process(100, "python train.py");
  const ThreadId thread = s.thread(process, 101);
  const DeviceId device = s.device("GPU");
  Trace& t = s.trace;
  t.clock_domain.push({.id = ClockDomainId{1}, .kind = ClockKind::kBracketed});
  t.clock_snapshot.push({.domain_id = ClockDomainId{1}, .host_ns = start_ns, .clock_value = 5000});
  t.device.clock_domain_id[0] = ClockDomainId{1};
  const StreamId stream = s.stream(device, process);
  const StreamId alone = s.stream(DeviceId::kNone);  // belongs to nothing
  const ShapeId shape = s.shape(64, 8);
  s.hostCall("launch", CallKind::kLaunch, thread, stream, start_ns, 10, 1);
  s.kernel(kernel, stream, 5000, 70, 1, shape, op_flags::kDeviceClock);
  s.kernel("other", alone, start_ns + 200, 30, 2);
  t.frame.push({.address = 77, .function = s.text("main")});
  t.call_path.push({.frame = FrameId{1}});
  t.symbol.push({.frame = FrameId{1}, .function = s.text("main(int)")});
  t.host_call.call_path_id[0] = CallPathId{1};
  t.counter_track.push({.name = s.text("loss")});
  t.counter.push({.time_ns = start_ns + 5, .track_id = CounterTrackId{1}, .value = 0.5});
  t.range.push(
      {.start_ns = start_ns, .duration_ns = 9, .name = s.text("step"), .thread_id = thread});
  t.flow.push(
      {.process_id = process, .from_correlation_id = 1, .to_correlation_id = 2, .flow_id = 4});
  t.attribute.push({.table = static_cast<uint32_t>(TableId::kKernel),
                    .row_number = 1,
                    .key = s.text("color"),
                    .value = s.text(kernel)});
  t.object.push({.process_id = process, .kind = ObjectKind::kStream, .handle = 9, .id = 1});
  t.loss.push(
      {.id = LossId{1}, .source = s.text("import"), .emitted = 9, .written = 7, .dropped = 2});
  t.topology_node.push({.id = TopologyNodeId{1}, .kind = TopologyNodeKind::kMachine});
  t.topology_node.push({.id = TopologyNodeId{2},
                        .kind = TopologyNodeKind::kGpu,
                        .parent_id = TopologyNodeId{1},
                        .name = s.text(kernel + "-gpu")});
  t.topology_link.push({.from_id = TopologyNodeId{2}, .to_id = TopologyNodeId{1}, .count = 18});
  t.setMetadata("hostname", kernel + "-host");
  t.setMetadata("synthetic", "true");
  return std::move(s.trace);
}

struct Merged {
  explicit Merged(const std::vector<Trace>& traces) {
    Result<RankMerge> merge = RankMerge::create(file.path());
    std::vector<RankMerge::Rank> ranks;
    for (const Trace& rank : traces) {
      EXPECT_TRUE(merge->add(rank));
      const auto number = static_cast<uint32_t>(2 * ranks.size());
      ranks.push_back({number, RankSource::kTrace, 4, "rank-" + std::to_string(number)});
    }
    EXPECT_TRUE(merge->finish(ranks));
    Result<TraceReader> reader = TraceReader::open(file.path());
    EXPECT_TRUE(reader->complete());
    trace = reader->read().value();
    EXPECT_TRUE(reader->losses().empty());
  }
  test::TempFile file;
  Trace trace;
};

/// The trace written and read by itself, which is what its rank must be.
Trace writtenAlone(const Trace& trace) {
  const test::TempFile file;
  Result<TraceWriter> writer = TraceWriter::create(file.path());
  EXPECT_TRUE(writer->write(trace));
  EXPECT_TRUE(writer->finish());
  return TraceReader::open(file.path())->read().value();
}

/// Every cell as text: names instead of the ids of strings, and correlation and flow ids numbered
/// in the order in which they occur.
template <class Table>
std::vector<std::string> cellsOf(const Trace& trace, const Table& table,
                                 std::map<uint64_t, size_t>& numbers) {
  std::vector<std::string> rows(table.size());
  Table::visitColumns(table, [&](const ColumnInfo& info, const auto& column) {
    using T = typename std::decay_t<decltype(column)>::value_type;
    const std::string name = info.name;
    const bool renumbered = name.ends_with("correlation_id") || name == "flow_id";
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i] += name + "=";
      if constexpr (std::is_same_v<T, StringId>) {
        rows[i] += trace.text(column[i]);
      } else if constexpr (std::is_same_v<T, double>) {
        rows[i] += std::to_string(column[i]);
      } else {
        auto value = static_cast<uint64_t>(column[i]);
        if (renumbered && value != 0)
          value = numbers.try_emplace(value, numbers.size()).first->second;
        rows[i] += std::to_string(value);
      }
      rows[i] += " ";
    }
  });
  return rows;
}

void expectSamePart(const Trace& alone, const Trace& part) {
  std::map<uint64_t, size_t> numbers_alone, numbers_part;
#define TS_Y(number, Name, name, columns) \
  EXPECT_EQ(cellsOf(alone, alone.name, numbers_alone), cellsOf(part, part.name, numbers_part));
  TS_TABLES(TS_Y)
#undef TS_Y
}

TEST(RankMerge, PartOfEachRankIsItsOwnTrace) {
  // Nothing in these is without a process or stream, so nothing has to be added to tell the rank.
  std::vector<Trace> traces;
  for (const char* kernel : {"a", "b", "c"}) {
    Trace trace = rankTrace(1000, kernel);
    trace.stream.process_id[1] = ProcessId{1};
    trace.counter_track.process_id[0] = ProcessId{1};
    trace.context.process_id[1] = ProcessId{1};
    traces.push_back(std::move(trace));
  }
  const Merged merged(traces);
  ASSERT_EQ(merged.trace.rank.size(), 3u);
  for (size_t i = 0; i < traces.size(); ++i) {
    SCOPED_TRACE(i);
    Trace alone = writtenAlone(traces[i]);
    const Trace part = partOfRank(merged.trace, idAt<RankId>(i));
    // Shapes and stacks of all ranks stay in each part; those of the rank are compared below.
    EXPECT_EQ(part.launch_shape.size(), 3u);
    alone.launch_shape = part.launch_shape;
    alone.call_path = part.call_path;
    alone.frame = part.frame;
    alone.symbol.clear();
    Trace compared = part;
    compared.symbol.clear();
    for (auto& shape : alone.kernel.shape_id) {
      if (shape != ShapeId::kNone) shape = idAt<ShapeId>(i);
    }
    for (auto& path : alone.host_call.call_path_id) path = idAt<CallPathId>(i);
    for (StringId& text : alone.frame.function) text = alone.strings.intern(part.text(text));
    expectSamePart(alone, compared);
  }
}

TEST(RankMerge, NoIdsCollide) {
  const Merged merged({rankTrace(1000, "a"), rankTrace(9'000'000, "b")});
  const Trace& t = merged.trace;
  EXPECT_EQ(t.device.size(), 2u);
  EXPECT_EQ(t.frame.size(), 2u);
  EXPECT_EQ(t.symbol.frame[1], FrameId{2});
  EXPECT_EQ(t.call_path.frame[1], FrameId{2});
  EXPECT_EQ(t.device.clock_domain_id[1], ClockDomainId{2});
  EXPECT_EQ(t.object.id[1], 3u) << "the first stream of the second rank";
  ASSERT_EQ(t.kernel.size(), 4u);
  std::map<uint64_t, std::string> kernels;
  for (size_t i = 0; i < 4; ++i) kernels[t.kernel.correlation_id[i]] = t.text(t.kernel.name[i]);
  EXPECT_EQ(kernels.size(), 4u);
  for (size_t i = 0; i < t.host_call.size(); ++i) {
    const bool first = t.host_call.start_ns[i] == 1000;
    EXPECT_EQ(kernels[t.host_call.correlation_id[i]], first ? "a" : "b");
  }
  EXPECT_NE(t.flow.flow_id[0], t.flow.flow_id[1]);
  // Attributes still belong to their rows.
  ASSERT_EQ(t.attribute.size(), 2u);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(t.text(t.kernel.name[t.attribute.row_number[i]]), "other");
}

TEST(RankMerge, EveryRankKeepsItsClock) {
  const Merged merged({rankTrace(1000, "a"), rankTrace(9'000'000, "b")});
  for (const auto& [rank, start] : {std::pair(1, 1000), std::pair(2, 9'000'000)}) {
    const Trace part = partOfRank(merged.trace, static_cast<RankId>(rank));
    ASSERT_EQ(part.kernel.size(), 2u);
    EXPECT_EQ(part.kernel.start_ns[0], start) << "5000 ticks of the rank's own device clock";
    EXPECT_EQ(timeRange(part).begin_ns, start);
  }
  EXPECT_THAT(std::string(merged.trace.metadataValue("clocks")), HasSubstr("its own clock"));
}

TEST(RankMerge, TimesAreThoseOfTheFirstClockIfClocksWereCompared) {
  constexpr int64_t kAhead = 7'000'000;
  Trace first = rankTrace(1000, "a");
  first.setMetadata("clock_id", "x");
  for (const int64_t at : {0, 500'000, 2'000'000}) {
    first.clock_offset.push({.host_ns = at,
                             .peer_clock_id = first.strings.intern("y"),
                             .low_ns = kAhead - 40,
                             .high_ns = kAhead + 60});
  }
  Trace second = rankTrace(kAhead + 1000, "b");
  second.setMetadata("clock_id", "y");
  Trace third = rankTrace(1000, "c");
  third.setMetadata("clock_id", "x");
  Trace facts;
  for (const Trace* trace : {&first, &second, &third}) addClockFacts(facts, *trace);
  const test::TempFile file;
  Result<RankMerge> merge = RankMerge::create(file.path(), RankClocks(facts));
  std::vector<RankMerge::Rank> ranks;
  for (Trace* trace : {&first, &second, &third}) {
    convertToHostTime(*trace);
    ASSERT_TRUE(merge->add(*trace));
    ranks.push_back({static_cast<uint32_t>(ranks.size()), RankSource::kTrace, 3, "file"});
  }
  ASSERT_TRUE(merge->finish(ranks));
  EXPECT_THAT(merge->clocksText(), HasSubstr("the clocks of the ranks were compared"));
  const Trace t = TraceReader::open(file.path())->read().value();
  ASSERT_TRUE(haveOneClock(t));
  const auto error = static_cast<int64_t>(t.rank.clock_error_ns[1]);
  EXPECT_GE(error, 50);
  EXPECT_LE(error, 60);
  EXPECT_EQ(t.rank.clock_error_ns[0] + t.rank.clock_error_ns[2], 0u);
  for (const TimeRange& range : rangesOfRanks(t)) EXPECT_NEAR(range.begin_ns, 1000, error);
  ASSERT_EQ(t.kernel.size(), 6u);
  EXPECT_EQ(t.kernel.start_ns[2] - t.kernel.start_ns[0],
            t.kernel.start_ns[3] - t.kernel.start_ns[1]);
  EXPECT_TRUE(t.clock_offset.empty());
  const std::vector<ClockPair> pairs = clockPairs(t);
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].ranks, "0 and 2");
  EXPECT_EQ(pairs[0].other_ranks, "1");
  EXPECT_EQ(pairs[0].apart_ns, t.rank.clock_error_ns[1]);
  // Parts of it that are merged again must not be converted again.
  EXPECT_EQ(partOfRank(t, RankId{1}).metadataValue("clock_id"), "x");
  EXPECT_EQ(partOfRank(t, RankId{2}).metadataValue("clock_id"), "");
}

TEST(RankMerge, EveryRowCanBeToldByRank) {
  const Merged merged({rankTrace(1000, "a"), rankTrace(9'000'000, "b")});
  const Trace& t = merged.trace;
  const RankLookup ranks(t);
  forEachTable(t, [&](const auto& table) {
    using Table = std::decay_t<decltype(table)>;
    const TableId id = Table::kId;
    if (id == TableId::kMetadata || id == TableId::kRank || id == TableId::kLaunchShape ||
        id == TableId::kCallPath || id == TableId::kFrame || id == TableId::kSymbol ||
        id == TableId::kAttribute) {
      return;
    }
    for (size_t i = 0; i < table.size(); ++i) {
      EXPECT_NE(ranks.of(table, i), RankId::kNone) << Table::kName << " row " << i;
    }
  });
  EXPECT_EQ(t.context.process_id[1], ProcessId{2}) << "nothing else tells the rank of this context";
}

TEST(RankMerge, MetadataAndLossesOfEachRankAreKept) {
  const Merged merged({rankTrace(1000, "a"), rankTrace(2000, "b")});
  const Trace& t = merged.trace;
  EXPECT_EQ(t.metadataValue("synthetic"), "true") << "equal in all ranks";
  EXPECT_EQ(t.metadataValue("hostname"), "");
  EXPECT_EQ(t.metadataValue("rank.2.hostname"), "b-host");
  EXPECT_EQ(partOfRank(t, RankId{2}).metadataValue("hostname"), "b-host");
  ASSERT_EQ(t.loss.size(), 2u);
  EXPECT_EQ(t.loss.rank_id[1], RankId{2});
  EXPECT_EQ(t.loss.dropped[1], 2u);
  EXPECT_EQ(partOfRank(t, RankId{2}).loss.size(), 1u);
}

TEST(RankMerge, AlignedRanksStartTogetherAndAreNamed) {
  Merged merged({rankTrace(1000, "a"), rankTrace(9'000'000, "b")});
  Trace& t = merged.trace;
  alignRanks(t);
  for (const TimeRange& range : rangesOfRanks(t)) EXPECT_EQ(range.begin_ns, 9'000'000);
  EXPECT_EQ(t.text(t.device.name[1]), "rank 2: GPU");
  EXPECT_EQ(t.text(t.process.command_line[0]), "rank 0: python train.py");
  EXPECT_TRUE(haveOneClock(partOfRank(t, RankId{1})));
  const Status mixed = haveOneClock(t);
  ASSERT_FALSE(mixed);
  EXPECT_THAT(mixed.error().message, HasSubstr("0 and 2, each in its own clock"));
}

TEST(RankMerge, DamagedReferencesDoNotReachAnotherRank) {
  Trace broken = rankTrace(1000, "a");
  broken.kernel.stream_id[0] = static_cast<StreamId>(3);  // the rank has two
  broken.kernel.process_id[0] = ProcessId::kNone;
  const Merged merged({broken, rankTrace(2000, "b")});
  const RankLookup ranks(merged.trace);
  size_t first = 0;
  for (size_t i = 0; i < merged.trace.kernel.size(); ++i) {
    if (ranks.of(merged.trace.kernel, i) == RankId{1}) ++first;
  }
  EXPECT_EQ(first, 2u);
}

TEST(RankMerge, AttributesOfRowsThatAreNotThereAreLeftOutAndCounted) {
  Trace first = rankTrace(1'000, "a");
  first.attribute.push({.table = static_cast<uint32_t>(TableId::kKernel), .row_number = 3});
  const test::TempFile file;
  Result<RankMerge> merge = RankMerge::create(file.path());
  ASSERT_TRUE(merge->add(std::move(first)));
  ASSERT_TRUE(merge->add(rankTrace(2'000, "b")));
  EXPECT_EQ(merge->attributesLeftOut(), 1U);
}

TEST(NumberMapping, IdsThatAreLargeInSeveralRanksDoNotCollide) {
  constexpr uint64_t kLargest = uint64_t{1} << 63;
  NumberMapping numbers;
  numbers.start(kLargest - 1);
  std::set<uint64_t> seen = {numbers(1), numbers(kLargest - 1)};
  numbers.start(5);
  seen.insert(numbers(5));
  numbers.start(kLargest + 1);
  seen.insert(numbers(1));
  seen.insert(numbers(kLargest + 1));
  EXPECT_EQ(seen.size(), 5U);
}

TEST(NumberMapping, LargeNumbersAreNumberedAnew) {
  NumberMapping map;
  map.start(10);
  EXPECT_EQ(map(10), 10u);
  map.start(UINT64_MAX);
  EXPECT_EQ(map(UINT64_MAX), 11u);
  EXPECT_EQ(map(5), 12u);
  EXPECT_EQ(map(UINT64_MAX), 11u);
  EXPECT_EQ(map(0), 0u);
  map.start(3);
  EXPECT_EQ(map(1), 13u);
}

}  // namespace
}  // namespace tracesmith
