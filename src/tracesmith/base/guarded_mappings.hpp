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
/// installs the handler; a program that installs its own later takes it away (see renewHandler()).
/// Any thread. False: there are too many already, and this one is not guarded.
bool guard(void* begin, size_t bytes, OnDamage on_damage = nullptr);
/// Puts the handler in front of one that was installed since. It does so once in the life of a
/// process; a handler that comes later still takes it away. Any thread; costs a system call.
void renewHandler();
/// Call it before munmap(). No effect on what is not guarded.
void release(void* begin);
/// It has become zeros. What is not guarded never has.
bool isDamaged(const void* begin);

}  // namespace tracesmith::mappings
