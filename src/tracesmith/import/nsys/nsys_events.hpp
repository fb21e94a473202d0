// SPDX-License-Identifier: Apache-2.0
// Finds the CUDA event record that each wait in an Nsight Systems export was for.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith::import {

class NsysEvents {
 public:
  static constexpr int64_t kNoSyncId = -1;
  /// A row of CUPTI_ACTIVITY_KIND_CUDA_EVENT or of CUPTI_ACTIVITY_KIND_SYNCHRONIZATION.
  struct Row {
    ProcessId process = ProcessId::kNone;
    int64_t event = 0;
    int64_t sync_id = kNoSyncId;  ///< shared by a record and its waits; only in later versions
    uint64_t correlation = 0;     ///< correlation id of its host call
    StreamId stream = StreamId::kNone;
  };
  void record(const Row& row);
  void wait(const Row& row);
  /// Matches by sync id. Without one, matches a wait with the last earlier record of the event;
  /// correlation ids of a process increase with each call. Waits without a record get no flow.
  void writeFlows(FlowTable& flows);

 private:
  std::vector<Row> records_;
  std::vector<Row> waits_;
};

}  // namespace tracesmith::import
