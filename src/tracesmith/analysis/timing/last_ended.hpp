// SPDX-License-Identifier: Apache-2.0
// Which piece of device work ended last before a time: of a stream, of a device, of a process. What
// one process waits for is its own work; devices that several share keep it apart.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"

namespace tracesmith {

/// Answers are numbers of DeviceOps::ops; kNone: nothing had ended. Waits that a tool drew on a
/// stream do not count. Looks at `ops` as long as it lives.
class LastEnded {
 public:
  static constexpr uint32_t kNone = DeviceOp::kNone;
  explicit LastEnded(const DeviceOps& ops);

  /// On a device (kNone: on any), of what a process launched, or an unknown one.
  uint32_t onDevice(ProcessId process, DeviceId device, int64_t by_ns) const;
  uint32_t onStream(StreamId stream, int64_t by_ns) const;
  /// All of the work by its end.
  const std::vector<uint32_t>& all() const { return all_; }

 private:
  uint32_t lastOf(const std::vector<uint32_t>& by_end, int64_t by_ns) const;

  const DeviceOps& ops_;
  std::vector<uint32_t> all_;
  std::map<std::pair<ProcessId, DeviceId>, std::vector<uint32_t>> by_device_;
  std::unordered_map<StreamId, std::vector<uint32_t>> by_stream_;
};

}  // namespace tracesmith
