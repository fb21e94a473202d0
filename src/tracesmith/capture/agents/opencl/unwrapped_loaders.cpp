// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/opencl/unwrapped_loaders.hpp"

#include <string.h>

#include <atomic>

#include "tracesmith/capture/agents/opencl/recorder.hpp"
#include "tracesmith/capture/protocol/opencl_attempt_layout.hpp"

namespace tracesmith::agent {
namespace {

/// Modules by start address. A module that does not fit may be reported twice.
class ModuleSet {
 public:
  /// False: it was already in the set.
  bool add(const LoadedModule& module) {
    for (std::atomic<uintptr_t>& place : slots_) {
      uintptr_t seen = place.load(std::memory_order_acquire);
      if (seen == 0 && place.compare_exchange_strong(seen, module.begin)) return true;
      if (seen == module.begin) return false;
    }
    return true;
  }
  bool has(const LoadedModule& module) const {
    for (const std::atomic<uintptr_t>& place : slots_) {
      if (place.load(std::memory_order_acquire) == module.begin) return true;
    }
    return false;
  }

 private:
  std::atomic<uintptr_t> slots_[32]{};
};
constinit ModuleSet g_with_layer;
constinit ModuleSet g_reported_modules;

bool isOurs(const LoadedModule& module) {
  return module.holds(reinterpret_cast<uintptr_t>(&g_reported_modules));
}

/// Another copy of the agent: where a package has copies instead of links, LD_PRELOAD and
/// OPENCL_LAYERS load different files. The copy that is not preloaded stays passive.
bool isCopyOfOurs(const LoadedModule& module) {
  return findExport(module, opencl_attempt::kFunctionName) != nullptr;
}

/// A loader that supports layers contains the name of the variable.
bool knowsLayers(const LoadedModule& module) {
  static const char kName[] = "OPENCL_LAYERS";
  return holdsText(module, kName, sizeof kName);
}

bool g_calls_by_name = false;

}  // namespace

bool isOpenClDriver(const LoadedModule& module) {
  return findExport(module, "clIcdGetPlatformIDsKHR") != nullptr;
}

void noteCallsByName() { g_calls_by_name = true; }

bool definesOpenCl(const LoadedModule& module) {
  return findExport(module, "clEnqueueNDRangeKernel") != nullptr;
}

void noteLayerOf(const LoadedModule& loader) { g_with_layer.add(loader); }
bool isLayerOf(const LoadedModule& loader) { return g_with_layer.has(loader); }

void reportUnwrappedLoader(const LoadedModule& module, arena::UnwrappedLoader why) {
  if (!armed() || !canRecord() || !g_reported_modules.add(module)) return;
  constexpr size_t kMostPath = 1024;
  struct {
    arena::UnwrappedLoaderRecord record;
    char path[kMostPath];
  } r{};
  const size_t length = strnlen(module.path, kMostPath);
  const uint64_t bytes = (sizeof r.record + length + 7) & ~uint64_t{7};
  r.record.header = {arena::RecordKind::kUnwrappedLoader, static_cast<uint8_t>(why),
                     static_cast<uint16_t>(bytes / 8), static_cast<uint32_t>(length)};
  memcpy(r.path, module.path, length);
  // This is not an event of the program, so it is not counted as one.
  ThreadState& t = t_state;
  t.busy = stackPointer();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (uint8_t* const at = reserve(t, bytes)) {
    memcpy(at, &r, bytes);
    commit(t, bytes);
  } else {
    bump(t.ring->emitted);  // reserve() has counted it as dropped: emitted = written + dropped
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t.busy = 0;
}

void reportLoadersWithoutLayers() {
  if (g_calls_by_name || !armed()) return;
  LoadedModule unseen[8];
  uint32_t count = 0;
  bool first = true;
  anyModule([&](const LoadedModule& module) {
    if (isOurs(module) || !definesOpenCl(module) || isCopyOfOurs(module)) return false;
    // Drivers may define the functions as well. Their loader calls them, unless there is no module
    // before them.
    const bool called = first || !isOpenClDriver(module);
    first = false;
    if (called && !isLayerOf(module) && !g_reported_modules.has(module) && !knowsLayers(module)) {
      unseen[count++] = module;
    }
    return count == sizeof unseen / sizeof unseen[0];
  });
  for (uint32_t i = 0; i < count; ++i)
    reportUnwrappedLoader(unseen[i], arena::UnwrappedLoader::kWithoutLayers);
}

bool findOpenClInFront(LoadedModule& out) {
  bool found = false;
  anyModule([&](const LoadedModule& module) {
    if (isOurs(module)) return true;
    if (definesOpenCl(module)) {
      if (isCopyOfOurs(module)) return true;
      out = module;
      found = true;
    }
    return found;
  });
  return found;
}

}  // namespace tracesmith::agent
