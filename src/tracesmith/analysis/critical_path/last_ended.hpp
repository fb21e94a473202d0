// SPDX-License-Identifier: Apache-2.0
// Finds the device work that ended last before a given time: of a stream, of a device, of a
// process. A process waits only for its own work, so work of other processes on a shared device is
// kept separate.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/analysis/critical_path/op_order.hpp"
#include "tracesmith/analysis/timing/device_ops.hpp"

namespace tracesmith {

/// Results are indices into DeviceOps::ops; kNone: nothing had ended. Waits that a tool drew on a
/// stream do not count. `ops` must outlive this object. For one thread: a question is answered
/// fastest if its time is near that of the question before.
class LastEnded {
 public:
  static constexpr uint32_t kNone = DeviceOp::kNone;
  LastEnded(const DeviceOps& ops, const OpOrders& orders);

  /// On a device (kNone: on any), among work launched by `process` or by an unknown process.
  uint32_t onDevice(ProcessId process, DeviceId device, int64_t by_ns) const;
  uint32_t onStream(StreamId stream, int64_t by_ns) const;

 private:
  /// Ops by end: those of a stream that end in order, [first, first + size), or `list`.
  struct ByEnd {
    uint32_t first = 0;
    uint32_t size = 0;
    std::vector<uint32_t> list;
    mutable uint32_t last_answer = 0;  // number of ops that had ended

    uint32_t at(uint32_t i) const { return list.empty() ? first + i : list[i]; }
  };
  using OfDevices = std::map<std::pair<ProcessId, DeviceId>, ByEnd>;

  /// Lists the ops of these streams and devices.
  void listOps(const OpOrders& orders, const std::vector<bool>& is_listed,
               const std::set<DeviceId>& listed_devices);
  bool endInOrder(const StreamOps& stream) const;
  uint32_t lastOf(const ByEnd& by_end, int64_t by_ns) const;

  const DeviceOps& ops_;
  OfDevices by_device_;
  std::unordered_map<StreamId, ByEnd> by_stream_;
};

}  // namespace tracesmith
