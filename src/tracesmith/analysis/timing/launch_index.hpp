// SPDX-License-Identifier: Apache-2.0
// Finds the host call with a correlation id. Correlation ids are per process.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class LaunchIndex {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};
  explicit LaunchIndex(const Trace& trace);
  /// Row of host_call; kNone: the trace has none.
  uint32_t find(ProcessId process, uint64_t correlation_id) const;

 private:
  struct Key {
    uint64_t correlation_id = 0;
    ProcessId process{};
    uint32_t row = 0;
  };
  std::vector<Key> keys_;       // by id and process
  std::vector<uint32_t> rows_;  // by id, if one process has all and they are dense
  uint64_t first_ = 0;
  ProcessId process_{};
};

}  // namespace tracesmith
