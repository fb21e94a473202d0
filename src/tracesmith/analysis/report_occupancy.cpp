// SPDX-License-Identifier: Apache-2.0
// Report about how much of a device launch shapes can fill.
#include <algorithm>
#include <map>
#include <tuple>

#include "tracesmith/analysis/report_parts.hpp"

namespace tracesmith::report_parts {
namespace {

using Q = Quantity;

/// Blocks that a multiprocessor holds at once (CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability"); 0: not known.
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

void occupancy(Maker& maker) {
  ReportTable& table = maker.table(
      "occupancy",
      "Occupancy that launch shapes allow (resident warps / most, by threads, blocks, registers "
      "and shared memory)",
      {{"name", "kernel", Q::kText},
       {"launches", "launches", Q::kCount},
       {"total_ns", "total", Q::kNs},
       {"threads", "threads/block", Q::kCount},
       {"registers", "registers", Q::kCount},
       {"shared_bytes", "shared", Q::kBytes},
       {"blocks", "blocks", Q::kCount},
       {"blocks_per_unit", "resident/unit", Q::kCount},
       {"occupancy", "occupancy", Q::kShare},
       {"limit", "limited by", Q::kText},
       {"waves", "waves", Q::kNumber}});
  struct Of {
    int64_t launches = 0;
    int64_t total = 0;
  };
  const Trace& t = maker.trace;
  std::map<std::tuple<StringId, ShapeId, DeviceId>, Of> shapes;
  for (size_t i = 0; i < t.kernel.size(); ++i) {
    if (t.kernel.shape_id[i] == ShapeId::kNone) continue;
    Of& of = shapes[{t.kernel.name[i], t.kernel.shape_id[i], t.deviceOf(t.kernel.stream_id[i])}];
    ++of.launches;
    of.total += std::max<int64_t>(t.kernel.duration_ns[i], 0);
  }
  bool limits_missing = false;
  for (const auto& [key, of] : shapes) {
    const auto& [name, shape_id, device_id] = key;
    const auto s = static_cast<size_t>(shape_id) - 1;
    const auto d = static_cast<size_t>(device_id);
    if (s >= t.launch_shape.size() || d == 0 || d > t.device.size()) continue;
    const LaunchShapeRow shape = t.launch_shape.row(s);
    const DeviceRow device = t.device.row(d - 1);
    // No device has blocks of a million threads: what says so is damage.
    constexpr double kMostThreads = 1 << 20;
    const double product = static_cast<double>(shape.local_x) * std::max(shape.local_y, 1u) *
                           std::max(shape.local_z, 1u);
    const auto threads = product > kMostThreads ? uint64_t{0} : static_cast<uint64_t>(product);
    if (threads == 0 || uint64_t{device.warp_size} > kMostThreads ||
        device.max_threads_per_unit == 0 || device.warp_size == 0) {
      limits_missing = true;
      continue;
    }
    const uint64_t warps = (threads + device.warp_size - 1) / device.warp_size;
    const uint64_t most_warps = device.max_threads_per_unit / device.warp_size;
    const uint64_t shared = uint64_t{shape.static_shared_bytes} + shape.dynamic_shared_bytes;
    uint64_t resident = most_warps / warps;
    std::string limit = "threads";
    const auto bound = [&](uint64_t there, uint64_t each, const char* what) {
      if (there == 0 || each == 0 || there / each >= resident) return;
      resident = there / each;
      limit = what;
    };
    bound(mostBlocks(device), 1, "blocks");
    bound(device.registers_per_unit,
          uint64_t{shape.registers_per_thread} * warps * device.warp_size, "registers");
    bound(device.shared_bytes_per_unit, shared, "shared memory");
    const double all_threads = static_cast<double>(shape.global_x) *
                               static_cast<double>(std::max<uint64_t>(shape.global_y, 1)) *
                               static_cast<double>(std::max<uint64_t>(shape.global_z, 1));
    const auto blocks =
        static_cast<uint64_t>(std::clamp(all_threads / static_cast<double>(threads), 1.0, 9e15));
    const uint64_t at_once = resident * device.compute_units;
    table.rows.push_back(
        {std::string(t.text(name)), of.launches, of.total, count(threads),
         count(shape.registers_per_thread), count(shared), count(blocks), count(resident),
         static_cast<double>(resident * warps) / static_cast<double>(most_warps), limit,
         at_once == 0 ? ReportValue(std::monostate{})
                      : ReportValue(static_cast<double>(blocks) / static_cast<double>(at_once))});
  }
  keepLargest(maker, table, "total_ns");
  if (table.rows.empty()) {
    table.note = limits_missing ? "the trace does not say how many threads a device holds"
                                : "the trace has no launch shapes";
  }
}

}  // namespace tracesmith::report_parts
