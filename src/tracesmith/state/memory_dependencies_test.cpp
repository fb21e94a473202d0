// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/memory_dependencies.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

using ::testing::ElementsAre;

TEST(MemoryDependency, WhoWritesMemoryComesBeforeWhoUsesIt) {
  Trace trace;
  trace.device.push({.id = idAt<DeviceId>(0)});
  for (size_t i = 0; i < 3; ++i) {
    trace.stream.push({.id = idAt<StreamId>(i),
                       .device_id = idAt<DeviceId>(0),
                       .ordinal = static_cast<uint32_t>(i)});
  }
  const auto copy = [&](int64_t start, size_t stream, uint64_t from, uint64_t to, uint64_t bytes) {
    trace.copy.push({.start_ns = start,
                     .duration_ns = 5,
                     .stream_id = idAt<StreamId>(stream),
                     .correlation_id = trace.copy.size() + 1,
                     .bytes = bytes,
                     .source = from,
                     .destination = to});
  };
  copy(0, 0, 0, 1000, 100);     // 1 writes [1000, 1100)
  copy(10, 1, 0, 1050, 10);     // 2 writes within it
  copy(20, 2, 1000, 5000, 50);  // 3 reads [1000, 1050), written by 1
  copy(30, 2, 1055, 6000, 1);   // 4 reads what 2 wrote
  copy(40, 2, 1100, 7000, 8);   // 5 reads unwritten bytes
  copy(50, 0, 0, 1102, 4);      // 6 overwrites what 5 had read
  const OperationGraph graph = OperationGraph::of(trace);
  std::vector<std::pair<uint64_t, uint64_t>> memory;
  for (const Dependency& d : graph.dependencies) {
    if (d.type != DependencyType::Memory) continue;
    EXPECT_FALSE(d.exact());
    memory.emplace_back(graph.operations[d.from].correlation_id,
                        graph.operations[d.to].correlation_id);
  }
  EXPECT_THAT(memory,
              ElementsAre(std::pair(1, 2), std::pair(1, 3), std::pair(2, 4), std::pair(5, 6)));
}

class MemoryDependencies : public ::testing::Test {
 protected:
  MemoryDependencies() {
    for (uint32_t i = 0; i < 2; ++i) process_[i] = s_.process(i + 1, "program");
    for (uint32_t i = 0; i < 5; ++i) stream_[i] = s_.stream(s_.device("GPU"), process_[i / 4]);
  }
  void copy(uint32_t stream, uint64_t from, uint64_t to, uint64_t bytes) {
    const auto at = static_cast<int64_t>(s_.trace.copy.size()) * 10;
    s_.copy(CopyKind::kUnknown, stream_[stream], at, 5, bytes, s_.trace.copy.size() + 1);
    s_.trace.copy.source.back() = from;
    s_.trace.copy.destination.back() = to;
  }
  std::vector<std::pair<uint32_t, uint32_t>> found() const {
    std::vector<std::pair<uint32_t, uint32_t>> out;
    for (const Dependency& d : OperationGraph::of(s_.trace).dependencies) {
      if (d.type == DependencyType::Memory) out.emplace_back(d.from, d.to);
    }
    return out;
  }
  test::SampleTrace s_;
  ProcessId process_[2] = {};
  StreamId stream_[5] = {};  // four of the first process, one of the second
};

TEST_F(MemoryDependencies, AddressesAreThoseOfAProcess) {
  copy(0, 0, 0x1000, 256);
  copy(4, 0x1000, 0x8000, 256);  // for another process
  EXPECT_THAT(found(), testing::IsEmpty());
  copy(1, 0x1000, 0x8000, 256);
  EXPECT_THAT(found(), ElementsAre(std::pair(0, 2)));
}

TEST_F(MemoryDependencies, AStreamWaitsForAWriteOnce) {
  copy(0, 0, 0x1000, 64);
  copy(0, 0, 0x1040, 64);
  copy(1, 0x1000, 0x8000, 128);  // 2: depends on both, of which 0 came before 1
  copy(1, 0x1000, 0x9000, 32);   // 3: has waited already
  copy(0, 0, 0x1060, 16);        // 4: after it was read
  copy(1, 0x1000, 0xa000, 128);  // 5: only the new write
  EXPECT_THAT(found(), ElementsAre(std::pair(1, 2), std::pair(2, 4), std::pair(4, 5)));
}

TEST_F(MemoryDependencies, AreThoseOfLookingAtEachByte) {
  std::mt19937 chance(17);
  constexpr uint64_t kBytes = 48;
  for (int round = 0; round < 100; ++round) {
    s_.trace.copy = {};
    std::vector<std::pair<uint32_t, uint32_t>> expected;
    struct Byte {
      uint32_t writer = ~0U;
      std::map<uint32_t, uint32_t> readers;  // by stream
    };
    std::vector<Byte> bytes(kBytes + 1);
    std::vector<uint32_t> stream_of;
    for (uint32_t op = 0; op < 40; ++op) {
      const uint32_t stream = chance() % 4;
      const uint64_t length = 1 + chance() % 12;
      const uint64_t from = chance() % 3 == 0 ? 0 : 1 + chance() % (kBytes - length);
      const uint64_t to = chance() % 3 == 0 ? 0 : 1 + chance() % (kBytes - length);
      copy(stream, from, to, length);
      stream_of.push_back(stream);
      std::map<uint32_t, uint32_t> last;  // operations run one after the other
      const auto follows = [&](uint32_t earlier) {
        if (earlier == ~0U || stream_of[earlier] == stream) return;
        uint32_t& known = last.try_emplace(stream_of[earlier], earlier).first->second;
        known = std::max(known, earlier);
      };
      for (uint64_t b = from; from != 0 && b < from + length; ++b) {
        if (!bytes[b].readers.contains(stream)) follows(bytes[b].writer);
        bytes[b].readers[stream] = op;
      }
      for (uint64_t b = to; to != 0 && b < to + length; ++b) {
        follows(bytes[b].writer);
        for (const auto& [of, reader] : bytes[b].readers) follows(reader);
        bytes[b] = {.writer = op, .readers = {}};
      }
      for (const auto& [of, earlier] : last) expected.emplace_back(earlier, op);
    }
    std::sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second, a.first) < std::pair(b.second, b.first);
    });
    ASSERT_EQ(found(), expected);
  }
}

TEST_F(MemoryDependencies, ManySmallWritesAndManyLargeReadsCostTheirNumber) {
  constexpr uint64_t kCopies = 50'000;
  for (uint64_t i = 0; i < kCopies; ++i) copy(0, 0, 0x100000 + i * 64, 64);
  for (uint64_t i = 0; i < kCopies; ++i) copy(1, 0x100000, 0x90000000, kCopies * 64);
  EXPECT_EQ(found().size(), 1U);
}

TEST_F(MemoryDependencies, ManyStreamsThatReadCostTheirNumberAndNotItsSquare) {
  const DeviceId device = s_.device("GPU");
  const auto cpuTime = [&](uint64_t streams) {
    s_.trace.copy = {};
    for (uint64_t i = 0; i < streams; ++i) {
      s_.copy(CopyKind::kUnknown, s_.stream(device, process_[0]), 0, 1, 64, i + 1);
      s_.trace.copy.source.back() = 0x10000000 + 64 * i;
      s_.trace.copy.destination.back() = 0x90000000 + 64 * i;
    }
    const OperationGraph graph = OperationGraph::of(s_.trace);
    double best = 1e18;
    for (int attempt = 0; attempt < 5; ++attempt) {
      const int64_t began = clockNs(CLOCK_PROCESS_CPUTIME_ID);
      forEachMemoryDependency(s_.trace, graph.operations,
                              [](uint32_t, uint32_t) { ADD_FAILURE() << "none overlap"; });
      best = std::min(best, static_cast<double>(clockNs(CLOCK_PROCESS_CPUTIME_ID) - began));
    }
    return best;
  };
  const double few = cpuTime(1'000);
  EXPECT_LT(cpuTime(8'000) / few, 24) << "eight times as many; their square would be 64";
}

}  // namespace
}  // namespace tracesmith
