// SPDX-License-Identifier: Apache-2.0
// A trace converted to a program that can be emulated: what each host thread does and in which
// order, the device work it launches, and what each of them waits for. It has no waiting times: the
// emulator computes them.
//
//   thread   start of call ──own──► end of call ──own──► start of call ─── …
//                │ launch latency                          ▲ return of the wait
//                ▼                                         │
//   stream   operation ──gap──► operation ──gap──► operation
//
// docs/whatif.md describes each number and how it is derived from a trace.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Reason for a dependency.
enum class EmulatedEdgeKind : uint8_t {
  kLaunch,       ///< launched by a call
  kStreamOrder,  ///< follows in its stream
  kOverlap,      ///< follows in its stream, but started before the other had ended
  kEvent,        ///< the trace states that it waited for the other's event
  kLikelyEvent,  ///< inferred from the order of calls: waited for an event of the other
  kMemory,       ///< inferred: both use the same memory
  kHostWait,     ///< the host waited for it
  kLikelyWait,   ///< inferred: as kHostWait, for a call that does not state what it waits for
  kQueueFull,    ///< the launch waited until the device accepted one more
  kHandOff,      ///< inferred: an idle thread continued after another thread's call
};
constexpr size_t kEmulatedEdgeKinds = 10;
std::string_view toString(EmulatedEdgeKind kind);
constexpr bool isInferred(EmulatedEdgeKind kind) {
  return kind == EmulatedEdgeKind::kOverlap || kind == EmulatedEdgeKind::kLikelyEvent ||
         kind == EmulatedEdgeKind::kMemory || kind == EmulatedEdgeKind::kLikelyWait ||
         kind == EmulatedEdgeKind::kQueueFull || kind == EmulatedEdgeKind::kHandOff;
}

/// Start or end of a host call.
struct HostStep {
  int64_t recorded_ns = 0;
  /// The thread's own time since its previous step; for the first step, since the start.
  int64_t own_ns = 0;
  uint32_t call = 0;  ///< row of host_call
  bool end = false;
  bool first = false;  ///< first of its thread
};

struct EmulatedOp {
  static constexpr uint32_t kNone = ~uint32_t{0};
  int64_t begin_ns = 0;  ///< as recorded
  int64_t end_ns = 0;
  double work_ns = 0;  ///< duration if nothing else runs on the device
  double demand = 0;   ///< share of the device that it occupies: kernels, 0 to 1
  /// Last part of its work, in which its last wave does not fill the device.
  double tail_share = 0;
  double tail_demand = 0;      ///< share of the device that it needs then
  int64_t earliest_ns = 0;     ///< earliest start; INT64_MIN: limited by its edges only
  int64_t unexplained_ns = 0;  ///< delay of its start beyond all known causes
  uint32_t device = 0;         ///< index in EmulatorGraph, not an id
  uint32_t stream = 0;
  uint32_t engine = kNone;  ///< copies: index in EmulatorGraph::engines
  uint32_t group = kNone;   ///< collectives: index in EmulatorGraph::groups
  uint32_t launch = kNone;  ///< row of host_call
  uint32_t row = 0;
  StringId name{};
  TableId table{};
  WorkClass work{};
  bool squeezes_in = false;  ///< started, and mostly ran, beside kernels that left it no room
  bool gone = false;         ///< removed or fused into another: takes no time, and passes on waits
};

struct EmulatedEdge {
  uint32_t from = 0;  ///< nodes: steps first, then operations
  uint32_t to = 0;
  int64_t offset_ns = 0;
  EmulatedEdgeKind kind{};
  bool from_start = false;  ///< from the start of operation `from`, not its end
};

struct EmulatorGraph {
  /// Steps of one thread are contiguous, in thread order.
  std::vector<HostStep> steps;
  std::vector<EmulatedOp> ops;  ///< by recorded start
  std::vector<EmulatedEdge> edges;
  /// Number of copies of one direction that a device performs concurrently, by engine.
  std::vector<uint32_t> engines;
  /// Operations of all ranks that form one collective: none ends before the last one has started.
  std::vector<std::vector<uint32_t>> groups;
  uint32_t devices = 0;
  uint32_t streams = 0;
  int64_t begin_ns = 0;  ///< start of the recorded period
  int64_t end_ns = 0;

  /// Indicators of the graph's accuracy.
  struct Facts {
    /// Launched before the trace started, in a queue that was never idle since.
    uint64_t unmatched_queued = 0;
    uint64_t unmatched_unknown = 0;  ///< no launch, and unknown dependencies
    int64_t unmatched_unknown_ns = 0;
    int64_t device_ns = 0;  ///< total duration of all operations
    uint64_t unexplained = 0;
    int64_t unexplained_ns = 0;
    uint64_t ignored_threads = 0;  ///< ignored threads, which launch nothing and wait for nothing
    uint64_t long_calls = 0;       ///< calls with own time above 100 us: perhaps an unknown wait
    int64_t long_calls_ns = 0;
    uint64_t kernels_with_demand = 0;  ///< kernels whose share of the device is known
    uint64_t kernels = 0;
    uint64_t unmatched_collectives = 0;  ///< collectives without another rank in the trace
    uint64_t left_out = 0;               ///< rows with impossible times
    int64_t launch_latency_ns = 0;       ///< median over kernels
    bool latency_assumed = false;        ///< no launch met an idle stream
    int64_t stream_gap_ns = 0;
    uint64_t queue_room = 0;  ///< launches in a full queue; 0: it was never full
  };
  Facts facts;

  uint32_t nodeOf(uint32_t op) const { return static_cast<uint32_t>(steps.size()) + op; }
  uint32_t nodes() const { return static_cast<uint32_t>(steps.size() + ops.size()); }
  bool isOp(uint32_t node) const { return node >= steps.size(); }
  uint32_t opOf(uint32_t node) const { return node - static_cast<uint32_t>(steps.size()); }
  std::array<uint64_t, kEmulatedEdgeKinds> edgeCounts() const;
};

struct EmulatorOptions {
  /// Uses each recorded latency and gap instead of the typical one: the unchanged graph then
  /// reproduces the recorded times. For tests, and to measure the error of the typical values.
  bool recorded_costs = false;
  /// Operations without a known launch start at their recorded time, instead of causing an error.
  bool allow_unmatched = false;
};

/// Fails with kUnsupported if too much is unknown, and says what.
Result<EmulatorGraph> emulatorGraph(const Trace& trace, const EmulatorOptions& options = {});

}  // namespace tracesmith
