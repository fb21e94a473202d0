// SPDX-License-Identifier: Apache-2.0
// A library that uses CUPTI in the order in which PyTorch's profiler (Kineto) does, by the name of
// one of PyTorch's: registers a clock and buffers of its own, enables its kinds, and in the end
// flushes and disables them. kinetoStart() and kinetoStop() are called by a program; the latter
// returns how many kernels it has seen. With STANDIN_KINETO=subscribes it does what it did until
// August 2026: it subscribes first, for the life of the process, and records no GPU if it is
// refused.
#include <cupti.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace {

constexpr size_t kBytes = 1u << 20;
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
                                         CUPTI_ACTIVITY_KIND_RUNTIME};

std::mutex mutex;
std::set<uint8_t*> buffers;  // that CUPTI has
unsigned long kernels = 0;
bool started = false;

template <class F>
F* find(const char* name) {
  static void* const library = [] {
    for (const char* const file : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"}) {
      if (void* const found = dlopen(file, RTLD_NOW)) return found;
    }
    std::fprintf(stderr, "Kineto's stand-in finds no libcupti\n");
    std::exit(1);
  }();
  return reinterpret_cast<F*>(dlsym(library, name));
}
#define CUPTI(function) find<decltype(function)>(#function)

uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return static_cast<uint64_t>(t.tv_sec) * 2'000'000'000u + static_cast<uint64_t>(t.tv_nsec) * 2;
#endif
}

void request(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(aligned_alloc(8, kBytes));
  *size = kBytes;
  *most_records = 0;
  const std::lock_guard lock(mutex);
  buffers.insert(*buffer);
}

void complete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  {
    const std::lock_guard lock(mutex);
    if (buffers.erase(buffer) == 0) return;  // another's, which is left alone
  }
  CUpti_Activity* record = nullptr;
  while (valid > 0 && CUPTI(cuptiActivityGetNextRecord)(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ++kernels;
  }
  std::free(buffer);
}

}  // namespace

extern "C" void kinetoStart() {
  const char* const mode = std::getenv("STANDIN_KINETO");
  if (mode != nullptr && std::strcmp(mode, "subscribes") == 0) {
    static CUpti_SubscriberHandle subscriber{};
    static const CUptiResult code = CUPTI(cuptiSubscribe)(
        &subscriber, [](void*, auto, auto, const void*) {}, nullptr);
    if (code != CUPTI_SUCCESS) return;
  }
  started = true;
  (void)CUPTI(cuptiActivityRegisterTimestampCallback)(ticks);
  (void)CUPTI(cuptiActivityRegisterCallbacks)(request, complete);
  for (const CUpti_ActivityKind kind : kKinds) (void)CUPTI(cuptiActivityEnable)(kind);
}

extern "C" unsigned long kinetoStop() {
  if (!started) return 0;
  (void)CUPTI(cuptiActivityFlushAll)(1);
  for (const CUpti_ActivityKind kind : kKinds) (void)CUPTI(cuptiActivityDisable)(kind);
  (void)CUPTI(cuptiActivityFlushAll)(0);
  return kernels;
}
