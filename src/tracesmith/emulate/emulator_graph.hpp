// SPDX-License-Identifier: Apache-2.0
// A trace as a program that can be timed again: what each host thread does in which order, the
// device work that it launches, and what each of them has to wait for. Times of waiting are not in
// it: the emulator finds them.
//
//   thread   begin of call ──own──► end of call ──own──► begin of call ─── …
//                │ launch latency                          ▲ return of the wait
//                ▼                                         │
//   stream   operation ──gap──► operation ──gap──► operation
//
// docs/whatif.md says what each number means and how it is found in a trace.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Why one thing has to wait for another.
enum class EmulatedEdgeKind : uint8_t {
  kLaunch,       ///< a call launched it
  kStreamOrder,  ///< it follows in its stream
  kOverlap,      ///< it follows in its stream, but began before the other had ended
  kEvent,        ///< the trace says that it waited for the other's event
  kLikelyEvent,  ///< inferred from the order of calls: it waited for an event of the other
  kMemory,       ///< inferred: the two use the same memory
  kHostWait,     ///< the host waited for it
  kLikelyWait,   ///< inferred: the same, of a call that does not say what it waits for
  kQueueFull,    ///< the launch waited until the device had room for one more
  kHandOff,      ///< inferred: a thread that had nothing to do went on after another's call
};
constexpr size_t kEmulatedEdgeKinds = 10;
std::string_view toString(EmulatedEdgeKind kind);
constexpr bool isInferred(EmulatedEdgeKind kind) {
  return kind == EmulatedEdgeKind::kOverlap || kind == EmulatedEdgeKind::kLikelyEvent ||
         kind == EmulatedEdgeKind::kMemory || kind == EmulatedEdgeKind::kLikelyWait ||
         kind == EmulatedEdgeKind::kQueueFull || kind == EmulatedEdgeKind::kHandOff;
}

/// Begin or end of a host call.
struct HostStep {
  int64_t recorded_ns = 0;
  int64_t own_ns = 0;  ///< the thread's own time since its step before; of a first, since the begin
  uint32_t call = 0;   ///< row of host_call
  bool end = false;
  bool first = false;  ///< of its thread
};

struct EmulatedOp {
  static constexpr uint32_t kNone = ~uint32_t{0};
  int64_t begin_ns = 0;  ///< as recorded
  int64_t end_ns = 0;
  double work_ns = 0;          ///< how long it takes where nothing else is on the device
  double demand = 0;           ///< share of the device that it fills: kernels, 0 to 1
  double tail_share = 0;       ///< the end of its work, in which its last wave does not fill it:
  double tail_demand = 0;      ///< what it needs then
  int64_t earliest_ns = 0;     ///< INT64_MIN: whenever its edges let it
  int64_t unexplained_ns = 0;  ///< how much later than all that is known let it, it began
  uint32_t device = 0;         ///< numbers of EmulatorGraph, not ids
  uint32_t stream = 0;
  uint32_t engine = kNone;  ///< copies: of EmulatorGraph::engines
  uint32_t group = kNone;   ///< collectives: of EmulatorGraph::groups
  uint32_t launch = kNone;  ///< row of host_call
  uint32_t row = 0;
  StringId name{};
  TableId table{};
  WorkClass work{};
  bool squeezes_in = false;  ///< began, and mostly ran, beside kernels that left it no room
  bool gone = false;         ///< removed or fused into another: takes no time, and hands waits on
};

struct EmulatedEdge {
  uint32_t from = 0;  ///< nodes: steps first, then operations
  uint32_t to = 0;
  int64_t offset_ns = 0;
  EmulatedEdgeKind kind{};
  bool from_start = false;  ///< of the operation `from`, not its end
};

struct EmulatorGraph {
  /// Steps of one thread lie together, in its order.
  std::vector<HostStep> steps;
  std::vector<EmulatedOp> ops;  ///< by recorded begin
  std::vector<EmulatedEdge> edges;
  /// How many copies of one direction a device does at once, by engine.
  std::vector<uint32_t> engines;
  /// Operations of all ranks that are one collective: none ends before the last one came.
  std::vector<std::vector<uint32_t>> groups;
  uint32_t devices = 0;
  uint32_t streams = 0;
  int64_t begin_ns = 0;  ///< of what was recorded
  int64_t end_ns = 0;

  /// What is known of how true it is.
  struct Facts {
    uint64_t orphans_queued = 0;   ///< launched before the trace began, and never idle since
    uint64_t orphans_unknown = 0;  ///< no launch, and nothing says what they waited for
    int64_t orphans_unknown_ns = 0;
    int64_t device_ns = 0;  ///< lengths of all operations
    uint64_t unexplained = 0;
    int64_t unexplained_ns = 0;
    uint64_t onlookers = 0;   ///< threads that launch nothing and wait for nothing: left out
    uint64_t long_calls = 0;  ///< own time above 100 us: perhaps a wait that is not known
    int64_t long_calls_ns = 0;
    uint64_t kernels_with_demand = 0;  ///< their share of the device is known
    uint64_t kernels = 0;
    uint64_t lone_collectives = 0;  ///< of which no other rank is in the trace
    uint64_t left_out = 0;          ///< rows whose times no clock can have given
    int64_t launch_latency_ns = 0;  ///< the median of kernels'
    bool latency_assumed = false;   ///< no launch found its stream idle
    int64_t stream_gap_ns = 0;
    uint64_t queue_room = 0;  ///< launches that a full queue holds; 0: it was never full
  };
  Facts facts;

  uint32_t nodeOf(uint32_t op) const { return static_cast<uint32_t>(steps.size()) + op; }
  uint32_t nodes() const { return static_cast<uint32_t>(steps.size() + ops.size()); }
  bool isOp(uint32_t node) const { return node >= steps.size(); }
  uint32_t opOf(uint32_t node) const { return node - static_cast<uint32_t>(steps.size()); }
  std::array<uint64_t, kEmulatedEdgeKinds> edgeCounts() const;
};

struct EmulatorOptions {
  /// Each latency and gap as it was recorded in place of the typical one: the unchanged graph then
  /// gives the recorded times. For tests, and to see what the typical ones cost.
  bool recorded_costs = false;
  /// Operations whose launch is unknown begin when they began, in place of a refusal.
  bool allow_orphans = false;
};

/// Fails with kUnsupported where too much is unknown, and says what.
Result<EmulatorGraph> emulatorGraph(const Trace& trace, const EmulatorOptions& options = {});

}  // namespace tracesmith
