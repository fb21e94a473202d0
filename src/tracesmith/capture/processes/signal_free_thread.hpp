// SPDX-License-Identifier: Apache-2.0
// A thread of TraceSmith inside the recorded program.
#pragma once

#include <functional>
#include <thread>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// Starts a thread that does not run the program's signal handlers: all signals are blocked except
/// those that the thread itself can cause (SIGSEGV and the like). Error: no resources for a thread.
Result<std::thread> startSignalFreeThread(std::function<void()> body);

}  // namespace tracesmith
