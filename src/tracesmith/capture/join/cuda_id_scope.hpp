// SPDX-License-Identifier: Apache-2.0
// The meaning of CUPTI's numbers in one life of a process: from its start or last exec to its end.
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
    StringId name{};        // of its kernel, once the node has run
    CallPathId path{};      // where the node was created
    uint64_t original = 0;  // for a copy: the original node
  };

  // Definitions. False when the record is invalid.
  bool defineText(const arena::CudaTextRecord& head, std::string_view text);
  bool defineDevice(ByteView record);
  bool defineContext(ByteView record);
  void defineGraphNode(uint64_t node, uint64_t original, CallPathId path);

  void noteCall(uint64_t correlation) { newest_call_ = std::max(newest_call_, correlation); }
  /// The newest correlation id; before the first call, an id close to those of the first calls.
  uint64_t newestCall() const { return newest_call_; }
  Function function(uint32_t number) const;
  StringId kernelName(uint32_t number) const;
  GraphNode& graphNode(uint64_t node) { return graph_nodes_[node]; }
  /// The path of the node, or of the original when the node is a copy.
  CallPathId graphNodePath(uint64_t node) const;

  DeviceId device(uint32_t ordinal);
  /// Adds the devices used so far.
  void addDevices(std::set<DeviceId>& out) const {
    for (const auto& [ordinal, id] : devices_) out.insert(id);
  }
  /// Whether device() can describe it. CUPTI's device records arrive with its first buffer.
  bool knowsDevice(uint32_t ordinal) const;
  ContextId context(uint32_t number);
  StreamId stream(uint32_t context, uint32_t number);
  /// Notes the device of a context. Device work names both, even if the context was not described.
  void noteContext(uint32_t number, uint32_t device) {
    context_devices_.try_emplace(number, device);
  }

  /// Restores rows of the trace. Their handles hold the number in the lower half and the life in
  /// the upper half.
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
