// SPDX-License-Identifier: Apache-2.0
// Replaces dlclose(). The dynamic loader has no notification for unloading, and checking for it
// takes ten times as long as capturing a known call stack.
#include "tracesmith/capture/agents/process/unload_notice.hpp"

#include <dlfcn.h>

#include <atomic>

namespace {

using tracesmith::agent::kMostUnloadNotices;
using Close = int (*)(void*);
using Notice = void (*)();

// Function pointers, not objects: nothing here may need a constructor that has not run yet.
using Notices = std::atomic<Notice>[kMostUnloadNotices];
constinit Notices g_before;
constinit Notices g_after;
constinit std::atomic<Close> g_close;

void add(Notices& notices, Notice notice) {
  for (auto& place : notices) {
    Notice none = nullptr;
    if (place.compare_exchange_strong(none, notice) || none == notice) return;
  }
}

void call(const Notices& notices) {
  for (const auto& place : notices) {
    const Notice notice = place.load(std::memory_order_acquire);
    if (notice == nullptr) break;
    notice();
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void tracesmith_on_unload(Notice notice) {
  add(g_after, notice);
}

extern "C" __attribute__((visibility("default"))) void tracesmith_before_unload(Notice notice) {
  add(g_before, notice);
}

extern "C" __attribute__((visibility("default"))) int dlclose(void* handle) noexcept {
  Close close = g_close.load(std::memory_order_relaxed);
  if (close == nullptr) {
    // A separate libdl may have been loaded after this library, but is loaded now.
    close = reinterpret_cast<Close>(dlsym(RTLD_NEXT, "dlclose"));
    if (close == nullptr) return -1;
    g_close.store(close, std::memory_order_relaxed);
  }
  call(g_before);
  const int result = close(handle);
  call(g_after);
  return result;
}
