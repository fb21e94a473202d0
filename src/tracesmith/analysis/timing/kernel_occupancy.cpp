// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/kernel_occupancy.hpp"

#include <algorithm>

namespace tracesmith {
namespace {

/// Most resident blocks per multiprocessor (CUDA C++ Programming Guide, "Technical Specifications
/// per Compute Capability"); 0: unknown.
uint64_t mostBlocks(const DeviceRow& device) {
  if (device.backend != PlatformType::CUDA) return 0;
  switch (100 * device.compute_major + device.compute_minor) {
    case 300:
    case 302:
    case 305:
    case 307:
    case 705:
    case 806:
    case 807:
      return 16;
    case 809:
    case 1200:
      return 24;
    case 500:
    case 502:
    case 503:
    case 600:
    case 601:
    case 602:
    case 700:
    case 702:
    case 800:
    case 900:
    case 1000:
      return 32;
    default:
      return 0;
  }
}

}  // namespace

std::optional<KernelOccupancy> KernelOccupancy::of(const Trace& trace, ShapeId shape_id,
                                                   DeviceId device_id) {
  const auto s = static_cast<size_t>(shape_id);
  const auto d = static_cast<size_t>(device_id);
  if (s == 0 || s > trace.launch_shape.size() || d == 0 || d > trace.device.size()) return {};
  const LaunchShapeRow shape = trace.launch_shape.row(s - 1);
  const DeviceRow device = trace.device.row(d - 1);
  // No device has blocks of a million threads: a larger number is damage.
  constexpr double kMostThreads = 1 << 20;
  const double product = static_cast<double>(shape.local_x) * std::max(shape.local_y, 1u) *
                         std::max(shape.local_z, 1u);
  KernelOccupancy out;
  out.threads = product > kMostThreads ? uint64_t{0} : static_cast<uint64_t>(product);
  if (out.threads == 0 || uint64_t{device.warp_size} > kMostThreads ||
      device.max_threads_per_unit == 0 || device.warp_size == 0) {
    return {};
  }
  const uint64_t warps = (out.threads + device.warp_size - 1) / device.warp_size;
  const uint64_t most_warps = device.max_threads_per_unit / device.warp_size;
  out.shared_bytes = uint64_t{shape.static_shared_bytes} + shape.dynamic_shared_bytes;
  out.blocks_per_unit = most_warps / warps;
  out.limit = "threads";
  const auto bound = [&](uint64_t there, uint64_t each, std::string_view what) {
    if (there == 0 || each == 0 || there / each >= out.blocks_per_unit) return;
    out.blocks_per_unit = there / each;
    out.limit = what;
  };
  bound(mostBlocks(device), 1, "blocks");
  bound(device.registers_per_unit, uint64_t{shape.registers_per_thread} * warps * device.warp_size,
        "registers");
  bound(device.shared_bytes_per_unit, out.shared_bytes, "shared memory");
  const double all_threads = static_cast<double>(shape.global_x) *
                             static_cast<double>(std::max<uint64_t>(shape.global_y, 1)) *
                             static_cast<double>(std::max<uint64_t>(shape.global_z, 1));
  out.blocks =
      static_cast<uint64_t>(std::clamp(all_threads / static_cast<double>(out.threads), 1.0, 9e15));
  out.occupancy =
      static_cast<double>(out.blocks_per_unit * warps) / static_cast<double>(most_warps);
  const uint64_t at_once = out.blocks_per_unit * device.compute_units;
  if (at_once > 0) out.waves = static_cast<double>(out.blocks) / static_cast<double>(at_once);
  return out;
}

void ShapeUses::add(const KernelTable& kernels, size_t row, int64_t duration_ns) {
  const ShapeId shape = kernels.shape_id[row];
  if (shape == ShapeId::kNone) return;
  const DeviceId device = tables_.deviceOf(kernels.stream_id[row]);
  ShapeUse& use = uses_[{kernels.name[row], shape, device}];
  use.name = kernels.name[row];
  use.shape = shape;
  use.device = device;
  ++use.launches;
  use.total_ns += std::max<int64_t>(duration_ns, 0);
}

size_t ShapeUses::Hash::operator()(const Key& key) const {
  constexpr uint64_t kMix = 0x9e3779b97f4a7c15;
  const uint64_t low =
      uint64_t{static_cast<uint32_t>(key.name)} << 32 | static_cast<uint32_t>(key.shape);
  return static_cast<size_t>((low ^ uint64_t{static_cast<uint32_t>(key.device)} << 17) * kMix >>
                             20);
}

void ShapeUses::addAll(const KernelTable& kernels) {
  for (size_t i = 0; i < kernels.size(); ++i) add(kernels, i, kernels.duration_ns[i]);
}

void ShapeUses::add(const ShapeUses& others) {
  for (const auto& [key, other] : others.uses_) {
    const auto [at, is_new] = uses_.try_emplace(key, other);
    if (is_new) continue;
    at->second.launches += other.launches;
    at->second.total_ns += other.total_ns;
  }
}

std::vector<ShapeUse> ShapeUses::all() const {
  std::vector<ShapeUse> out;
  for (const auto& [key, use] : uses_) out.push_back(use);
  std::sort(out.begin(), out.end(), [](const ShapeUse& a, const ShapeUse& b) {
    return Key{a.name, a.shape, a.device} < Key{b.name, b.shape, b.device};
  });
  return out;
}

}  // namespace tracesmith
