// SPDX-License-Identifier: Apache-2.0
// What the preload library tells the other agents of a process: that a library is about to be
// unloaded, and that it was, so that what they know of its code is no longer so.
#pragma once

namespace tracesmith::agent {

/// What libtracesmith-process.so exports: from now on `notice` is called after each dlclose(), by
/// the thread that called it. For good; of the first kMostUnloadNotices callers.
using OnUnload = void (*)(void (*notice)());
constexpr const char* kOnUnload = "tracesmith_on_unload";
/// The same, called before each dlclose().
constexpr const char* kBeforeUnload = "tracesmith_before_unload";
constexpr int kMostUnloadNotices = 8;

}  // namespace tracesmith::agent
