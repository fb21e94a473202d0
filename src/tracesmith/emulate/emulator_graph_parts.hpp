// SPDX-License-Identifier: Apache-2.0
// The stages of building an EmulatorGraph, in the order in which they run. Each adds to the graph.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/emulate/emulator_graph.hpp"

namespace tracesmith::emulator_parts {

constexpr uint32_t kNone = EmulatedOp::kNone;

/// Properties of a host call derived from its name.
struct CallRole {
  bool waits = false;         ///< the host waits in it
  bool stream_wait = false;   ///< makes a stream wait for an event
  bool whole_device = false;  ///< it waits for the whole device
  bool one_event = false;     ///< it waits for an event
};
CallRole roleOf(CallKind kind, std::string_view name);

struct GraphMaker {
  const Trace& trace;
  const EmulatorOptions& options;
  DeviceOps device_ops;
  EmulatorGraph graph;

  // By operation:
  std::vector<uint32_t> before;  ///< the previous one in its stream
  /// The earlier one in its stream that ended last; often the same.
  std::vector<uint32_t> ended_last;
  std::vector<bool> has_event;       ///< an event of another stream allowed it to start
  std::vector<int64_t> launched_ns;  ///< start of its launch; INT64_MIN: unknown
  std::vector<StreamId> stream_ids;  ///< by stream
  /// Streams by id; also by the ids used by sources that do not state the device of waits.
  std::unordered_map<StreamId, uint32_t> stream_of;
  std::vector<bool> ordered;  ///< by stream: false if the trace knows no stream
  /// Time at which its device or copy engine had room again, before it started; INT64_MIN: it
  /// always had.
  std::vector<int64_t> room_ns;
  std::vector<ProcessId> processes;  ///< by operation

  // By host call:
  std::vector<uint32_t> begin_step, end_step;  ///< kNone: not in the graph
  std::vector<CallRole> roles;
  std::vector<bool> waits_for_own;  ///< returned only when its own copy had ended
  std::vector<uint32_t> thread_of_step;

  /// Operations with a launch, sorted by launch time, for each process.
  struct Launch {
    int64_t time_ns = 0;
    uint32_t op = 0;
  };
  std::unordered_map<ProcessId, std::vector<Launch>> launches;

  void edge(uint32_t from, uint32_t to, int64_t offset_ns, EmulatedEdgeKind kind,
            bool from_start = false) {
    graph.edges.push_back({from, to, offset_ns, kind, from_start});
  }
  int64_t callEnd(uint32_t call) const { return device_ops.calls.endNs(call); }
  int64_t callBegin(uint32_t call) const { return device_ops.calls.beginNs(call); }
};

void addOperations(GraphMaker& maker);
void addHostSteps(GraphMaker& maker);
void addEvents(GraphMaker& maker);
void addHostWaits(GraphMaker& maker);
void addFullQueues(GraphMaker& maker);
void addHandOffs(GraphMaker& maker);
void addCollectives(GraphMaker& maker);
void addDemands(GraphMaker& maker);
/// Adds launch latencies and gaps, and delays that they do not explain. Runs last because it uses
/// all edges.
void addDeviceCosts(GraphMaker& maker);

}  // namespace tracesmith::emulator_parts
