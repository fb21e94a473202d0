// SPDX-License-Identifier: Apache-2.0
// Finds the device work that ended last before a given time: of a stream, of a device, of a
// process. A process waits only for its own work, so work of other processes on a shared device is
// kept separate.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"

namespace tracesmith {

/// Results are indices into DeviceOps::ops; kNone: nothing had ended. Waits that a tool drew on a
/// stream do not count. `ops` must outlive this object.
class LastEnded {
 public:
  static constexpr uint32_t kNone = DeviceOp::kNone;
  explicit LastEnded(const DeviceOps& ops);

  /// On a device (kNone: on any), among work launched by `process` or by an unknown process.
  uint32_t onDevice(ProcessId process, DeviceId device, int64_t by_ns) const;
  uint32_t onStream(StreamId stream, int64_t by_ns) const;
  /// All work, sorted by end.
  const std::vector<uint32_t>& all() const { return all_; }

 private:
  uint32_t lastOf(const std::vector<uint32_t>& by_end, int64_t by_ns) const;

  const DeviceOps& ops_;
  std::vector<uint32_t> all_;
  std::map<std::pair<ProcessId, DeviceId>, std::vector<uint32_t>> by_device_;
  std::unordered_map<StreamId, std::vector<uint32_t>> by_stream_;
};

}  // namespace tracesmith
