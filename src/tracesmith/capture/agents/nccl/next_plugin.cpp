// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/nccl/next_plugin.hpp"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#include <atomic>
#include <type_traits>

#include "tracesmith/capture/agents/nccl/descriptor_conversion.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith::agent::nccl {
namespace {

// The handles that the next plugin gave, by the event's id. NCCL may name an event as parent long
// after its end, so a handle stays until its set has no room; those of ended events go first, the
// oldest before others.
constexpr size_t kSets = size_t{1} << 16;
constexpr size_t kSlotsOfSet = 4;
struct Slot {
  std::atomic<uint64_t> id;  // 0: none
  std::atomic<void*> handle;
  std::atomic<uint64_t> ended_id;  // `id`, once the event has ended
};
struct SlotSet {
  Slot slots[kSlotsOfSet];
};
std::atomic<SlotSet*> g_slots{nullptr};

class Lock {
 public:
  Lock() {
    while (g_lock.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  ~Lock() { g_lock.clear(std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  static inline std::atomic_flag g_lock = ATOMIC_FLAG_INIT;
};

// Only changed with the lock, while no communicator uses the plugin.
void* g_library = nullptr;
int g_users = 0;
std::atomic<int> g_version{0};  // of the interface that the plugin is called by; 0: none
std::atomic<const void*> g_table{nullptr};
/// Belongs to the plugin, as NCCL's own mask would.
int g_mask = 0;

int maskNow() { return __atomic_load_n(&g_mask, __ATOMIC_RELAXED); }

/// As NCCL does it with the value of NCCL_PROFILER_PLUGIN.
void* openByName(const char* name) {
  constexpr const char* kStatic = "STATIC_PLUGIN";
  const size_t length = strlen(name);
  if (length == 0) return dlopen("libnccl-profiler.so", RTLD_NOW | RTLD_LOCAL);
  if (strncasecmp(name, kStatic, length) == 0) return dlopen(nullptr, RTLD_NOW | RTLD_LOCAL);
  if (void* const found = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return found;
  const bool is_file =
      strncmp(name, "lib", 3) == 0 && length >= 3 && strcmp(name + length - 3, ".so") == 0;
  if (strchr(name, '/') != nullptr || is_file) return nullptr;
  char file[256];
  snprintf(file, sizeof file, "libnccl-profiler-%s.so", name);
  return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

/// NCCL also looks into the library of its network plugin, which it has loaded by then.
void* openNetworkPlugin() {
  const char* const name = getenv("NCCL_NET_PLUGIN");
  constexpr int kLoaded = RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD;
  if (name == nullptr || *name == 0) return dlopen("libnccl-net.so", kLoaded);
  if (void* const found = dlopen(name, kLoaded)) return found;
  char file[256];
  snprintf(file, sizeof file, "libnccl-net-%s.so", name);
  return dlopen(file, kLoaded);
}

/// Of the newest version up to `version`; null if there is none.
const void* findTable(void* library, int version, int& found) {
  for (found = version; found > 0; --found) {
    char symbol[32];
    snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", found);
    const void* const table = dlsym(library, symbol);
    Dl_info itself{}, other{};
    const bool is_ours = table != nullptr && dladdr(table, &other) != 0 &&
                         dladdr(reinterpret_cast<const void*>(&g_slots), &itself) != 0 &&
                         other.dli_fbase == itself.dli_fbase;
    if (table != nullptr && !is_ours) return table;
  }
  return nullptr;
}

bool openNext(int version) {
  const char* const name = getenv(arena::kEnvNcclNextPlugin);
  if (name != nullptr && strcasecmp(name, "none") == 0) return false;
  void* library = openByName(name == nullptr ? "" : name);
  if (library == nullptr) library = openNetworkPlugin();
  if (library == nullptr) return false;
  int found = 0;
  const void* const table = findTable(library, version, found);
  void* slots = table == nullptr ? nullptr : g_slots.load();
  if (table != nullptr && slots == nullptr) {
    slots = mmap(nullptr, kSets * sizeof(SlotSet), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (slots == nullptr || slots == MAP_FAILED) {
    dlclose(library);
    return false;
  }
  g_slots.store(static_cast<SlotSet*>(slots));
  g_library = library;
  g_table.store(table);
  g_version.store(found, std::memory_order_release);
  return true;
}

/// Unless it is in use. As NCCL does after the last communicator. Needs the lock.
void closeNext() {
  if (g_users > 0 || g_library == nullptr) return;
  g_version.store(0);
  g_table.store(nullptr);
  dlclose(g_library);
  g_library = nullptr;
}

/// Calls f(table) with the next plugin's table as that of its version.
template <class F>
void withNext(F&& f) {
  const int version = g_version.load(std::memory_order_acquire);
  const void* const table = g_table.load(std::memory_order_relaxed);
  if (version == 0 || table == nullptr) return;
  const auto call = [&]<int kVersion>() {
    f.template operator()<kVersion>(*static_cast<const typename Api<kVersion>::Symbol*>(table));
  };
  switch (version) {
    case 1:
      return call.template operator()<1>();
    case 2:
      return call.template operator()<2>();
    case 3:
      return call.template operator()<3>();
    case 4:
      return call.template operator()<4>();
    case 5:
      return call.template operator()<5>();
    case 6:
      return call.template operator()<6>();
    default:
      return call.template operator()<7>();
  }
}

/// The events in a mask of which NCCL also sends this event: it sends the parents of what is
/// wanted.
constexpr int wantingEvents(Event event) {
  constexpr int kProxy =
      bitOf(Event::kProxyOperation) | bitOf(Event::kProxyStep) | bitOf(Event::kNetwork);
  constexpr int kParts = kProxy | bitOf(Event::kKernelChannel) | bitOf(Event::kKernelPhase);
  constexpr int kCollective = kParts | bitOf(Event::kCollective);
  constexpr int kMessage = kParts | bitOf(Event::kMessage);
  constexpr int kCopies =
      bitOf(Event::kCopyCollective) | bitOf(Event::kCopySync) | bitOf(Event::kCopyBatch);
  switch (event) {
    case Event::kGroup:
      return kCollective | kMessage | bitOf(event);
    case Event::kCollective:
      return kCollective;
    case Event::kMessage:
      return kMessage;
    case Event::kProxyOperation:
      return kProxy;
    case Event::kProxyStep:
      return bitOf(event) | bitOf(Event::kNetwork);
    case Event::kKernelChannel:
      return bitOf(event) | bitOf(Event::kKernelPhase);
    case Event::kGroupCall:
      return ~bitOf(Event::kProxyControl);
    case Event::kCollectiveCall:
      return kCollective | kCopies | bitOf(event);
    case Event::kMessageCall:
      return kMessage | bitOf(event);
    case Event::kCopyCollective:
      return kCopies;
    default:
      return bitOf(event);
  }
}

constexpr uint64_t kBeingWritten = UINT64_MAX;

/// Takes the slot of no event, else that of the oldest that has ended, else of the oldest.
void keepHandle(uint64_t id, void* handle) {
  constexpr uint64_t kActive = uint64_t{1} << 62;
  SlotSet& set = g_slots.load(std::memory_order_relaxed)[id & (kSets - 1)];
  for (size_t tries = 0; tries < kSlotsOfSet; ++tries) {
    Slot* best = nullptr;
    uint64_t least = UINT64_MAX, before = 0;
    for (Slot& slot : set.slots) {
      const uint64_t other = slot.id.load(std::memory_order_relaxed);
      if (other == kBeingWritten) continue;
      const bool has_ended = slot.ended_id.load(std::memory_order_relaxed) == other;
      const uint64_t value = other | (other == 0 || has_ended ? 0 : kActive);
      if (value >= least) continue;
      least = value;
      before = other;
      best = &slot;
    }
    if (best == nullptr) return;
    // The id changes before the handle and after it, so nobody takes the new handle for the old.
    if (!best->id.compare_exchange_strong(before, kBeingWritten)) continue;
    best->handle.store(handle, std::memory_order_release);
    best->id.store(id, std::memory_order_release);
    return;
  }
}

/// Null if there is none.
Slot* slotOf(uint64_t id) {
  SlotSet* const sets = g_slots.load(std::memory_order_relaxed);
  if (sets == nullptr || id == 0) return nullptr;
  for (Slot& slot : sets[id & (kSets - 1)].slots) {
    if (slot.id.load(std::memory_order_acquire) == id) return &slot;
  }
  return nullptr;
}

void* keptHandle(uint64_t id) {
  Slot* const slot = slotOf(id);
  if (slot == nullptr) return nullptr;
  void* const handle = slot->handle.load(std::memory_order_acquire);
  return slot->id.load(std::memory_order_relaxed) == id ? handle : nullptr;
}

void* noHandle(const void*) { return nullptr; }

}  // namespace

bool initNext(int version, const NewCommunicator& c, void** context) {
  const Lock lock;
  if (g_library == nullptr && !openNext(version)) return false;
  Result result = 1;
  *context = nullptr;
  withNext([&]<int kVersion>(const auto& table) {
    if constexpr (kVersion <= 3) {
      result = table.init(context, &g_mask);
    } else if constexpr (kVersion == 4) {
      result = table.init(context, &g_mask, c.name, c.key, c.nodes, c.ranks, c.rank, c.log);
    } else {
      result = table.init(context, c.key, &g_mask, c.name, c.nodes, c.ranks, c.rank, c.log);
    }
  });
  if (result == kSuccess) {
    ++g_users;
    return true;
  }
  closeNext();
  return false;
}

void finalizeNext(void* context) {
  withNext([&]<int kVersion>(const auto& table) { (void)table.finalize(context); });
  const Lock lock;
  --g_users;
  closeNext();
}

int nextMask() { return g_version.load(std::memory_order_relaxed) == 0 ? 0 : maskNow(); }

void* nextHandleOf(const void* handle) {
  return handle == nullptr ? nullptr : keptHandle(Handle::of(handle).id);
}

template <class Descriptor>
void* startNext(void* context, uint64_t id, Event event, const Descriptor& descriptor,
                bool has_parent) {
  if ((maskNow() & wantingEvents(event)) == 0) return nullptr;
  void* handle = nullptr;
  withNext([&]<int kVersion>(const auto& table) {
    if constexpr (kVersion <= versionOf<Descriptor>()) {  // findTable() takes no other
      typename Api<kVersion>::Descriptor theirs{};
      if (convertDescriptor(event, descriptor, theirs, has_parent ? nextHandleOf : noHandle)) {
        (void)table.start(context, &handle, &theirs);
      }
    }
  });
  if (handle != nullptr) keepHandle(id, handle);
  return handle;
}

#define TS_NCCL_START(version) \
  template void* startNext(void*, uint64_t, Event, const Api<version>::Descriptor&, bool);
TS_NCCL_START(1)
TS_NCCL_START(2)
TS_NCCL_START(3)
TS_NCCL_START(4)
TS_NCCL_START(5)
TS_NCCL_START(6)
TS_NCCL_START(7)
#undef TS_NCCL_START

void stopNext(const void* handle) {
  void* const theirs = nextHandleOf(handle);
  if (theirs == nullptr) return;
  withNext([&]<int kVersion>(const auto& table) { (void)table.stop(theirs); });
  const uint64_t id = Handle::of(handle).id;
  if (Slot* const slot = slotOf(id)) slot->ended_id.store(id, std::memory_order_relaxed);
}

void stateNext(const void* handle, int state, const StateArguments* arguments) {
  void* const theirs = nextHandleOf(handle);
  if (theirs == nullptr) return;
  withNext([&]<int kVersion>(const auto& table) {
    typename Api<kVersion>::Arguments converted{};
    if (!convertState<kVersion>(state, arguments, converted)) return;
    (void)table.state(theirs, state, arguments == nullptr ? nullptr : &converted);
  });
}

void stateNext(const void* handle, int state, const OldStateArguments* arguments) {
  void* const theirs = nextHandleOf(handle);
  if (theirs == nullptr) return;
  withNext([&]<int kVersion>(const auto& table) {
    if constexpr (kVersion <= 3) {  // a plugin is never newer than what NCCL calls
      OldStateArguments same = arguments == nullptr ? OldStateArguments{} : *arguments;
      (void)table.state(theirs, state, arguments == nullptr ? nullptr : &same);
    }
  });
}

}  // namespace tracesmith::agent::nccl
