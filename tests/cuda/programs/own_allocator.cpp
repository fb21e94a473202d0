// SPDX-License-Identifier: Apache-2.0
// To be preloaded: an allocator as some programs bring one. It has keys and variables of threads,
// and a lock, in each of its functions; what it needs of a thread it allocates itself, and it looks
// for its settings with its first call, which comes before any constructor has run.
//
// With watchCalls() (see call_watch.cpp) a thread has its allocations counted.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include <atomic>
#include <new>

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* memory);
}

namespace {

struct Thread {
  unsigned long calls = 0;
  bool watched = false;
};

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_once_t g_once = PTHREAD_ONCE_INIT;
pthread_key_t g_key;
std::atomic<unsigned long> g_calls{0};
// Not of the initial-exec model: a library that is loaded late has its variables made on demand.
thread_local Thread* t_thread = nullptr;
thread_local bool t_inside = false;

void freeThread(void* thread) {
  t_thread = nullptr;
  free(thread);
}

void begin() {
  pthread_key_create(&g_key, freeThread);
  (void)getenv("OWN_ALLOCATOR_SETTINGS");
  (void)dlsym(RTLD_NEXT, "malloc");  // as those do that hand on to the next one
}

void note() {
  if (t_inside) return;
  t_inside = true;
  pthread_once(&g_once, begin);
  if (t_thread == nullptr) {
    t_thread = new (__libc_calloc(1, sizeof(Thread))) Thread;
    pthread_setspecific(g_key, t_thread);
  }
  if (t_thread->watched) ++t_thread->calls;
  pthread_mutex_lock(&g_mutex);
  g_calls.fetch_add(1);
  pthread_mutex_unlock(&g_mutex);
  t_inside = false;
}

}  // namespace

extern "C" {

unsigned long watchCalls(bool on) {
  if (t_thread == nullptr) note();
  const unsigned long seen = t_thread->calls;
  t_thread->calls = 0;
  t_thread->watched = on;
  return seen;
}

void* malloc(size_t bytes) {
  note();
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  note();
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  note();
  return __libc_realloc(memory, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  note();
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  *memory = memalign(alignment, bytes);
  return *memory != nullptr ? 0 : 12;
}
void free(void* memory) {
  if (memory == nullptr) return;
  note();
  __libc_free(memory);
}

}  // extern "C"
