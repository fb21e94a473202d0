// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/nsys/nsys_tables.hpp"

#include <utility>

namespace tracesmith::import {
namespace {

using F = NsysField;
using T = NsysTarget;

// If two columns of a table map to the same field, the one listed first counts.
constexpr auto kColumns = std::to_array<std::pair<std::string_view, NsysField>>({
    {"start", F::kStart},
    {"timestamp", F::kStart},
    {"end", F::kEnd},
    {"deviceId", F::kDevice},
    {"contextId", F::kContext},
    {"streamId", F::kStream},
    {"correlationId", F::kCorrelation},
    {"globalPid", F::kGlobalPid},
    {"globalTid", F::kGlobalTid},
    {"bytes", F::kBytes},
    {"demangledName", F::kDemangledName},
    {"shortName", F::kShortName},
    {"nameId", F::kName},
    {"text", F::kText},
    {"textId", F::kTextId},
    {"copyKind", F::kKind},
    {"syncType", F::kKind},
    {"deprecatedSyncType", F::kKind},
    {"overheadType", F::kKind},
    {"memoryOperationType", F::kKind},
    {"eventType", F::kKind},
    {"domainId", F::kDomain},
    {"returnValue", F::kResult},
    {"callchainId", F::kCallchain},
    {"address", F::kAddress},
    {"name", F::kVariable},
    {"graphId", F::kGraph},
    {"value", F::kValue},
    {"typeId", F::kType},
    {"metricId", F::kMetric},
    {"registersPerThread", F::kRegisters},
    {"gridX", F::kGridX},
    {"gridY", F::kGridY},
    {"gridZ", F::kGridZ},
    {"blockX", F::kBlockX},
    {"blockY", F::kBlockY},
    {"blockZ", F::kBlockZ},
    {"staticSharedMemory", F::kStaticShared},
    {"dynamicSharedMemory", F::kDynamicShared},
    {"localMemoryPerThread", F::kLocalPerThread},
    {"clusterX", F::kClusterX},
    {"clusterY", F::kClusterY},
    {"clusterZ", F::kClusterZ},
    {"severity", F::kSeverity},
    {"eventId", F::kEvent},
    {"eventSyncId", F::kEventSync},
    {"srcDeviceId", F::kSourceDevice},
    {"dstDeviceId", F::kDestinationDevice},
});

constexpr auto kTables = std::to_array<NsysTableKind>({
    {"CUPTI_ACTIVITY_KIND_RUNTIME", T::kHostCall, ""},
    {"CUPTI_ACTIVITY_KIND_DRIVER", T::kHostCall, ""},
    {"CUPTI_ACTIVITY_KIND_KERNEL", T::kKernel, ""},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", T::kGraph, ""},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", T::kCopy, ""},
    {"CUPTI_ACTIVITY_KIND_MEMSET", T::kFill, ""},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", T::kSync, ""},
    {"CUPTI_ACTIVITY_KIND_CUDA_EVENT", T::kEventRecord, ""},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD", T::kRange, "CUDA overhead"},
    {"CUPTI_ACTIVITY_KIND_JIT", T::kRange, "CUDA JIT"},
    {"PROFILER_OVERHEAD", T::kRange, "profiler overhead"},
    {"CUDA_GPU_MEMORY_USAGE_EVENTS", T::kMemory, ""},
    {"CUDA_GRAPH_EVENTS", T::kRange, "CUDA graph"},
    {"CUDA_GRAPH_NODE_EVENTS", T::kRange, "CUDA graph node"},
    {"CUDA_HOST_CALLBACK", T::kRange, "CUDA callback"},
    {"NVTX_EVENTS", T::kNvtx, "NVTX"},
    {"OSRT_API", T::kRange, "OS runtime"},
    {"CUDNN_EVENTS", T::kRange, "cuDNN"},
    {"CUBLAS_EVENTS", T::kRange, "cuBLAS"},
    {"MPI_*", T::kRange, "MPI"},
    {"UCP_*", T::kRange, "UCX"},
    {"GPU_METRICS", T::kMetric, ""},
    {"DIAGNOSTIC_EVENT", T::kDiagnostic, "diagnostic"},
    {"StringIds", T::kDictionary, ""},
    {"ThreadNames", T::kDictionary, ""},
    {"PROCESSES", T::kDictionary, ""},
    {"ProcessStreams", T::kDictionary, ""},
    {"ENUM_*", T::kDictionary, ""},
    {"META_DATA_*", T::kDictionary, ""},
    {"TARGET_INFO_*", T::kDictionary, ""},
    {"ANALYSIS_*", T::kDictionary, ""},
    {"EXPORT_META_DATA", T::kDictionary, ""},
    {"NVTX_PAYLOAD_*", T::kDictionary, ""},
    {"NVTX_SCOPES", T::kDictionary, ""},
    {"*", T::kUnknown, ""},
});

}  // namespace

NsysTableKind nsysTableKind(std::string_view table) {
  for (NsysTableKind kind : kTables) {
    const bool begins = kind.table.ends_with('*');
    if (begins) kind.table.remove_suffix(1);
    if (begins ? table.starts_with(kind.table) : table == kind.table) return kind;
  }
  return {};
}

NsysColumns::NsysColumns(const SqliteTable& table) {
  place_.fill(-1);
  for (const auto& [name, field] : kColumns) {
    int& place = place_[static_cast<size_t>(field)];
    if (place < 0) place = table.find(name);
  }
}

}  // namespace tracesmith::import
