// SPDX-License-Identifier: Apache-2.0
// Which record of a CUDA event a wait in Nsight Systems' tables was for.
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
    int64_t sync_id = kNoSyncId;  ///< of one record and its waits; only later versions have it
    uint64_t correlation = 0;     ///< of its host call
    StreamId stream = StreamId::kNone;
  };
  void record(const Row& row);
  void wait(const Row& row);
  /// By the sync id; without, the last record of the event that was called before the wait: the
  /// correlation ids of a process count its calls. Waits whose record is not there have none.
  void writeFlows(FlowTable& flows);

 private:
  std::vector<Row> records_;
  std::vector<Row> waits_;
};

}  // namespace tracesmith::import
