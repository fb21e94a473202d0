// SPDX-License-Identifier: Apache-2.0
// Finds the kernels of collective libraries that calls of `comm` launched.
#pragma once

#include <vector>

#include "tracesmith/analysis/communication/comm_operations.hpp"

namespace tracesmith {

/// Gives times, device and CommTiming::kKernel to operations that have only enqueued something:
/// - those during whose call a kernel was launched on the same thread;
/// - those of a group, whose kernels are launched when the group ends, after the last of its calls
///   and before the thread's next call. If a stream has a kernel for each of them, that is theirs,
///   in order; otherwise they share all kernels.
/// `ops` are of the same trace.
void addKernelTimes(const Trace& trace, const DeviceOps& ops,
                    std::vector<CommOperation>& operations);

}  // namespace tracesmith
