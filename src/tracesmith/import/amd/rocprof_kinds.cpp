// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/amd/rocprof_kinds.hpp"

#include <algorithm>
#include <limits>

namespace tracesmith::import {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

template <class To>
To clampTo(int64_t value) {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<To>::max());
  return value < 0 ? To{0}
                   : static_cast<To>(std::min<uint64_t>(static_cast<uint64_t>(value), kMost));
}

}  // namespace

CopyKind rocprofCopyKind(std::string_view operation) {
  if (has(operation, "HOST_TO_DEVICE")) return CopyKind::kHostToDevice;
  if (has(operation, "DEVICE_TO_HOST")) return CopyKind::kDeviceToHost;
  if (has(operation, "DEVICE_TO_DEVICE")) return CopyKind::kDeviceToDevice;
  if (has(operation, "HOST_TO_HOST")) return CopyKind::kHostToHost;
  return CopyKind::kUnknown;
}

MemoryKind rocprofMemoryKind(std::string_view operation) {
  if (has(operation, "FREE")) return MemoryKind::kFree;
  return has(operation, "ALLOCATE") ? MemoryKind::kAlloc : MemoryKind::kUnknown;
}

CallKind rocprofCallKind(std::string_view f) {
  if (has(f, "Launch") || has(f, "launch")) return CallKind::kLaunch;
  if (has(f, "Memcpy") || has(f, "async_copy") || has(f, "memory_copy")) return CallKind::kCopy;
  if (has(f, "Memset") || has(f, "memory_fill")) return CallKind::kFill;
  if (has(f, "Synchronize") || has(f, "WaitEvent") || has(f, "signal_wait")) return CallKind::kSync;
  if (has(f, "Malloc") || has(f, "Free") || has(f, "allocate") || has(f, "_free") ||
      has(f, "MemPool") || has(f, "HostAlloc")) {
    return CallKind::kMemory;
  }
  if (has(f, "ModuleLoad") || has(f, "RegisterFatBinary") || has(f, "load_")) {
    return CallKind::kBuild;
  }
  if (has(f, "StreamCreate") || has(f, "StreamDestroy") || has(f, "CtxCreate") ||
      has(f, "queue_create")) {
    return CallKind::kSetup;
  }
  return CallKind::kOther;
}

LaunchShapeRow rocprofShape(const RocprofDispatch& d) {
  const auto wide = [&](size_t i) { return d.grid[i] > 1 || d.group[i] > 1; };
  const int64_t fixed =
      d.static_group_bytes < 0 ? d.group_bytes : std::min(d.static_group_bytes, d.group_bytes);
  return {.dimensions = wide(2)   ? 3U
                        : wide(1) ? 2U
                                  : 1U,
          .global_x = clampTo<uint64_t>(d.grid[0]),
          .global_y = clampTo<uint64_t>(d.grid[1]),
          .global_z = clampTo<uint64_t>(d.grid[2]),
          .local_x = clampTo<uint32_t>(d.group[0]),
          .local_y = clampTo<uint32_t>(d.group[1]),
          .local_z = clampTo<uint32_t>(d.group[2]),
          .static_shared_bytes = clampTo<uint32_t>(fixed),
          .dynamic_shared_bytes =
              clampTo<uint32_t>(std::max<int64_t>(d.group_bytes, 0) - std::max<int64_t>(fixed, 0)),
          .registers_per_thread = clampTo<uint32_t>(d.registers),
          .local_bytes_per_thread = clampTo<uint32_t>(d.private_bytes)};
}

void reportRecordsWithoutTable(ImportCounts& counts, uint64_t unreadable, uint64_t records,
                               std::string& lost) {
  const auto say = [&](uint64_t count, std::string_view what) {
    if (count == 0) return;
    counts.notes.push_back(std::to_string(count) + std::string(what) +
                           " are kept unchanged, but are in no table");
    lost += (lost.empty() ? "" : "; ") + counts.notes.back();
  };
  say(counts.others - std::min(records, counts.others), " records without a readable time");
  say(unreadable, " counter values that are not numbers");
}

}  // namespace tracesmith::import
