// SPDX-License-Identifier: Apache-2.0
// The kinds of CUPTI's activity records that the agent captures. The comparison consumer of
// bench/gpu_check enables the same kinds, from this list.
#pragma once

#include "tracesmith/capture/agents/cuda/cupti.hpp"

namespace tracesmith::agent {

/// What of CUPTI costs the program more, or shows less of it, and is the user's choice.
struct CaptureOptions {
  bool latency = false;       ///< kernels with the times at which they were queued and submitted
  bool whole_graphs = false;  ///< one record a launch of a graph, and none of its nodes
};

struct CapturedKind {
  cupti::Kind kind;
  const char* name;
};
constexpr CapturedKind kCapturedKinds[] = {{cupti::kDevice, "devices"},
                                           {cupti::kContext, "contexts"},
                                           {cupti::kConcurrentKernel, "kernels"},
                                           {cupti::kMemcpy, "copies"},
                                           {cupti::kMemcpyPeer, "peer copies"},
                                           {cupti::kMemset, "memsets"},
                                           {cupti::kSynchronization, "synchronisation"},
                                           {cupti::kCudaEvent, "recorded events"},
                                           {cupti::kMemory, "allocations"},
                                           {cupti::kMemoryPool, "memory pools"},
                                           {cupti::kJit, "compilations"},
                                           {cupti::kOverhead, "overhead"}};

}  // namespace tracesmith::agent
