// SPDX-License-Identifier: Apache-2.0
// The kinds of CUPTI activity records that the agent captures. The comparison consumer of
// bench/gpu_check uses this list to enable the same kinds.
#pragma once

#include "tracesmith/capture/agents/cuda/cupti.hpp"

namespace tracesmith::agent {

/// CUPTI options that cost the program more time or show less detail; the user chooses them.
struct CaptureOptions {
  bool latency = false;       ///< kernels with the times at which they were queued and submitted
  bool whole_graphs = false;  ///< one record per launch of a graph, none for its nodes
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
