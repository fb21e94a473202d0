// SPDX-License-Identifier: Apache-2.0
// The parts of making an EmulatorGraph, in the order in which they run. Each adds to the graph.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/emulate/emulator_graph.hpp"

namespace tracesmith::emulator_parts {

constexpr uint32_t kNone = EmulatedOp::kNone;

/// What a host call does that its name tells.
struct CallRole {
  bool waits = false;         ///< the host waits in it
  bool stream_wait = false;   ///< it makes a stream wait for an event
  bool whole_device = false;  ///< what it waits for is all
  bool one_event = false;     ///< what it waits for is an event
};
CallRole roleOf(CallKind kind, std::string_view name);

struct GraphMaker {
  const Trace& trace;
  const EmulatorOptions& options;
  DeviceOps device_ops;
  EmulatorGraph graph;

  // Of operations:
  std::vector<uint32_t> before;      ///< the one before in its stream
  std::vector<uint32_t> ended_last;  ///< of those before in its stream; often the same
  std::vector<bool> has_event;       ///< an event of another stream let it begin
  std::vector<int64_t> launched_ns;  ///< begin of its launch; INT64_MIN: unknown
  std::vector<StreamId> stream_ids;  ///< of streams
  /// Streams by id; also by ids under which a source that does not tell the device of waits has
  /// them.
  std::unordered_map<StreamId, uint32_t> stream_of;
  std::vector<bool> ordered;  ///< of streams: false where the trace knows no stream
  /// When its device or copy engine had room again, before it began; INT64_MIN: it always had.
  std::vector<int64_t> room_ns;
  std::vector<ProcessId> processes;  ///< of operations

  // Of host calls:
  std::vector<uint32_t> begin_step, end_step;  ///< kNone: not in the graph
  std::vector<CallRole> roles;
  std::vector<bool> waits_for_own;  ///< it returned only when its own copy had ended
  std::vector<uint32_t> thread_of_step;

  /// Operations that have a launch by its time, of each process.
  struct Launch {
    int64_t time_ns = 0;
    uint32_t op = 0;
  };
  std::unordered_map<ProcessId, std::vector<Launch>> launches;

  void edge(uint32_t from, uint32_t to, int64_t offset_ns, EmulatedEdgeKind kind,
            bool from_start = false) {
    graph.edges.push_back({from, to, offset_ns, kind, from_start});
  }
  int64_t callEnd(uint32_t call) const { return device_ops.call_end_ns[call]; }
  int64_t callBegin(uint32_t call) const { return device_ops.call_begin_ns[call]; }
};

void addOperations(GraphMaker& maker);
void addHostSteps(GraphMaker& maker);
void addEvents(GraphMaker& maker);
void addHostWaits(GraphMaker& maker);
void addFullQueues(GraphMaker& maker);
void addHandOffs(GraphMaker& maker);
void addCollectives(GraphMaker& maker);
void addDemands(GraphMaker& maker);
/// Launch latencies and gaps, and what they do not explain; last, as it looks at all edges.
void addDeviceCosts(GraphMaker& maker);

}  // namespace tracesmith::emulator_parts
