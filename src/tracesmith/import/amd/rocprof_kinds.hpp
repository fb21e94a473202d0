// SPDX-License-Identifier: Apache-2.0
// The words of AMD's rocprofv3, in JSON and CSV alike, as ours.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "tracesmith/import/common/importer.hpp"
#include "tracesmith/model/kinds.hpp"
#include "tracesmith/model/tables.hpp"

namespace tracesmith::import {

/// "MEMORY_COPY_HOST_TO_DEVICE"
CopyKind rocprofCopyKind(std::string_view operation);
/// "MEMORY_ALLOCATION_VMEM_FREE"
MemoryKind rocprofMemoryKind(std::string_view operation);
/// Of "hipMemcpyAsync", "hsa_amd_memory_pool_allocate"
CallKind rocprofCallKind(std::string_view function);

/// What a dispatch says of its launch. The grid is in work-items, as here; CUDA's is in blocks.
struct RocprofDispatch {
  std::array<int64_t, 3> grid{};
  std::array<int64_t, 3> group{};
  int64_t group_bytes = 0;          ///< LDS of a work-group, static and dynamic
  int64_t static_group_bytes = -1;  ///< of the kernel's code object; below 0: not known
  int64_t private_bytes = 0;        ///< scratch of a work-item
  int64_t registers = 0;            ///< vector registers, accumulation registers included
};
LaunchShapeRow rocprofShape(const RocprofDispatch& dispatch);

/// Says to the person, and in the text of what the trace has lost, which records are in no table:
/// those without a time, and values of counters that are no numbers (`unreadable` in all, of which
/// `records` are records of their own).
void tellWhatIsInNoTable(ImportCounts& counts, uint64_t unreadable, uint64_t records,
                         std::string& lost);

}  // namespace tracesmith::import
