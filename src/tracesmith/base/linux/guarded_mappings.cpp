// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/linux/guarded_mappings.hpp"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#include <atomic>

namespace tracesmith::mappings {
namespace {

constexpr size_t kMost = 4096;

struct Slot {
  std::atomic<bool> taken{false};
  std::atomic<uintptr_t> begin{0};  // 0: unused; set last, cleared first
  std::atomic<size_t> bytes{0};
  std::atomic<OnDamage> on_damage{nullptr};
  std::atomic<bool> damaged{false};
};
constinit Slot g_slots[kMost];
constinit std::atomic<size_t> g_used{0};  // slots from this index on have never been used

enum Handler : int { kNone, kInstalling, kInstalled };

/// An installed handler, and the previous handler behind it. There are two of them, because a
/// handler installed over the first one may reinstall the first (LLVM's does). The chain of the
/// first must never lead to the second.
struct Installed {
  std::atomic<int> state{kNone};
  struct sigaction previous;
};
constinit Installed g_first{};
constinit Installed g_second{};

Slot* find(uintptr_t address) {
  const size_t used = g_used.load(std::memory_order_acquire);
  for (size_t i = 0; i < used; ++i) {
    const uintptr_t begin = g_slots[i].begin.load(std::memory_order_acquire);
    if (begin != 0 && address >= begin &&
        address - begin < g_slots[i].bytes.load(std::memory_order_relaxed)) {
      return &g_slots[i];
    }
  }
  return nullptr;
}

bool replaceByZeros(Slot& slot) {
  void* const begin = reinterpret_cast<void*>(slot.begin.load(std::memory_order_relaxed));
  const size_t bytes = slot.bytes.load(std::memory_order_relaxed);
  if (slot.damaged.exchange(true)) return true;  // another thread is replacing it
  if (mmap(begin, bytes, PROT_READ | PROT_WRITE,
           MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) {
    return false;
  }
  const OnDamage on_damage = slot.on_damage.load(std::memory_order_relaxed);
  if (on_damage != nullptr) on_damage();
  return true;
}

/// Calls the previous handler, as if this one did not exist.
void leaveTo(const struct sigaction& previous, int number, siginfo_t* info, void* context) {
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  if ((previous.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    sigaction(number, &by_default, nullptr);
  }
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(number, info, context);
    return;
  }
  const bool was_sent = info->si_code <= 0;  // sent by kill() or similar
  if (previous.sa_handler == SIG_IGN && was_sent) return;
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(number);
    return;
  }
  // The access faults again, or the signal is delivered when this handler returns. Either ends the
  // process.
  sigaction(number, &by_default, nullptr);
  if (was_sent) raise(number);
}

void onBusError(const Installed& self, int number, siginfo_t* info, void* context) {
  const int before = errno;
  Slot* const slot = info->si_code > 0 ? find(reinterpret_cast<uintptr_t>(info->si_addr)) : nullptr;
  if (slot == nullptr || !replaceByZeros(*slot)) leaveTo(self.previous, number, info, context);
  errno = before;
}

void onFirst(int number, siginfo_t* info, void* context) {
  onBusError(g_first, number, info, context);
}
void onSecond(int number, siginfo_t* info, void* context) {
  onBusError(g_second, number, info, context);
}

using Action = void (*)(int, siginfo_t*, void*);

void install(Installed& self, Action handler) {
  int none = kNone;
  if (!self.state.compare_exchange_strong(none, kInstalling)) return;
  sigaction(SIGBUS, nullptr, &self.previous);
  struct sigaction action {};
  action.sa_sigaction = handler;
  // The flags requested for the program's handler apply while it is called from here.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | (self.previous.sa_flags & (SA_NODEFER | SA_RESTART));
  action.sa_mask = self.previous.sa_mask;
  sigaction(SIGBUS, &action, nullptr);
  self.state.store(kInstalled);
}

}  // namespace

bool guard(void* begin, size_t bytes, OnDamage on_damage) {
  const int before = errno;
  install(g_first, onFirst);
  errno = before;
  for (size_t i = 0; i < kMost; ++i) {
    Slot& slot = g_slots[i];
    if (slot.taken.exchange(true, std::memory_order_acquire)) continue;
    size_t used = g_used.load();
    while (used <= i && !g_used.compare_exchange_weak(used, i + 1)) {
    }
    slot.damaged.store(false);
    slot.bytes.store(bytes);
    slot.on_damage.store(on_damage);
    slot.begin.store(reinterpret_cast<uintptr_t>(begin), std::memory_order_release);
    return true;
  }
  return false;
}

void renewHandler() {
  if (g_first.state.load(std::memory_order_acquire) != kInstalled ||
      g_second.state.load(std::memory_order_acquire) != kNone) {
    return;
  }
  const int before = errno;
  struct sigaction now {};
  if (sigaction(SIGBUS, nullptr, &now) == 0 &&
      ((now.sa_flags & SA_SIGINFO) == 0 || now.sa_sigaction != onFirst)) {
    install(g_second, onSecond);
  }
  errno = before;
}

void release(void* begin) {
  Slot* const slot = find(reinterpret_cast<uintptr_t>(begin));
  if (slot == nullptr || slot->begin.load() != reinterpret_cast<uintptr_t>(begin)) return;
  slot->begin.store(0);
  slot->taken.store(false, std::memory_order_release);
}

bool isDamaged(const void* begin) {
  const Slot* const slot = find(reinterpret_cast<uintptr_t>(begin));
  return slot != nullptr && slot->damaged.load();
}

}  // namespace tracesmith::mappings
