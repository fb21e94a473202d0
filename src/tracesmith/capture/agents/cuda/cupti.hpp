// SPDX-License-Identifier: Apache-2.0
// The part of CUPTI that the agent uses, declared here because the library is found at run time,
// and because its headers describe only one version. Records of all versions from CUDA 11 to 13
// start with the fields below, and the agent reads only these. tests/cuda/programs/layout_check.cpp
// compares them with the vendor's headers.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace tracesmith::agent::cupti {

constexpr int kSuccess = 0;
constexpr int kInvalidParameter = 1;
constexpr int kNoMoreRecords = 12;
constexpr int kNotCompatible = 14;
constexpr int kNotInitialized = 15;
constexpr int kInvalidKind = 21;
constexpr int kNotSupported = 27;
constexpr int kInsufficientPrivileges = 35;
constexpr int kMultipleSubscribers = 39;
constexpr int kUnknownError = 999;

enum Domain : int { kDriverApi = 1, kRuntimeApi = 2, kResource = 3 };
enum Site : int { kEnter = 0, kExit = 1 };

struct CallbackData {
  int site;
  const char* function;
  const void* parameters;
  const void* result;  // int32_t, one of the API's codes
  const char* symbol;  // launches: the kernel
  void* context;
  uint32_t context_id;
  uint64_t* scratch;  // same address at enter and exit of a call
  uint32_t correlation;
};
static_assert(offsetof(CallbackData, scratch) == 56 && offsetof(CallbackData, correlation) == 64);

/// Callbacks of the resource domain.
enum ResourceCallback : uint32_t {
  kInitFinished = 5,
  kModuleLoaded = 6,
  kModuleUnloadStarting = 7,
  kGraphNodeCreated = 13,
  kGraphNodeCloned = 20,
};

struct ResourceData {
  void* context;
  void* stream;
  const void* descriptor;
};

/// Data of callbacks about modules.
struct ModuleData {
  uint32_t id;
  size_t bytes;
  const char* image;
};
static_assert(sizeof(ModuleData) == 24);

/// Data of callbacks about graphs.
struct GraphData {
  void* graph;
  void* original_graph;
  void* node;
  void* original_node;
  int node_type;
  void* dependency;
  void* exec;
};
static_assert(offsetof(GraphData, exec) == 48);

enum Kind : int {
  kMemcpy = 1,
  kMemset = 2,
  kDevice = 8,
  kContext = 9,
  kConcurrentKernel = 10,
  kOverhead = 17,
  kMemcpyPeer = 22,
  kUnifiedMemory = 25,
  kCudaEvent = 36,
  kSynchronization = 38,
  kMemory = 49,
  kMemoryPool = 50,
  kGraphTrace = 51,
  kJit = 52,
};

struct Activity {
  int32_t kind;
};

#pragma pack(push, 8)
struct Kernel {
  int32_t kind;
  uint8_t cache_config[2];
  uint16_t registers;
  uint8_t partitioned[8];
  uint64_t start;
  uint64_t end;
  uint64_t completed;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  int32_t grid[3];
  int32_t block[3];
  int32_t static_shared;
  int32_t dynamic_shared;
  uint32_t local_per_thread;
  uint32_t local_total;
  uint32_t correlation;
  int64_t grid_id;
  const char* name;
  void* reserved;
  uint64_t queued;
  uint64_t submitted;
  uint64_t launch;  // how it was launched, shared memory configuration
  uint64_t graph_node;
  uint32_t shared_executed;
  uint32_t graph;
  // Since CUDA 11.8 (API 18):
  uint64_t unused[2];
  uint32_t cluster[3];
};
static_assert(offsetof(Kernel, start) == 16 && offsetof(Kernel, device) == 40);
static_assert(offsetof(Kernel, static_shared) == 76 && offsetof(Kernel, correlation) == 92);
static_assert(offsetof(Kernel, name) == 104 && offsetof(Kernel, queued) == 120);
static_assert(offsetof(Kernel, graph_node) == 144 && offsetof(Kernel, graph) == 156);
static_assert(offsetof(Kernel, cluster) == 176);

struct Memcpy {
  int32_t kind;
  uint8_t copy_kind;
  uint8_t source_kind;
  uint8_t destination_kind;
  uint8_t flags;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t correlation;
};
static_assert(offsetof(Memcpy, correlation) == 44);

struct MemcpyPeer {
  int32_t kind;
  uint8_t copy_kind;
  uint8_t source_kind;
  uint8_t destination_kind;
  uint8_t flags;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t source_device;
  uint32_t source_context;
  uint32_t destination_device;
  uint32_t destination_context;
  uint32_t correlation;
};
static_assert(offsetof(MemcpyPeer, correlation) == 60);

struct Memset {
  int32_t kind;
  uint32_t value;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t correlation;
};
static_assert(offsetof(Memset, correlation) == 44);

struct Synchronization {
  int32_t kind;
  int32_t type;  // 1 event, 2 stream waits for event, 3 stream, 4 context
  uint64_t start;
  uint64_t end;
  uint32_t correlation;
  uint32_t context;
  uint32_t stream;
  uint32_t event;
  uint64_t event_sync;  // from here on since CUDA 13
};
static_assert(offsetof(Synchronization, event) == 36 &&
              offsetof(Synchronization, event_sync) == 40);

struct CudaEvent {
  int32_t kind;
  uint32_t correlation;
  uint32_t context;
  uint32_t stream;
  uint32_t event;
  uint32_t unused;
  // Since CUDA 13:
  uint32_t device;
  uint32_t unused_more[3];
  uint64_t device_time;
  uint64_t event_sync;
};
static_assert(offsetof(CudaEvent, device) == 24 && offsetof(CudaEvent, event_sync) == 48);

struct Memory {
  int32_t kind;
  int32_t operation;  // 1 allocation, 2 release
  int32_t memory_kind;
  uint32_t correlation;
  uint64_t address;
  uint64_t bytes;
  uint64_t time;
  uint64_t program_counter;
  uint32_t process;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  const char* name;
  uint32_t is_async;
  uint32_t unused;
  uint32_t pool_kind;
  uint32_t unused_more;
  uint64_t pool;
  uint64_t pool_threshold;
  uint64_t pool_bytes;  // pool of another process: that process's id
  uint64_t pool_used;
};
static_assert(offsetof(Memory, stream) == 60 && offsetof(Memory, pool) == 88);
static_assert(offsetof(Memory, pool_used) == 112);

struct MemoryPool {
  int32_t kind;
  int32_t operation;  // 1 creation, 2 destruction, 3 trimming
  int32_t pool_kind;  // 1 of this process, 2 of another
  uint32_t correlation;
  uint32_t process;
  uint32_t device;
  uint64_t kept_bytes;
  uint64_t address;
  uint64_t bytes;
  uint64_t release_threshold;
  uint64_t time;
  uint64_t used;  // since CUDA 11.6
};
static_assert(offsetof(MemoryPool, address) == 32 && offsetof(MemoryPool, used) == 64);

struct UnifiedMemory {
  int32_t kind;
  int32_t counter;
  uint64_t value;
  uint64_t start;
  uint64_t end;
  uint64_t address;
  uint32_t source;
  uint32_t destination;
  uint32_t stream;
  uint32_t process;
};
static_assert(offsetof(UnifiedMemory, process) == 52);

struct UnifiedMemoryConfig {
  int32_t scope;
  int32_t counter;
  uint32_t device;
  uint32_t enable;
};
constexpr int32_t kAllDevices = 2;

struct Jit {
  int32_t kind;
  int32_t entry;      // 1 PTX to cubin, 2 NVVM IR to PTX
  int32_t operation;  // 1 cache load, 2 cache store, 3 compile
  uint32_t device;
  uint64_t start;
  uint64_t end;
  uint32_t correlation;
};
static_assert(offsetof(Jit, correlation) == 32);

struct Overhead {
  int32_t kind;
  int32_t overhead;
  int32_t object_kind;
  uint32_t object[3];
  uint64_t start;
  uint64_t end;
  // Since CUDA 12.4:
  uint32_t correlation;
  uint32_t unused;
  void* data;  // allocated with malloc(); the receiver of the record frees it
};
static_assert(offsetof(Overhead, start) == 24 && offsetof(Overhead, correlation) == 40);
static_assert(offsetof(Overhead, data) == 48);

/// A launch of a graph that is traced as a whole.
struct GraphTrace {
  int32_t kind;
  uint32_t correlation;
  uint64_t start;
  uint64_t end;
  uint32_t device;
  uint32_t graph;
  uint32_t context;
  uint32_t stream;
};
static_assert(offsetof(GraphTrace, device) == 24 && offsetof(GraphTrace, stream) == 36);

/// The first CUPTI API version with Overhead::data.
constexpr uint32_t kFirstWithOverheadData = 22;
/// The first version in which the name of a Device record is allocated with malloc() for the
/// receiver of the record. Before, all records of a device shared one name.
constexpr uint32_t kFirstWithOwnedNames = 130000;

struct Device {
  int32_t kind;
  uint32_t flags;
  uint64_t memory_bandwidth;
  uint64_t memory_bytes;
  uint32_t constant_bytes;
  uint32_t l2_bytes;
  uint32_t warp_size;
  uint32_t core_clock_khz;
  uint32_t copy_engines;
  uint32_t multiprocessors;
  uint32_t most_instructions_per_cycle;
  uint32_t warps_per_multiprocessor;
  uint32_t blocks_per_multiprocessor;
  uint32_t shared_bytes_per_multiprocessor;
  uint32_t registers_per_multiprocessor;
  uint32_t registers_per_block;
  uint32_t shared_bytes_per_block;
  uint32_t threads_per_block;
  uint32_t unused_more[6];
  uint32_t compute_major;
  uint32_t compute_minor;
  uint32_t id;
  uint32_t ecc;
  uint8_t uuid[16];
  const char* name;
};
static_assert(offsetof(Device, threads_per_block) == 76 && offsetof(Device, compute_major) == 104);
static_assert(offsetof(Device, id) == 112 && offsetof(Device, name) == 136);

struct Context {
  int32_t kind;
  uint32_t id;
  uint32_t device;
  uint16_t api;
  uint16_t null_stream;
};
static_assert(offsetof(Context, null_stream) == 14);
#pragma pack(pop)

using Callback = void (*)(void* user, int domain, uint32_t number, const void* data);
using RequestBuffer = void (*)(uint8_t** buffer, size_t* size, size_t* most_records);
using BufferDone = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t size,
                            size_t valid);

/// Parameters of cuptiSubscribe_v2 (CUDA 13).
struct SubscriberParams {
  size_t size;
  const char* name;
  char* other_name;  // name of the other subscriber
  size_t other_name_bytes;
  // Since CUDA 13.2:
  uint8_t allows_others;
  uint8_t unused[7];
};
constexpr size_t kSubscriberParamsAlone = offsetof(SubscriberParams, allows_others);
constexpr size_t kOtherNameBytes = 64;
using Subscribe2 = int (*)(void**, Callback, void*, SubscriberParams*);

constexpr int kAttributeZeroedBuffer = 5;

// Function name, whether the agent can work without it, return type and parameters.
#define TS_CUPTI_FUNCTIONS(X)                                                           \
  X(cuptiGetVersion, false, (uint32_t*))                                                \
  X(cuptiSubscribe, false, (void**, Callback, void*))                                   \
  X(cuptiUnsubscribe, true, (void*))                                                    \
  X(cuptiEnableCallback, false, (uint32_t, void*, int, uint32_t))                       \
  X(cuptiEnableDomain, true, (uint32_t, void*, int))                                    \
  X(cuptiGetCallbackName, false, (int, uint32_t, const char**))                         \
  X(cuptiActivityRegisterCallbacks, false, (RequestBuffer, BufferDone))                 \
  X(cuptiActivityEnable, false, (int))                                                  \
  X(cuptiActivityDisable, true, (int))                                                  \
  X(cuptiActivityFlushAll, false, (uint32_t))                                           \
  X(cuptiActivityGetNextRecord, false, (uint8_t*, size_t, Activity**))                  \
  X(cuptiActivityGetNumDroppedRecords, true, (void*, uint32_t, size_t*))                \
  X(cuptiActivityRegisterTimestampCallback, true, (uint64_t(*)()))                      \
  X(cuptiActivityEnableLatencyTimestamps, true, (uint8_t))                              \
  X(cuptiGetTimestamp, true, (uint64_t*))                                               \
  X(cuptiActivityConfigureUnifiedMemoryCounter, true, (UnifiedMemoryConfig*, uint32_t)) \
  X(cuptiGetGraphNodeId, true, (void*, uint64_t*))                                      \
  X(cuptiGetContextId, true, (void*, uint32_t*))                                        \
  X(cuptiGetResultString, true, (int, const char**))

struct Functions {
#define TS_X(name, optional, parameters) int(*name) parameters = nullptr;
  TS_CUPTI_FUNCTIONS(TS_X)
#undef TS_X
};

}  // namespace tracesmith::agent::cupti
