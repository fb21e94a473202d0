// SPDX-License-Identifier: Apache-2.0
// What the stand-ins for libcuda and libcupti share: CUDA's objects as libcuda keeps them, and what
// it tells libcupti of calls, resources and work. The vendor's two libraries have such an interface
// as well, and do not publish it.
//
// STANDIN_SCRIPT="key=value,..." sets what the device does and what goes wrong:
//   devices=N              how many devices the driver has (1)
//   kernel_ns=N            how long each kernel runs (5000)
//   long_kernel_ns=N       how long a kernel of the name busyWait runs (50000000)
//   late_ms=N              records are complete so long after the work is (0)
//   zero_times=N           every Nth kernel's record has no times
//   drop_every=N           every Nth record is dropped and counted
//   correlation_start=N    the first call's correlation id (1)
//   second_subscriber=1    another tool has subscribed already; 2: one that lets others in
//   whole_graphs=1         that one has graphs reported as wholes
//   per_thread_buffers=N   whether each thread has a buffer of its own (0; CUDA 13: 1)
//   lazy_kinds=1           the kind of a record is written last, with its times
//   deny_kind=N            this kind cannot be enabled for want of privileges
//   deny_all=1             so can no kind
//   no_unified_memory=1    unified memory cannot be recorded
//   virtual_records=1      virtual memory that is created and goes has records of memory
//   lazy_loading=1         functions are loaded when they are launched first (from CUDA 12 on)
//   subscribe_error=N      what subscribing returns instead of letting anybody in
//   late_clock=1           a timestamp callback may be registered after a kind was enabled: the
//                          documentation advises against it, and tools that come second do it
//   incompatible_from=N    a libcupti whose headers have this version or a later one does not fit
//                          the driver: subscribing returns the error for that
//   version_error_from=N   such a libcupti does not even say its version
//   no_driver=1            libcupti finds no driver: subscribing and enabling return 999
//   exit_during_flush=1    the process ends once a flush has handed over its first buffer
// STANDIN_CUPTI_VERSION is what cuptiGetVersion says instead of the headers' version. Below 17
// there are no timestamp callbacks, below 130300 no layouts of records, below 130400 none of those
// callbacks for who shares with others.
#pragma once

#include <cupti.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

// The kernel that takes its time.
constexpr const char* kStandinLongKernel = "busyWait";

constexpr const char* kStandinDeviceName = "Stand-in GPU";
constexpr size_t kStandinMemoryBytes = size_t{80} << 30;
constexpr int kStandinMultiprocessors = 132;
constexpr int kStandinThreadsPerMultiprocessor = 2048;
constexpr int kStandinRegistersPerMultiprocessor = 65'536;
constexpr int kStandinSharedBytesPerMultiprocessor = 233'472;

// A number of the script, or what holds without one.
inline uint64_t standinScript(const char* key, uint64_t otherwise) {
  const char* script = std::getenv("STANDIN_SCRIPT");
  const size_t length = std::strlen(key);
  while (script != nullptr && *script != '\0') {
    if (std::strncmp(script, key, length) == 0 && script[length] == '=') {
      return std::strtoull(script + length + 1, nullptr, 0);
    }
    script = std::strchr(script, ',');
    if (script != nullptr) ++script;
  }
  return otherwise;
}

inline int standinDevices() { return static_cast<int>(standinScript("devices", 1)); }

inline void standinUuid(int device, char* bytes) {
  std::memcpy(bytes, "stand-in device", 16);
  bytes[15] = static_cast<char>(device);
}

// The device's clock.
inline uint64_t standinNow() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

struct CUstream_st {
  uint32_t id;
  CUcontext context;
  unsigned flags;
  bool is_null;
  uint64_t ready_ns;          // when its last work ends
  CUgraph capture = nullptr;  // what it is captured into
};

// A device's primary context is the same object again after it was reset, with another id.
struct CUctx_st {
  uint32_t id;
  CUdevice device;
  std::vector<CUstream> streams;  // the first is the null stream
  bool is_alive;
  uint32_t users;  // of a primary one
};

struct CUevent_st {
  uint32_t id;
  uint64_t record_id;  // of its last recording
  uint64_t at_ns;
  CUgraph capture;  // if it was recorded on a stream that was captured
};

struct CUfunc_st {
  CUmodule module;
  const char* name;  // never freed: records point to it
  std::atomic<bool> is_loaded{false};
};

struct CUmod_st {
  uint32_t id;
  CUcontext context;
  std::vector<CUfunction> functions;
  std::string image;
};

struct StandinLaunch {
  const char* name = nullptr;
  unsigned grid[3] = {}, block[3] = {}, cluster[3] = {}, shared_bytes = 0;
};

struct CUmemPoolHandle_st {
  CUdevice device;
  uint64_t address;  // where it would begin on a device
  uint64_t size, used, release_threshold;
};

struct CUgraphNode_st;

struct CUgraph_st {
  uint32_t id;
  const CUgraph_st* original;
  std::vector<CUgraphNode> nodes;
};

struct CUgraphExec_st {
  uint32_t id;
  CUgraph graph;  // its own clone
};

constexpr size_t kStandinSubscribers = 4;

// One call of a function of libcuda or libcudart.
struct StandinCall {
  CUpti_CallbackDomain domain = CUPTI_CB_DOMAIN_DRIVER_API;
  uint32_t cbid = 0;
  const char* function = nullptr;
  const void* params = nullptr;
  const char* symbol = nullptr;
  CUcontext context = nullptr;
  int result = 0;  // a CUresult, or a cudaError_t
  // libcupti's
  StandinCall* outer = nullptr;  // the call it is made in
  uint32_t correlation = 0;
  uint64_t data[kStandinSubscribers] = {};
  uint64_t start_ns = 0;
};

// One record's worth of work, of waiting or of memory. Times are the device clock's.
struct StandinWork {
  CUpti_ActivityKind kind;
  const StandinCall* call;
  CUstream stream;
  uint64_t start_ns, end_ns;
  StandinLaunch launch;
  uint64_t bytes;
  uint32_t value;  // of fills; of memory: which operation; of unified memory: which counter; of
                   // overhead: which
  uint8_t copy_kind, element_bytes;  // the latter of fills
  bool async;
  CUpti_ActivitySynchronizationType sync;
  CUevent event;
  CUgraphExec exec;
  const CUgraphNode_st* node;
  CUpti_ActivityMemoryKind source_kind, memory_kind;  // the latter also of what is copied to
  uint64_t address;
  CUcontext source, destination;  // of copies between devices
  bool has_pool;
  CUmemPoolHandle_st pool;  // as it is after the operation
};

struct CUgraphNode_st {
  uint64_t id;
  const CUgraphNode_st* original;
  CUgraphNodeType type;
  StandinWork work;  // a kernel, a copy or a fill, and how long it takes
  uint64_t duration_ns;
  void* to;
  const void* from;
};

struct StandinResource {
  CUcontext context;
  CUstream stream;
  CUmodule module;
  const void* image;
  CUgraph graph;
  CUgraphNode node;
  CUgraphExec exec;
};

// libcupti's side. All are called by the thread that made the call, with no lock held.
struct StandinTool {
  void (*enter)(StandinCall&);
  void (*exit)(StandinCall&);
  void (*resource)(CUpti_CallbackIdResource, const StandinResource&);
  void (*work)(const StandinWork&);
};

// libcuda's side.
extern "C" {
void standinAttach(const StandinTool* tool);
const StandinTool* standinAttached();
CUcontext standinCurrentContext();
bool standinIsInitialized();     // whether cuInit has returned
void standinTouch(CUdeviceptr);  // the host reads unified memory
}
