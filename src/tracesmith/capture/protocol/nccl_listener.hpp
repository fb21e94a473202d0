// SPDX-License-Identifier: Apache-2.0
// How a program that NCCL's profiler plugin is in gets its records, beside the ring or instead of
// it.
#pragma once

#include <cstddef>

namespace tracesmith {

/// Called with each record (nccl_records.hpp), on the thread that NCCL calls the plugin on. Times
/// are CLOCK_MONOTONIC in ns.
using NcclListener = void (*)(void* context, const void* record, size_t bytes);

/// Symbol of the plugin: NcclListen. One listener at a time; null ends it, and returns when no call
/// of it is under way.
constexpr const char* kNcclListen = "tracesmithNcclListen";
using NcclListen = void (*)(NcclListener listener, void* context);

}  // namespace tracesmith
