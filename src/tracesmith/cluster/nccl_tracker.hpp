// SPDX-License-Identifier: Apache-2.0
// What a program does with NCCL, for the program itself. For traces there is `tracesmith profile`,
// which has more (docs/nccl.md).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "tracesmith/cluster/nccl_operation.hpp"

namespace tracesmith {

struct NCCLTrackerConfig {
  bool hook_enabled = true;  ///< startCapture() installs the hooks
  bool track_all_comms = true;
  std::set<uint64_t> comm_filter;     ///< comm_id of those that are tracked, unless all are
  size_t max_operations = 1'000'000;  ///< the oldest are dropped beyond that; at least 1
};

/// Thread-safe. One tracker of a process has hooks at a time.
class NCCLTracker {
 public:
  using OperationCallback = std::function<void(const NCCLOperation&)>;

  struct Statistics {
    uint64_t total_operations = 0;
    uint64_t total_bytes_transferred = 0;  ///< sum of data_size
    uint64_t total_duration_ns = 0;        ///< of completed ones
    std::map<NCCLOpType, uint64_t> ops_by_type;
    std::map<NCCLOpType, uint64_t> bytes_by_type;
    std::map<NCCLOpType, uint64_t> duration_by_type;
  };

  explicit NCCLTracker(NCCLTrackerConfig config = {});
  ~NCCLTracker();
  NCCLTracker(const NCCLTracker&) = delete;
  NCCLTracker& operator=(const NCCLTracker&) = delete;

  /// Has NCCL load TraceSmith's profiler plugin (NCCL_PROFILER_PLUGIN of this process), which
  /// passes everything on to the user's own. Call it before the first communicator is made: NCCL
  /// looks for plugins only then. False if the plugin is not installed, or another tracker has it.
  bool installHooks();
  /// NCCL keeps the plugin until its last communicator ends; nothing is recorded any more.
  void removeHooks();
  bool isHooked() const;

  /// False if the hooks are wanted and cannot be installed.
  bool startCapture();
  bool stopCapture();
  bool isCapturing() const;
  /// Forgets all operations.
  void clear();

  /// An operation that the caller knows of, also without hooks. Returns its op_id. start_time 0:
  /// now.
  uint64_t recordOperationStart(NCCLOperation operation);
  /// False if there is no such operation, or it has ended. `end_time` 0: now.
  bool recordOperationEnd(uint64_t op_id, Timestamp end_time = 0);

  /// In the order of their starts.
  std::vector<NCCLOperation> getOperations() const;
  std::vector<NCCLOperation> getOperationsByType(NCCLOpType type) const;
  std::vector<NCCLOperation> getOperationsByComm(uint64_t comm_id) const;
  /// op_type is Unknown if there is none.
  NCCLOperation getOperation(uint64_t op_id) const;
  /// NCCLStart for each, and NCCLComplete for each that has ended.
  std::vector<TraceEvent> toTraceEvents() const;
  /// Gives operations the correlation id of the NCCL kernel among `events` in which they ended.
  /// Returns how many have one now. Times of `events`: CLOCK_MONOTONIC, as those of our profilers.
  size_t correlateWithGPUEvents(const std::vector<TraceEvent>& events);
  Statistics getStatistics() const;
  /// Called when an operation has ended, on the thread that noticed; null: no more. It must not
  /// call the tracker.
  void setOperationCallback(OperationCallback callback);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Whether the plugin for NCCL is installed. Says nothing of NCCL itself.
bool isNCCLAvailable();

}  // namespace tracesmith
