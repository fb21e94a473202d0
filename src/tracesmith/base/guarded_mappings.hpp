// SPDX-License-Identifier: Apache-2.0
// Mappings of files that somebody else may cut short, or whose file system may have no room for a
// page that is written. Touching such a page raises SIGBUS, which would end the process. Here the
// whole mapping becomes zeros that belong to nobody, and is marked damaged; the access that faulted
// then succeeds. A SIGBUS of any other address goes to whoever handled it before.
//
// Only libc: agents are built with it as well. The handler is async-signal-safe.
#pragma once

#include <stddef.h>

namespace tracesmith::mappings {

/// Called in the signal handler, once for each mapping that became damaged. Async-signal-safe.
using OnDamage = void (*)();

/// Guards [begin, begin + bytes), a mapping of the caller's, until release(). The first call
/// installs the handler; a program that installs its own later takes it away. Any thread. False:
/// there are too many already, and this one is not guarded.
bool guard(void* begin, size_t bytes, OnDamage on_damage = nullptr);
/// Call it before munmap(). No effect on what is not guarded.
void release(void* begin);
/// It has become zeros. What is not guarded never has.
bool isDamaged(const void* begin);

}  // namespace tracesmith::mappings
