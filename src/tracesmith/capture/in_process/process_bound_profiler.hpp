// SPDX-License-Identifier: Apache-2.0
// Keeps a profiler with threads harmless in the children of a program that forks: a child has the
// object, but neither its threads nor a say over the locks that they held at that moment.
#pragma once

#include <memory>

#include "tracesmith/capture/profiler.hpp"

namespace tracesmith {

/// From initialize() to finalize() the profiler belongs to the process that called initialize(). In
/// another one it refuses with a reason, gives nothing, and its destruction touches nothing. The
/// child cannot initialize() it; it can create one of its own.
std::unique_ptr<IPlatformProfiler> boundToItsProcess(std::unique_ptr<IPlatformProfiler> profiler);

}  // namespace tracesmith
