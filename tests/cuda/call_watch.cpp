// SPDX-License-Identifier: Apache-2.0
// To be preloaded: counts what a thread allocates, frees and locks while it has itself watched.
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

namespace {

thread_local bool watched __attribute__((tls_model("initial-exec"))) = false;
thread_local unsigned long count __attribute__((tls_model("initial-exec"))) = 0;

void note() {
  if (watched) ++count;
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
