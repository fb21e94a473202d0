// SPDX-License-Identifier: Apache-2.0
// Number of blocks of a kernel that a device holds at once, computed from its launch shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct KernelOccupancy {
  uint64_t threads = 0;  ///< per block
  uint64_t shared_bytes = 0;
  uint64_t blocks = 0;           ///< in the launch
  uint64_t blocks_per_unit = 0;  ///< most blocks resident on a unit at once
  double occupancy = 0;          ///< resident warps of a unit / maximum
  std::string_view limit;        ///< the resource that limits the number of blocks
  double waves = 0;              ///< blocks / blocks resident on the device; 0: unknown

  /// Empty if the trace has no such shape or device, or lacks the device's limits.
  static std::optional<KernelOccupancy> of(const Trace& trace, ShapeId shape, DeviceId device);
};

/// The kernels of one name and shape on one device.
struct ShapeUse {
  StringId name{};
  ShapeId shape{};
  DeviceId device{};
  int64_t launches = 0;
  int64_t total_ns = 0;
};
/// Adds up kernels with a shape.
class ShapeUses {
 public:
  explicit ShapeUses(const Trace& tables) : tables_(tables) {}
  void add(const KernelTable& kernels, size_t row, int64_t duration_ns);
  void addAll(const KernelTable& kernels);
  void add(const ShapeUses& others);
  /// By name, shape and device.
  std::vector<ShapeUse> all() const;

 private:
  const Trace& tables_;
  struct Key {
    StringId name{};
    ShapeId shape{};
    DeviceId device{};
    auto operator<=>(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  std::unordered_map<Key, ShapeUse, Hash> uses_;
};

}  // namespace tracesmith
