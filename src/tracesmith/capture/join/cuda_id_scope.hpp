// SPDX-License-Identifier: Apache-2.0
// What CUPTI's numbers mean in one life of a process: from its start, or its last exec, to its end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/capture/protocol/cuda_layout.hpp"
#include "tracesmith/capture/protocol/cuda_records.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct SharedRows;

class CudaLife {
 public:
  /// `number` counts the lives of a process from 0.
  CudaLife(SharedRows& shared, ProcessId process, uint32_t number)
      : shared_(shared),
        process_(process),
        number_(number),
        newest_call_(number * cuda_file::kIdsOfLife + (1u << 31)) {}

  struct Function {
    StringId name{};
    CallKind kind{};
    bool records_event = false;
    bool is_virtual_memory = false;
  };
  struct GraphNode {
    StringId name{};        // of its kernel, once one has run
    CallPathId path{};      // at which it was made
    uint64_t original = 0;  // of a copy
  };

  // Definitions. False when the record makes no sense.
  bool defineText(const arena::CudaTextRecord& head, std::string_view text);
  bool defineDevice(ByteView record);
  bool defineContext(ByteView record);
  void defineGraphNode(uint64_t node, uint64_t original, CallPathId path);

  void noteCall(uint64_t correlation) { newest_call_ = std::max(newest_call_, correlation); }
  /// Or an id that those of its first calls are near to.
  uint64_t newestCall() const { return newest_call_; }
  Function function(uint32_t number) const;
  StringId kernelName(uint32_t number) const;
  GraphNode& graphNode(uint64_t node) { return graph_nodes_[node]; }
  /// Of the node itself, or of the one that it is a copy of.
  CallPathId graphNodePath(uint64_t node) const;

  DeviceId device(uint32_t ordinal);
  /// Adds the devices that have been used.
  void addDevices(std::set<DeviceId>& out) const {
    for (const auto& [ordinal, id] : devices_) out.insert(id);
  }
  /// Whether device() can describe it: what CUPTI says of devices comes with its first buffer.
  bool knowsDevice(uint32_t ordinal) const;
  ContextId context(uint32_t number);
  StreamId stream(uint32_t context, uint32_t number);
  /// Device work names its device, whether its context was described or not.
  void noteContext(uint32_t number, uint32_t device) {
    context_devices_.try_emplace(number, device);
  }

  /// Rows of the trace: their handles are the numbers, and in the upper half that of the life.
  static uint32_t lifeOf(uint64_t handle) { return static_cast<uint32_t>(handle >> 32); }
  void restoreContext(const ContextRow& row);
  void restoreStream(const StreamRow& row, uint32_t context);

 private:
  uint64_t handleOf(uint32_t number) const { return uint64_t{number_} << 32 | number; }

  SharedRows& shared_;
  ProcessId process_;
  uint32_t number_;
  uint64_t newest_call_;  // correlation id
  std::unordered_map<uint32_t, Function> functions_;
  std::unordered_map<uint32_t, StringId> kernel_names_;
  std::unordered_map<uint64_t, GraphNode> graph_nodes_;
  std::map<uint32_t, DeviceRow> described_;  // devices by ordinal
  std::map<uint32_t, DeviceId> devices_;
  std::map<uint32_t, ContextId> contexts_;
  std::map<uint32_t, uint32_t> context_devices_;
  std::map<std::pair<uint32_t, uint32_t>, StreamId> streams_;  // context, number
};

}  // namespace tracesmith
