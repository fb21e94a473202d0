// SPDX-License-Identifier: Apache-2.0
// The fields of rocprofv3's records that the importers use.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace tracesmith::import {

namespace rocprof_field {
enum Field : int {
  kKind,
  kOperation,
  kThread,
  kCorrelation,
  kStart,
  kEnd,
  kAgent,
  kQueue,
  kStream,
  kKernel,
  kGroupX,
  kGroupY,
  kGroupZ,
  kGridX,
  kGridY,
  kGridZ,
  kPrivateBytes,
  kGroupBytes,
  kSource,
  kDestination,
  kBytes,
  kAllocationBytes,
  kAddress,
  kCounters,  // a list, for dispatches
  kVectorRegisters,
  kAccumulationRegisters,
  kFields
};
}  // namespace rocprof_field

/// The field at that path in the JSON; -1: not used.
inline int rocprofFieldOf(std::string_view path) {
  namespace rf = rocprof_field;
  constexpr std::string_view kOfCounters = "dispatch_data.";
  if (path.starts_with(kOfCounters)) path.remove_prefix(kOfCounters.size());
  constexpr std::pair<std::string_view, rf::Field> kNames[] = {
      {"kind", rf::kKind},
      {"operation", rf::kOperation},
      {"thread_id", rf::kThread},
      {"correlation_id.internal", rf::kCorrelation},
      {"start_timestamp", rf::kStart},
      {"end_timestamp", rf::kEnd},
      {"agent_id.handle", rf::kAgent},
      {"dispatch_info.agent_id.handle", rf::kAgent},
      {"queue_id.handle", rf::kQueue},
      {"dispatch_info.queue_id.handle", rf::kQueue},
      {"stream_id.handle", rf::kStream},
      {"dispatch_info.kernel_id", rf::kKernel},
      {"dispatch_info.workgroup_size.x", rf::kGroupX},
      {"dispatch_info.workgroup_size.y", rf::kGroupY},
      {"dispatch_info.workgroup_size.z", rf::kGroupZ},
      {"dispatch_info.grid_size.x", rf::kGridX},
      {"dispatch_info.grid_size.y", rf::kGridY},
      {"dispatch_info.grid_size.z", rf::kGridZ},
      {"dispatch_info.private_segment_size", rf::kPrivateBytes},
      {"dispatch_info.group_segment_size", rf::kGroupBytes},
      {"src_agent_id.handle", rf::kSource},
      {"dst_agent_id.handle", rf::kDestination},
      {"bytes", rf::kBytes},
      {"allocation_size", rf::kAllocationBytes},
      {"address", rf::kAddress},
      {"address.handle", rf::kAddress},
      {"records", rf::kCounters},
      {"arch_vgpr_count", rf::kVectorRegisters},
      {"accum_vgpr_count", rf::kAccumulationRegisters},
  };
  for (const auto& [name, field] : kNames) {
    if (name == path) return field;
  }
  return -1;
}

}  // namespace tracesmith::import
