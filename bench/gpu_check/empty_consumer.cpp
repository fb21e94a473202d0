// SPDX-License-Identifier: Apache-2.0
// The comparison consumer: a client of CUPTI that asks for what the CUDA agent asks for and throws
// it away unread. What a program costs with it is the least that any tool with these records costs;
// the agent's cost is compared with that. Kinds, callbacks and sizes are the agent's own constants,
// so they cannot drift apart (tests/cuda/consumer_test.py compares the requests of both).
// CUDA_INJECTION64_PATH names it. It finds libcupti as the agent does.
//   EMPTY_CONSUMER_CALLBACKS=0   no callbacks at calls
//   EMPTY_CONSUMER_LATENCY=1     latency timestamps of kernels, too
//   EMPTY_CONSUMER_GRAPHS=graph  graphs are recorded as wholes
//   EMPTY_CONSUMER_COUNT=FILE    reads the records to count them; appends a line of JSON at exit
// Unless it counts, it leaks the few bytes that CUPTI allocates for the name of each device and for
// the details of some overhead records: freeing them would mean reading every record.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "consumer_counts.hpp"
#include "tracesmith/capture/agents/cuda/captured_calls.hpp"
#include "tracesmith/capture/agents/cuda/captured_kinds.hpp"
#include "tracesmith/capture/protocol/cuda_layout.hpp"

namespace cupti = tracesmith::agent::cupti;
using tracesmith::agent::CapturedKind;
using tracesmith::agent::kCapturedKinds;

namespace {

constexpr size_t kBufferBytes = tracesmith::cuda_file::kBufferBytes;
constexpr uint32_t kMostBuffers = tracesmith::cuda_file::kBuffers;
constexpr long kFlushIntervalNs = 200'000'000;  // the agent's

cupti::Functions g_cupti;
cupti::Functions2 g_cupti2;
void* g_library = nullptr;
void* g_subscriber = nullptr;
uint32_t g_version = 0;
bool g_is_shared = false;  // with functions that name the subscriber
bool g_count = false;
pid_t g_pid = 0;
std::atomic<bool> g_leaving{false};
char g_problem[700];  // with the library that was tried last

bool isSet(const char* name, const char* value) {
  const char* const is = getenv(name);
  return is != nullptr && strcmp(is, value) == 0;
}
bool wantsLatency() { return isSet("EMPTY_CONSUMER_LATENCY", "1"); }
bool wantsWholeGraphs() { return isSet("EMPTY_CONSUMER_GRAPHS", "graph"); }

// --- Buffers ------------------------------------------------------------------------------------

/// Address space for all buffers, and a stack of the free ones: a buffer used last is the next one.
class Pool {
 public:
  void open() {
    void* const p = mmap(nullptr, kMostBuffers * kBufferBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return;
    memory_ = static_cast<uint8_t*>(p);
    while (free_count_ < kMostBuffers) {
      free_[free_count_] = kMostBuffers - 1 - free_count_;
      ++free_count_;
    }
  }
  uint8_t* take() {
    const Lock lock(*this);
    return free_count_ == 0 ? nullptr : memory_ + size_t{free_[--free_count_]} * kBufferBytes;
  }
  void giveBack(const uint8_t* buffer) {
    const Lock lock(*this);
    free_[free_count_++] =
        static_cast<uint32_t>(static_cast<size_t>(buffer - memory_) / kBufferBytes);
  }

 private:
  struct Lock {
    explicit Lock(Pool& p) : pool(p) {
      while (pool.busy_.test_and_set(std::memory_order_acquire)) {
      }
    }
    ~Lock() { pool.busy_.clear(std::memory_order_release); }
    Pool& pool;
  };
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  uint8_t* memory_ = nullptr;
  uint32_t free_[kMostBuffers] = {};
  uint32_t free_count_ = 0;
};
Pool g_pool;

void requestBuffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  *most_records = 0;
  *buffer = g_pool.take();
  *size = *buffer == nullptr ? 0 : kBufferBytes;
}

size_t dropped() {
  size_t records = 0;
  int code = cupti::kNotSupported;
  if (g_is_shared) {
    code = g_cupti2.cuptiActivityGetNumDroppedRecords_v2(g_subscriber, nullptr, 0, &records);
  } else if (g_cupti.cuptiActivityGetNumDroppedRecords != nullptr) {
    code = g_cupti.cuptiActivityGetNumDroppedRecords(nullptr, 0, &records);
  }
  return code == cupti::kSuccess ? records : 0;
}

template <class Next>
void countBuffer(const consumer::Fields& fields, Next&& next) {
  cupti::Activity* record = nullptr;
  const cupti::Activity* before = nullptr;
  while (next(&record) == cupti::kSuccess) {
    // What is freed is not read again, so a record is given up once its successor is known.
    if (before != nullptr) consumer::freeWhatIsOurs(*before, fields, g_version);
    consumer::count(*record, fields);
    before = record;
  }
  if (before != nullptr) consumer::freeWhatIsOurs(*before, fields, g_version);
  consumer::g_counts.dropped += dropped();
}

/// Buffers are promised to be zeroed.
void giveBack(uint8_t* buffer, size_t valid) {
  ++consumer::g_counts.buffers;
  memset(buffer, 0, valid);
  g_pool.giveBack(buffer);
}

void bufferDone(void*, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  if (buffer == nullptr) return;
  if (g_count && valid > 0) {
    countBuffer(consumer::Fields(nullptr), [&](cupti::Activity** record) {
      return g_cupti.cuptiActivityGetNextRecord(buffer, valid, record);
    });
  }
  giveBack(buffer, valid);
}

void requestBuffer2(uint8_t** buffer, size_t* size, size_t* most_records,
                    const cupti::BufferRequestInfo*) {
  requestBuffer(buffer, size, most_records);
}

void bufferDone2(uint8_t* buffer, size_t, size_t valid, const cupti::BufferDoneInfo* info) {
  if (buffer == nullptr) return;
  if (g_count && valid > 0 && info != nullptr) {
    countBuffer(consumer::Fields(info), [&](cupti::Activity** record) {
      return g_cupti2.cuptiActivityGetNextRecord_v2(g_subscriber, buffer, valid, record);
    });
  }
  giveBack(buffer, valid);
}

// --- What is asked for --------------------------------------------------------------------------

void onCall(void*, int, uint32_t, const void*) {}

uint64_t timestamp() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

void enableCallbacks() {
  if (isSet("EMPTY_CONSUMER_CALLBACKS", "0")) return;
  cupti::forEachRecordedCall(g_cupti, false,
                             [](int domain, uint32_t number, const char*, tracesmith::CallKind) {
                               (void)g_cupti.cuptiEnableCallback(1, g_subscriber, domain, number);
                             });
  // As enableCallbacks() of the agent.
  for (const uint32_t number : {cupti::kModuleLoaded, cupti::kModuleUnloadStarting}) {
    (void)g_cupti.cuptiEnableCallback(1, g_subscriber, cupti::kResource, number);
  }
  if (g_cupti.cuptiGetGraphNodeId == nullptr) return;
  for (const uint32_t number : {cupti::kGraphNodeCreated, cupti::kGraphNodeCloned}) {
    (void)g_cupti.cuptiEnableCallback(1, g_subscriber, cupti::kResource, number);
  }
}

template <class Value>
bool set(int attribute, Value value) {
  size_t bytes = sizeof value;
  return g_cupti2.cuptiActivitySetAttribute_v2(g_subscriber, attribute, &bytes, &value) ==
         cupti::kSuccess;
}

bool findShared() {
  bool all = true;
#define TS_X(name, optional, parameters)                                              \
  g_cupti2.name = reinterpret_cast<decltype(g_cupti2.name)>(dlsym(g_library, #name)); \
  all = all && (g_cupti2.name != nullptr || (optional));
  TS_CUPTI_FUNCTIONS_2(TS_X)
#undef TS_X
  return all;
}

const cupti::Selected* selectionOf(cupti::Kind kind) {
  for (const cupti::Selected& selected : cupti::kSelected) {
    if (selected.kind == kind) return &selected;
  }
  return nullptr;
}

bool enableSelected(cupti::Kind kind) {
  const cupti::Selected* const selected = selectionOf(kind);
  if (selected == nullptr) return false;
  int fields[64];
  static_assert(sizeof cupti::kKernelFields / sizeof(cupti::Field) <= 64);
  for (size_t i = 0; i < selected->count; ++i) fields[i] = selected->fields[i].number;
  cupti::ActivityConfig config{sizeof config, {sizeof config.selection, selected->count, fields}};
  return g_cupti2.cuptiActivityEnable_v2(g_subscriber, kind, &config) == cupti::kSuccess;
}

bool takesClock() {
  uint64_t now = 0;
  if (!set(cupti::kAttributeTimestampCallback, &timestamp) ||
      g_cupti2.cuptiGetTimestamp_v2(g_subscriber, &now) != cupti::kSuccess) {
    return false;
  }
  const auto ahead = static_cast<int64_t>(timestamp() - now);
  return ahead > -1'000'000 && ahead < 1'000'000'000;  // as takesClock() of the agent
}

/// As enterSharing() of the agent.
bool enterShared() {
  const bool whole = wantsWholeGraphs();
  if (g_version < cupti::kFirstWithLayouts || !findShared()) return false;
  if (whole && selectionOf(consumer::kGraphTrace) == nullptr) return false;
  char other[cupti::kOtherNameBytes] = {};
  cupti::SubscriberParams params{sizeof params, "comparison consumer", other, sizeof other, 1, {}};
  if (g_cupti2.cuptiSubscribe_v2(&g_subscriber, onCall, nullptr, &params) != cupti::kSuccess) {
    return false;
  }
  bool entered = set(cupti::kAttributeUserDefinedRecords, uint8_t{1}) && takesClock();
  if (entered) {
    (void)set(cupti::kAttributeZeroedBuffer, uint8_t{1});
    if (wantsLatency()) (void)set(cupti::kAttributeLatencyTimestamps, uint8_t{1});
    if (whole) entered = set(cupti::kAttributeGraphTrace, uint8_t{1});
    entered = entered && g_cupti2.cuptiActivityRegisterCallbacks_v2(g_subscriber, requestBuffer2,
                                                                    bufferDone2) == cupti::kSuccess;
  }
  for (const CapturedKind& captured : kCapturedKinds) {
    entered = entered && enableSelected(captured.kind);
  }
  if (whole) entered = entered && enableSelected(consumer::kGraphTrace);
  if (entered) return g_is_shared = true;
  for (const CapturedKind& captured : kCapturedKinds) {
    (void)g_cupti2.cuptiActivityDisable_v2(g_subscriber, captured.kind, nullptr);
  }
  (void)set(cupti::kAttributeUserDefinedRecords, uint8_t{0});
  if (g_cupti.cuptiUnsubscribe != nullptr) (void)g_cupti.cuptiUnsubscribe(g_subscriber);
  return false;
}

/// As enableActivities() of the agent.
bool enterAlone() {
  const int code = g_cupti.cuptiSubscribe(&g_subscriber, onCall, nullptr);
  if (code != cupti::kSuccess) {
    snprintf(g_problem, sizeof g_problem, "CUPTI cannot be used (error %d)", code);
    return false;
  }
  if (g_cupti.cuptiActivityRegisterTimestampCallback != nullptr) {
    (void)g_cupti.cuptiActivityRegisterTimestampCallback(timestamp);
  }
  if (wantsLatency() && g_cupti.cuptiActivityEnableLatencyTimestamps != nullptr) {
    (void)g_cupti.cuptiActivityEnableLatencyTimestamps(1);
  }
  (void)g_cupti.cuptiActivityRegisterCallbacks(requestBuffer, bufferDone);
  for (const CapturedKind& captured : kCapturedKinds) {
    const int refused = g_cupti.cuptiActivityEnable(captured.kind);
    if (refused == cupti::kSuccess) continue;
    fprintf(stderr, "comparison consumer: CUPTI does not deliver %s (error %d)\n", captured.name,
            refused);
  }
  if (wantsWholeGraphs()) (void)g_cupti.cuptiActivityEnable(consumer::kGraphTrace);
  return true;
}

// --- Entry and exit -----------------------------------------------------------------------------

void* flushAlways(void*) {
  while (!g_leaving.load(std::memory_order_relaxed)) {
    const timespec pause{0, kFlushIntervalNs};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
    if (!g_leaving.load(std::memory_order_relaxed)) (void)g_cupti.cuptiActivityFlushAll(0);
  }
  return nullptr;
}

/// A line for each process, in one write, since several may end at once.
void writeCounts(const char* file) {
  Dl_info where{};
  (void)dladdr(reinterpret_cast<void*>(g_cupti.cuptiGetVersion), &where);
  const consumer::Counts& c = consumer::g_counts;
  char text[1400];
  const int length = snprintf(
      text, sizeof text,
      "{\"pid\": %d, \"cupti_version\": %u, \"cupti\": \"%.600s\", \"kernels\": %lu, \"copies\": "
      "%lu, \"fills\": %lu, \"graphs\": %lu, \"memory_allocations\": %lu, "
      "\"memory_allocated_bytes\": %lu, \"memory_frees\": %lu, \"memory_freed_bytes\": %lu, "
      "\"dropped\": %lu, \"buffers\": %lu}\n",
      static_cast<int>(getpid()), g_version, where.dli_fname != nullptr ? where.dli_fname : "",
      c.kernels.load(), c.copies.load(), c.fills.load(), c.graphs.load(),
      c.memory_allocations.load(), c.memory_allocated_bytes.load(), c.memory_frees.load(),
      c.memory_freed_bytes.load(), c.dropped.load(), c.buffers.load());
  FILE* const out = fopen(file, "a");
  if (out == nullptr) return;
  fwrite(text, 1, static_cast<size_t>(length), out);
  fclose(out);
}

void atExit() {
  // In a forked child a flush never returns.
  if (getpid() != g_pid) return;
  g_leaving.store(true);
  (void)g_cupti.cuptiActivityFlushAll(1);
  if (const char* const file = getenv("EMPTY_CONSUMER_COUNT")) writeCounts(file);
}

bool enterWith(const char* name, int how) {
  g_library = dlopen(name, RTLD_NOW | how);
  if (g_library == nullptr) {
    const char* const error = dlerror();
    if (g_problem[0] == 0) {
      snprintf(g_problem, sizeof g_problem, "no libcupti: %s", error != nullptr ? error : name);
    }
    return false;
  }
  const char* missing = nullptr;
#define TS_X(name, optional, parameters)                                            \
  g_cupti.name = reinterpret_cast<decltype(g_cupti.name)>(dlsym(g_library, #name)); \
  if (g_cupti.name == nullptr && !(optional)) missing = #name;
  TS_CUPTI_FUNCTIONS(TS_X)
#undef TS_X
  if (missing != nullptr) {
    snprintf(g_problem, sizeof g_problem, "this libcupti has no %s", missing);
    return false;
  }
  (void)g_cupti.cuptiGetVersion(&g_version);
  return enterShared() || enterAlone();
}

/// As the agent, which goes on with the next library where one does not fit the driver.
bool enterAny() {
  if (const char* const named = getenv("TRACESMITH_CUPTI")) return enterWith(named, 0);
  static const char* const kNames[] = {"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8",
                                       "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so"};
  for (const int how : {RTLD_NOLOAD, 0}) {
    for (const char* const name : kNames) {
      if (enterWith(name, how)) return true;
    }
  }
  // Of a program of Python, where nothing else fits.
  const char* const fallback = getenv("TRACESMITH_CUPTI_FALLBACK");
  return fallback != nullptr && enterWith(fallback, 0);
}

void enter() {
  g_pid = getpid();
  g_count = getenv("EMPTY_CONSUMER_COUNT") != nullptr;
  g_pool.open();
  if (!enterAny()) {
    fprintf(stderr, "comparison consumer: %s\n", g_problem);
    return;
  }
  enableCallbacks();
  atexit(atExit);
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, flushAlways, nullptr) == 0) pthread_detach(thread);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  static std::atomic<bool> entered{false};
  if (!entered.exchange(true)) enter();
  return 1;
}
