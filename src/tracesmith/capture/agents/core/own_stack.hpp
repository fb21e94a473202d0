// SPDX-License-Identifier: Apache-2.0
// Whether two addresses lie on the stack that the system gave to this thread, and not on one that
// the program switches to by itself (coroutines, alternate signal stacks).
#pragma once

#include <stdint.h>

namespace tracesmith::agent {

/// False too when one of them lies on the signal stack that this thread has set, which may be a
/// part of its own. One that the system disarms while a handler runs (SS_AUTODISARM) and that is
/// such a part is not told from it. Reads /proc/self/maps, some tens of microseconds.
/// Async-signal-safe; keeps errno. False also where that file cannot be read.
bool lieOnThreadStack(uintptr_t first, uintptr_t second);

}  // namespace tracesmith::agent
