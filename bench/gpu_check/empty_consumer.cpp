// SPDX-License-Identifier: Apache-2.0
// The least that a tool of CUPTI can do: asks for the same records as the CUDA agent, in buffers of
// the same size, and drops them unread. What a program costs with it is CUPTI's own price, beside
// which the agent's is measured. Named by CUDA_INJECTION64_PATH; finds libcupti as the agent does.
//   EMPTY_CONSUMER_CALLBACKS=1   has itself called at each call that the agent is called at, too
//   EMPTY_CONSUMER_COUNT=FILE    reads the records, only to count them, and writes how many at exit
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "tracesmith/capture/agents/cuda/cupti.hpp"

namespace cupti = tracesmith::agent::cupti;

namespace {

cupti::Functions g_cupti;
void* g_subscriber = nullptr;
bool g_count = false;
std::atomic<unsigned long> g_kernels{0}, g_copies{0}, g_fills{0}, g_dropped{0}, g_buffers{0};

constexpr size_t kBufferBytes = 1u << 20;
constexpr int kMostBuffers = 64;
struct Buffer {
  std::atomic<uint8_t*> memory{nullptr};
  std::atomic<bool> taken{false};
};
constinit Buffer g_pool[kMostBuffers];

void requestBuffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = nullptr;
  *size = *most_records = 0;
  for (Buffer& b : g_pool) {
    if (b.taken.load(std::memory_order_relaxed) || b.taken.exchange(true)) continue;
    if (b.memory.load(std::memory_order_acquire) == nullptr) {
      void* const p = mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
      if (p == MAP_FAILED) return;
      b.memory.store(static_cast<uint8_t*>(p), std::memory_order_release);
    }
    *buffer = b.memory.load(std::memory_order_relaxed);
    *size = kBufferBytes;
    return;
  }
}

void count(uint8_t* buffer, size_t valid) {
  cupti::Activity* record = nullptr;
  while (valid > 0 &&
         g_cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == cupti::kSuccess) {
    if (record->kind == cupti::kConcurrentKernel) ++g_kernels;
    if (record->kind == cupti::kMemcpy || record->kind == cupti::kMemcpyPeer) ++g_copies;
    if (record->kind == cupti::kMemset) ++g_fills;
  }
}

void bufferDone(void* context, uint32_t stream, uint8_t* buffer, size_t, size_t valid) {
  ++g_buffers;
  if (g_count) {
    count(buffer, valid);
    size_t dropped = 0;
    if (g_cupti.cuptiActivityGetNumDroppedRecords != nullptr &&
        g_cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == cupti::kSuccess) {
      g_dropped += dropped;
    }
  }
  for (Buffer& b : g_pool) {
    if (b.memory.load(std::memory_order_acquire) != buffer) continue;
    memset(buffer, 0, valid);
    b.taken.store(false, std::memory_order_release);
  }
}

void onCall(void*, int, uint32_t, const void*) {}

bool wanted(const char* name) {
  for (const char* const part : {"Launch", "Memcpy", "Memset", "Synchronize", "StreamWaitEvent",
                                 "EventRecord", "Malloc", "MemAlloc", "Free", "HostAlloc"}) {
    if (strstr(name, part) != nullptr) return true;
  }
  return false;
}

void enableCallbacks() {
  for (const int domain : {cupti::kDriverApi, cupti::kRuntimeApi}) {
    for (uint32_t number = 1; number < 1024; ++number) {
      const char* name = nullptr;
      if (g_cupti.cuptiGetCallbackName(domain, number, &name) == cupti::kSuccess &&
          name != nullptr && wanted(name)) {
        (void)g_cupti.cuptiEnableCallback(1, g_subscriber, domain, number);
      }
    }
  }
}

void* findLibrary() {
  if (const char* const named = getenv("TRACESMITH_CUPTI")) return dlopen(named, RTLD_NOW);
  static const char* const kNames[] = {"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8",
                                       "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so"};
  for (const int how : {RTLD_NOW | RTLD_NOLOAD, RTLD_NOW}) {
    for (const char* const name : kNames) {
      if (void* const library = dlopen(name, how)) return library;
    }
  }
  return nullptr;
}

void atExit() {
  (void)g_cupti.cuptiActivityFlushAll(1);
  const char* const file = getenv("EMPTY_CONSUMER_COUNT");
  if (file == nullptr) return;
  // A line for each process; one write, for several may end at once.
  char text[200];
  const int length = snprintf(text, sizeof text,
                              "{\"pid\": %d, \"kernels\": %lu, \"copies\": %lu, \"fills\": %lu, "
                              "\"dropped\": %lu, \"buffers\": %lu}\n",
                              static_cast<int>(getpid()), g_kernels.load(), g_copies.load(),
                              g_fills.load(), g_dropped.load(), g_buffers.load());
  FILE* const out = fopen(file, "a");
  if (out == nullptr) return;
  fwrite(text, 1, static_cast<size_t>(length), out);
  fclose(out);
}

void enter() {
  void* const library = findLibrary();
  if (library == nullptr) {
    fprintf(stderr, "empty consumer: no libcupti\n");
    return;
  }
#define TS_X(name, optional, parameters) \
  g_cupti.name = reinterpret_cast<decltype(g_cupti.name)>(dlsym(library, #name));
  TS_CUPTI_FUNCTIONS(TS_X)
#undef TS_X
  g_count = getenv("EMPTY_CONSUMER_COUNT") != nullptr;
  const int code = g_cupti.cuptiSubscribe(&g_subscriber, onCall, nullptr);
  if (code != cupti::kSuccess) {
    fprintf(stderr, "empty consumer: CUPTI can not be used (%d)\n", code);
    return;
  }
  if (g_cupti.cuptiActivitySetAttribute != nullptr) {
    uint8_t yes = 1;
    size_t size = sizeof yes;
    (void)g_cupti.cuptiActivitySetAttribute(cupti::kAttributeZeroedBuffer, &size, &yes);
  }
  if (g_cupti.cuptiActivityEnableLatencyTimestamps != nullptr) {
    (void)g_cupti.cuptiActivityEnableLatencyTimestamps(1);
  }
  (void)g_cupti.cuptiActivityRegisterCallbacks(requestBuffer, bufferDone);
  // As enableActivities() of the agent.
  for (const int kind :
       {cupti::kDevice, cupti::kContext, cupti::kConcurrentKernel, cupti::kMemcpy,
        cupti::kMemcpyPeer, cupti::kMemset, cupti::kSynchronization, cupti::kOverhead}) {
    (void)g_cupti.cuptiActivityEnable(kind);
  }
  if (getenv("EMPTY_CONSUMER_CALLBACKS") != nullptr) enableCallbacks();
  atexit(atExit);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  static std::atomic<bool> entered{false};
  if (!entered.exchange(true)) enter();
  return 1;
}
