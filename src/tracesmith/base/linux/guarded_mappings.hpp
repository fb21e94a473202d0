// SPDX-License-Identifier: Apache-2.0
// Protects file mappings against SIGBUS. Another process may truncate a mapped file, or the file
// system may have no space for a page that is written. Accessing such a page raises SIGBUS, which
// would end the process. Here the handler replaces the whole mapping by private zero pages and
// marks it damaged; the faulting access then succeeds. A SIGBUS at any other address goes to the
// previous handler.
//
// Needs only libc, because agents are built with it. The handler is async-signal-safe.
#pragma once

#include <stddef.h>

namespace tracesmith::mappings {

/// Called in the signal handler, once for each mapping that became damaged. Must be
/// async-signal-safe.
using OnDamage = void (*)();

/// Guards the caller's mapping [begin, begin + bytes) until release(). The first call installs the
/// handler; if the program installs its own later, see renewHandler(). Any thread. Returns false if
/// too many mappings are guarded already; this one is then not guarded.
bool guard(void* begin, size_t bytes, OnDamage on_damage = nullptr);
/// Reinstalls the handler in front of one that was installed since. It does so once in the life of
/// a process; a handler installed after that still replaces it. Any thread; costs a system call.
void renewHandler();
/// Call this before munmap(). Does nothing for a mapping that is not guarded.
void release(void* begin);
/// Whether the mapping was replaced by zeros. Always false for a mapping that is not guarded.
bool isDamaged(const void* begin);

}  // namespace tracesmith::mappings
