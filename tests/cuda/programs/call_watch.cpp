// SPDX-License-Identifier: Apache-2.0
// To be preloaded: counts what a thread allocates, frees and locks while it has itself watched.
// What is given to watchHandedOver() is expected to be freed: WATCH_REPORT names a file, to which a
// line with both counts is added when the process ends.
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <atomic>

namespace {

thread_local bool watched __attribute__((tls_model("initial-exec"))) = false;
thread_local unsigned long count __attribute__((tls_model("initial-exec"))) = 0;

void note() {
  if (watched) ++count;
}

constexpr size_t kMostHandedOver = 1 << 14;
std::atomic<void*> handed_over[kMostHandedOver];
std::atomic<size_t> handed_count{0}, freed_count{0};

void noteFreed(void* memory) {
  const size_t handed = handed_count.load(std::memory_order_relaxed);
  for (size_t i = 0; memory != nullptr && i < handed && i < kMostHandedOver; ++i) {
    void* expected = memory;
    if (!handed_over[i].compare_exchange_strong(expected, nullptr)) continue;
    freed_count.fetch_add(1);
    return;
  }
}

__attribute__((destructor)) void report() {
  const char* const path = getenv("WATCH_REPORT");
  FILE* const file = path != nullptr && handed_count.load() > 0 ? fopen(path, "a") : nullptr;
  if (file == nullptr) return;
  fprintf(file, "%zu %zu\n", handed_count.load(), freed_count.load());
  fclose(file);
}

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

// glibc's own, for dlsym() may allocate.
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* memory);

/// Begins or ends the watch of the calling thread; what it has done in it.
unsigned long watchCalls(bool on) {
  const unsigned long seen = count;
  count = 0;
  watched = on;
  return seen;
}

/// From now on its free() is counted.
void watchHandedOver(void* memory) {
  const size_t place = handed_count.fetch_add(1);
  if (place < kMostHandedOver) handed_over[place].store(memory);
}

void* malloc(size_t bytes) {
  note();
  return __libc_malloc(bytes);
}
void* calloc(size_t n, size_t bytes) {
  note();
  return __libc_calloc(n, bytes);
}
void* realloc(void* memory, size_t bytes) {
  note();
  return __libc_realloc(memory, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  note();
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  note();
  return __libc_memalign(alignment, bytes);
}
void free(void* memory) {
  note();
  noteFreed(memory);
  __libc_free(memory);
}

#define WATCH_LOCK(function, type)                            \
  int function(type* lock) {                                  \
    static const auto real = next<int (*)(type*)>(#function); \
    note();                                                   \
    return real(lock);                                        \
  }
WATCH_LOCK(pthread_mutex_lock, pthread_mutex_t)
WATCH_LOCK(pthread_mutex_trylock, pthread_mutex_t)
WATCH_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
WATCH_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
WATCH_LOCK(pthread_spin_lock, pthread_spinlock_t)
#undef WATCH_LOCK

}  // extern "C"
