// SPDX-License-Identifier: Apache-2.0
// Converts names used by AMD's rocprofv3, in JSON and in CSV, to TraceSmith's kinds.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "tracesmith/import/common/importer.hpp"
#include "tracesmith/model/kinds.hpp"
#include "tracesmith/model/tables.hpp"

namespace tracesmith::import {

/// For example "MEMORY_COPY_HOST_TO_DEVICE".
CopyKind rocprofCopyKind(std::string_view operation);
/// For example "MEMORY_ALLOCATION_VMEM_FREE".
MemoryKind rocprofMemoryKind(std::string_view operation);
/// For example "hipMemcpyAsync" or "hsa_amd_memory_pool_allocate".
CallKind rocprofCallKind(std::string_view function);

/// The launch parameters of a dispatch. The grid is in work-items (as in TraceSmith), whereas
/// CUDA's is in blocks.
struct RocprofDispatch {
  std::array<int64_t, 3> grid{};
  std::array<int64_t, 3> group{};
  int64_t group_bytes = 0;          ///< LDS of a work-group, static and dynamic
  int64_t static_group_bytes = -1;  ///< from the kernel's code object; below 0: unknown
  int64_t private_bytes = 0;        ///< scratch of a work-item
  int64_t registers = 0;            ///< vector registers, including accumulation registers
};
LaunchShapeRow rocprofShape(const RocprofDispatch& dispatch);

/// Reports records that are in no table, both in the notes for the user and in `lost`. These are
/// records without a time, and counter values that are not numbers. `unreadable` counts the values;
/// `records` of them are whole records, which `counts.others` includes.
void reportRecordsWithoutTable(ImportCounts& counts, uint64_t unreadable, uint64_t records,
                               std::string& lost);

}  // namespace tracesmith::import
