// SPDX-License-Identifier: Apache-2.0
// A thread of ours inside somebody's program.
#pragma once

#include <functional>
#include <thread>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// Starts a thread on which the program's signal handlers do not run: all signals are blocked but
/// those that the thread itself can cause (SIGSEGV and the like). Error: no room for a thread.
Result<std::thread> startQuietThread(std::function<void()> body);

}  // namespace tracesmith
