// SPDX-License-Identifier: Apache-2.0
// Makes a profiler with threads harmless in the children of a program that forks. A child has a
// copy of the object, but not its threads, and cannot release locks that they held at the fork.
#pragma once

#include <memory>

#include "tracesmith/capture/profiler.hpp"

namespace tracesmith {

/// From initialize() to finalize() the profiler belongs to the process that called initialize(). In
/// another process it refuses with a reason, returns no events, and its destructor does nothing.
/// The child cannot initialize() it; it can create a profiler of its own.
std::unique_ptr<IPlatformProfiler> bindToProcess(std::unique_ptr<IPlatformProfiler> profiler);

}  // namespace tracesmith
