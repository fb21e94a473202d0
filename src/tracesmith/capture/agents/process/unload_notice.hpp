// SPDX-License-Identifier: Apache-2.0
// How the preload library notifies the other agents of a process before and after a library is
// unloaded. They must then forget what they know about its code.
#pragma once

namespace tracesmith::agent {

/// Exported by libtracesmith-process.so: from now on `notice` is called after each dlclose(), on
/// the thread that called it. It cannot be undone. Only the first kMostUnloadNotices callers are
/// served.
using OnUnload = void (*)(void (*notice)());
constexpr const char* kOnUnload = "tracesmith_on_unload";
/// The same, called before each dlclose().
constexpr const char* kBeforeUnload = "tracesmith_before_unload";
constexpr int kMostUnloadNotices = 8;

}  // namespace tracesmith::agent
