// SPDX-License-Identifier: Apache-2.0
// Another profiler plugin, with one version of the interface (OTHER_VERSION), and with none of its
// own work if OTHER_IS_EMPTY. It asks for OTHER_PLUGIN_MASK, and after 20 events for
// OTHER_PLUGIN_MASK_LATER. It writes what it was told into OTHER_PLUGIN_LOG when its last
// communicator ends, and aborts if it gets a handle or a context that it did not give.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "tracesmith/capture/agents/nccl/descriptor_conversion.hpp"
#include "tracesmith/capture/agents/nccl/profiler_api.hpp"

namespace {

using namespace tracesmith::agent::nccl;  // NOLINT: the layouts
using Descriptor = Api<OTHER_VERSION>::Descriptor;
using Arguments = Api<OTHER_VERSION>::Arguments;

#ifdef OTHER_IS_EMPTY
constexpr bool kIsEmpty = true;
#else
constexpr bool kIsEmpty = false;
#endif

std::mutex g_mutex;
std::set<void*> g_handles;
std::set<void*> g_foreign;  // handles of what is done for another process
std::map<std::string, int> g_counts;
int g_communicators = 0;
int g_known[2];
int* g_mask = nullptr;
int g_started = 0;
constexpr int kEventsBeforeLater = 20;

void expect(bool is_true, const char* what) {
  if (is_true) return;
  fprintf(stderr, "other_plugin: %s\n", what);
  abort();
}

Result initialize(void** context, int* mask) {
  *context = &g_known[0];
  // A rank may begin when others have had the 20 events.
  const std::lock_guard lock(g_mutex);
  const char* const later = getenv("OTHER_PLUGIN_MASK_LATER");
  const char* const wanted =
      g_started >= kEventsBeforeLater && later != nullptr ? later : getenv("OTHER_PLUGIN_MASK");
  // NCCL, and who passes its calls on, read it at any time.
  __atomic_store_n(
      mask, wanted == nullptr ? bitOf(Event::kCollective) | bitOf(Event::kMessage) : atoi(wanted),
      __ATOMIC_RELAXED);
  if constexpr (kIsEmpty) return kSuccess;
  g_mask = mask;
  ++g_communicators;
  ++g_counts["init"];
  return kSuccess;
}
#if OTHER_VERSION == 4
Result initOther(void** context, int* mask, const char*, uint64_t, int, int, int, Logger) {
  return initialize(context, mask);
}
#elif OTHER_VERSION >= 5
Result initOther(void** context, uint64_t, int* mask, const char*, int, int, int, Logger) {
  return initialize(context, mask);
}
#else
constexpr auto* initOther = initialize;  // NOLINT(readability-identifier-naming)
#endif

Result start(void* context, void** handle, Descriptor* d) {
  if constexpr (kIsEmpty) {
    *handle = &g_known[1];
    return kSuccess;
  }
  const std::lock_guard lock(g_mutex);
  const auto event = static_cast<int>(__builtin_ctzll(static_cast<uint64_t>(d->type)));
  const bool is_foreign = event == static_cast<int>(Event::kProxyOperation)
                              ? d->proxy_operation.pid != getpid()
                              : g_foreign.count(d->parent) != 0;
  expect(context == (is_foreign ? nullptr : &g_known[0]), "unknown context");
  expect(d->parent == nullptr || g_handles.count(d->parent) != 0, "unknown parent");
  std::string what = "start " + std::to_string(event);
  if (event == static_cast<int>(Event::kCollective)) {
    const char* const name = nameOf(kFunctionNames, d->collective.function);
    what += std::string(" ") + (name == nullptr ? "?" : name);
    ++g_counts["count " + std::to_string(d->collective.count)];
  }
  if (d->parent != nullptr) ++g_counts["with parent " + std::to_string(event)];
  ++g_counts[what];
  *handle = new int(event);  // NOLINT(cppcoreguidelines-owning-memory): kept, as it may be a parent
  g_handles.insert(*handle);
  // It may change its mind at any time.
  const char* const later = getenv("OTHER_PLUGIN_MASK_LATER");
  if (++g_started == kEventsBeforeLater && later != nullptr)
    __atomic_store_n(g_mask, atoi(later), __ATOMIC_RELAXED);
  if (is_foreign) g_foreign.insert(*handle);
  return kSuccess;
}
Result stop(void* handle) {
  if constexpr (kIsEmpty) return kSuccess;
  const std::lock_guard lock(g_mutex);
  expect(g_handles.count(handle) != 0, "unknown handle stopped");
  ++g_counts["stop " + std::to_string(*static_cast<int*>(handle))];
  return kSuccess;
}
Result changeState(void* handle, int state, Arguments* arguments) {
  if constexpr (kIsEmpty) return kSuccess;
  const std::lock_guard lock(g_mutex);
  expect(g_handles.count(handle) != 0, "unknown handle changed");
  ++g_counts["state " + std::to_string(state)];
#if OTHER_VERSION >= 4
  if (state == kStateKernelChannelStop) {
    expect(arguments->kernel_channel.device_time != 0, "no device time");
  }
#else
  (void)arguments;
#endif
  return kSuccess;
}
Result finalize(void* context) {
  if constexpr (kIsEmpty) return kSuccess;
  expect(context == &g_known[0], "unknown context ended");
  const std::lock_guard lock(g_mutex);
  if (--g_communicators > 0) return kSuccess;
  const char* const log = getenv("OTHER_PLUGIN_LOG");
  FILE* const file = log == nullptr ? nullptr : fopen(log, "a");
  if (file == nullptr) return kSuccess;
  for (const auto& [what, count] : g_counts) fprintf(file, "%s: %d\n", what.c_str(), count);
  fclose(file);
  g_counts.clear();
  return kSuccess;
}

}  // namespace

#define SYMBOL(version) ncclProfiler_v##version
#define SYMBOL_OF(version) SYMBOL(version)
extern "C" __attribute__((visibility("default")))
const Api<OTHER_VERSION>::Symbol SYMBOL_OF(OTHER_VERSION);
const Api<OTHER_VERSION>::Symbol SYMBOL_OF(OTHER_VERSION) = {"other", initOther,   start,
                                                             stop,    changeState, finalize};
