// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/host_waits.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

using Edge = std::tuple<uint32_t, uint32_t, Dependency::Why>;

class HostWaits : public ::testing::Test {
 protected:
  StreamId addStream(DeviceId device) { return s_.stream(device, process_); }
  void launch(StreamId stream, int64_t called, int64_t begin, int64_t duration) {
    ++id_;
    s_.hostCall("launch", CallKind::kLaunch, thread_, StreamId::kNone, called, 1, id_);
    s_.kernel("k", stream, begin, duration, id_);
  }
  void wait(SyncKind kind, StreamId stream, int64_t begin, int64_t duration) {
    s_.trace.sync.push({.start_ns = begin,
                        .duration_ns = duration,
                        .kind = kind,
                        .process_id = process_,
                        .thread_id = thread_,
                        .stream_id = stream,
                        .flags = op_flags::kHostSide});
  }
  std::vector<Edge> found(const OperationGraph& graph) const {
    std::vector<Edge> out;
    forEachHostWait(
        s_.trace, graph.operations,
        [&](uint32_t from, uint32_t to, Dependency::Why why) { out.emplace_back(from, to, why); });
    std::sort(out.begin(), out.end());
    return out;
  }
  /// Reference: visits every stream at every wait.
  std::vector<Edge> slowlyFound(const OperationGraph& graph) const;

  test::SampleTrace s_;
  ProcessId process_ = s_.process(1, "program");
  ThreadId thread_ = s_.thread(process_, 7);
  uint64_t id_ = 0;
};

std::vector<Edge> HostWaits::slowlyFound(const OperationGraph& graph) const {
  const auto& ops = graph.operations;
  const auto time = [&](uint32_t i) {
    return ops[i].host_wait ? ops[i].end_ns : ops[i].launched_ns;
  };
  std::vector<uint32_t> acts(ops.size());
  for (uint32_t i = 0; i < acts.size(); ++i) acts[i] = i;
  std::sort(acts.begin(), acts.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(time(a), ops[a].host_wait, a) < std::tuple(time(b), ops[b].host_wait, b);
  });
  constexpr uint32_t kNone = ~0U;
  struct Stream {
    uint32_t last = kNone, linked_to = kNone, waited_for = kNone;
  };
  std::map<StreamId, Stream> streams;
  uint32_t waited = kNone;
  std::vector<Edge> out;
  for (const uint32_t i : acts) {
    if (!ops[i].host_wait) {
      Stream& stream = streams[ops[i].stream];
      if (waited != kNone && stream.linked_to != waited) {
        out.emplace_back(waited, i, Dependency::Why::kLaunchedAfterWait);
      }
      stream.linked_to = waited;
      stream.last = i;
      continue;
    }
    const bool one =
        s_.trace.sync.kind[ops[i].row] == SyncKind::kStreamWait && ops[i].stream != StreamId::kNone;
    const DeviceId device = s_.trace.deviceOf(ops[i].stream);
    for (auto& [id, stream] : streams) {
      const bool meant =
          one ? id == ops[i].stream : device == DeviceId::kNone || device == s_.trace.deviceOf(id);
      if (!meant || stream.last == stream.waited_for) continue;
      if (ops[stream.last].end_ns > ops[i].end_ns) continue;
      out.emplace_back(stream.last, i, Dependency::Why::kHostWaitedForIt);
      stream.waited_for = stream.last;
    }
    waited = i;
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST_F(HostWaits, AreThoseOfLookingAtEveryStream) {
  const DeviceId devices[2] = {s_.device("one"), s_.device("other")};
  std::vector<StreamId> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(addStream(devices[i / 2]));
  std::mt19937 chance(5);
  for (int round = 0; round < 200; ++round) {
    s_.trace.kernel = {};
    s_.trace.sync = {};
    s_.trace.host_call = {};
    id_ = 0;
    int64_t now = 0;
    for (int i = 0; i < 40; ++i) {
      now += chance() % 20;
      const StreamId stream = streams[chance() % streams.size()];
      switch (chance() % 6) {
        case 0:
          wait(SyncKind::kStreamWait, stream, now, chance() % 30);
          break;
        case 1:
          wait(SyncKind::kDeviceWait, stream, now, chance() % 30);
          break;
        case 2:
          wait(SyncKind::kDeviceWait, StreamId::kNone, now, chance() % 30);
          break;
        default:
          launch(stream, now, now + chance() % 40, chance() % 50);
      }
    }
    const OperationGraph graph = OperationGraph::of(s_.trace);
    ASSERT_EQ(found(graph), slowlyFound(graph)) << round;
  }
}

class ManyStreams : public HostWaits, public ::testing::WithParamInterface<SyncKind> {};

TEST_P(ManyStreams, CostTheirNumberAndNotItsSquare) {
  const DeviceId device = s_.device("GPU");
  const auto cpuTime = [&](int streams) {
    s_.trace.kernel = {};
    s_.trace.sync = {};
    s_.trace.host_call = {};
    id_ = 0;
    for (int i = 0; i < streams; ++i) {
      const StreamId stream = addStream(device);
      launch(stream, 100 * i, 100 * i + 10, 10);
      wait(GetParam(), stream, 100 * i + 30, 20);
    }
    const OperationGraph graph = OperationGraph::of(s_.trace);
    double best = 1e18;
    for (int attempt = 0; attempt < 5; ++attempt) {
      const int64_t began = clockNs(CLOCK_PROCESS_CPUTIME_ID);
      EXPECT_EQ(found(graph).size(), 2U * streams - 1) << "each wait, and each launch behind one";
      best = std::min(best, static_cast<double>(clockNs(CLOCK_PROCESS_CPUTIME_ID) - began));
    }
    return best;
  };
  const double few = cpuTime(1'000);
  EXPECT_LT(cpuTime(8'000) / few, 24) << "eight times as many; their square would be 64";
}

INSTANTIATE_TEST_SUITE_P(Kinds, ManyStreams,
                         ::testing::Values(SyncKind::kStreamWait, SyncKind::kDeviceWait));

}  // namespace
}  // namespace tracesmith
