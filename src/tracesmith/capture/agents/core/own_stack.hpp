// SPDX-License-Identifier: Apache-2.0
// Whether two addresses are on the stack that the system gave to this thread, not on one that the
// program switches to by itself (coroutines, alternate signal stacks).
#pragma once

#include <stdint.h>

namespace tracesmith::agent {

/// Also false in these cases: one address is on the signal stack that this thread has set, which
/// may be part of its own stack; /proc/self/maps cannot be read. A signal stack that is part of the
/// thread's stack goes undetected if the system disarms it while a handler runs (SS_AUTODISARM).
/// Reads /proc/self/maps, some tens of microseconds. Async-signal-safe; keeps errno.
bool areOnThreadStack(uintptr_t first, uintptr_t second);

}  // namespace tracesmith::agent
