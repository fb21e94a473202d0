// SPDX-License-Identifier: Apache-2.0
// The fields of rocprofv3's records that have a meaning here.
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
  kCounters,  // of a dispatch: a list
  kVectorRegisters,
  kAccumulationRegisters,
  kFields
};
}  // namespace rocprof_field

/// By their path in the JSON.
inline int rocprofFieldOf(std::string_view path) {
  using namespace rocprof_field;  // NOLINT: a list of names
  constexpr std::string_view kOfCounters = "dispatch_data.";
  if (path.starts_with(kOfCounters)) path.remove_prefix(kOfCounters.size());
  constexpr std::pair<std::string_view, Field> kNames[] = {
      {"kind", kKind},
      {"operation", kOperation},
      {"thread_id", kThread},
      {"correlation_id.internal", kCorrelation},
      {"start_timestamp", kStart},
      {"end_timestamp", kEnd},
      {"agent_id.handle", kAgent},
      {"dispatch_info.agent_id.handle", kAgent},
      {"queue_id.handle", kQueue},
      {"dispatch_info.queue_id.handle", kQueue},
      {"stream_id.handle", kStream},
      {"dispatch_info.kernel_id", kKernel},
      {"dispatch_info.workgroup_size.x", kGroupX},
      {"dispatch_info.workgroup_size.y", kGroupY},
      {"dispatch_info.workgroup_size.z", kGroupZ},
      {"dispatch_info.grid_size.x", kGridX},
      {"dispatch_info.grid_size.y", kGridY},
      {"dispatch_info.grid_size.z", kGridZ},
      {"dispatch_info.private_segment_size", kPrivateBytes},
      {"dispatch_info.group_segment_size", kGroupBytes},
      {"src_agent_id.handle", kSource},
      {"dst_agent_id.handle", kDestination},
      {"bytes", kBytes},
      {"allocation_size", kAllocationBytes},
      {"address", kAddress},
      {"address.handle", kAddress},
      {"records", kCounters},
      {"arch_vgpr_count", kVectorRegisters},
      {"accum_vgpr_count", kAccumulationRegisters},
  };
  for (const auto& [name, field] : kNames) {
    if (name == path) return field;
  }
  return -1;
}

}  // namespace tracesmith::import
