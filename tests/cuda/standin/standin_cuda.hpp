// SPDX-License-Identifier: Apache-2.0
// The state of the stand-in for libcuda, and how its functions tell a tool of their calls.
#pragma once

#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>

#include "standin.hpp"

namespace standin {

constexpr uint32_t kNullStreamId = 7;
constexpr uint32_t kFirstStreamId = 13;

// What was allocated, and of unified memory where it is.
struct Memory {
  size_t bytes;
  CUpti_ActivityMemoryKind kind;
  CUcontext context;
  CUmemoryPool pool;
  bool is_on_device;
};

struct Driver {
  std::mutex mutex;
  pid_t pid = 0;  // of the process that called cuInit
  std::atomic<bool> is_initialized{false};
  std::vector<CUcontext> primary = std::vector<CUcontext>(standinDevices());
  uint32_t contexts = 0, modules = 0, events = 0, graphs = 0;
  uint64_t nodes = 0, recordings = 0;
  uint32_t streams = kFirstStreamId;
  std::map<uint64_t, Memory> memory;  // by its address
  std::vector<CUmemoryPool> default_pools = std::vector<CUmemoryPool>(standinDevices());
  uint64_t pools = 0;
  const bool lazy_loading = CUDA_VERSION >= 12000 && standinScript("lazy_loading", 0) != 0;
  const uint64_t kernel_ns = standinScript("kernel_ns", 5000);
  const uint64_t long_kernel_ns = standinScript("long_kernel_ns", 50'000'000);
};

// Never destroyed: threads may still call while the process ends.
inline Driver& driver() {
  static Driver& only = *new Driver;
  return only;
}

inline std::atomic<const StandinTool*> attached{nullptr};
inline thread_local CUcontext current_context = nullptr;

// Tells the tool of a call's beginning and end; one that attaches in between hears neither.
class Call {
 public:
  Call(uint32_t cbid, const char* function, const void* params, const char* symbol = nullptr)
      : tool_(attached.load()) {
    call_.cbid = cbid;
    call_.function = function;
    call_.params = params;
    call_.symbol = symbol;
    call_.context = current_context;
    if (tool_ != nullptr) tool_->enter(call_);
  }
  // None: what the driver does by itself.
  Call() : tool_(attached.load()) { call_.context = current_context; }
  CUresult end(CUresult result) {
    call_.result = result;
    call_.context = current_context;
    if (tool_ != nullptr) tool_->exit(call_);
    return result;
  }
  // Whether the call can be made at all, and whether it has a context where it needs one.
  CUresult state(bool needs_context = true) const {
    if (driver().pid != getpid()) return CUDA_ERROR_NOT_INITIALIZED;
    if (!needs_context) return CUDA_SUCCESS;
    if (current_context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return current_context->is_alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  void resource(CUpti_CallbackIdResource what, const StandinResource& resource) const {
    if (tool_ != nullptr) tool_->resource(what, resource);
  }
  void work(StandinWork work) const {
    work.call = &call_;
    if (tool_ != nullptr) tool_->work(work);
  }

 private:
  const StandinTool* tool_;
  StandinCall call_;
};

inline void waitUntil(uint64_t ns) {
  const timespec t{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) != 0) continue;
}

constexpr uint64_t kLaunchNs = 1500;  // from the call to the device

// The current context's null stream stands for none.
CUstream streamOf(CUstream stream);

// Work goes after what its stream has, and after the null stream's; that one's after all others'.
StandinWork place(CUpti_ActivityKind kind, CUstream stream, uint64_t duration_ns);

uint64_t kernelNs(const StandinLaunch& launch);

// When all work of them has ended.
uint64_t readyNs(CUcontext context);
uint64_t readyNs(CUstream stream);

// What memory this is: what is not CUDA's is the host's.
CUpti_ActivityMemoryKind memoryKind(const void* address);

// Physical memory of the virtual memory API that lies on this device.
uint64_t physicalBytes(CUdevice device);

// Unified memory that the context's work will touch comes to its device.
void bringUnifiedMemory(const Call& call, CUstream stream);

// Work for a stream: placed on it and told of or, if it is captured, a node of its graph. Returns
// when it ends.
uint64_t enqueue(const Call& call, CUgraphNode_st node, CUstream stream);

// A node in a graph, and the tool hears of it.
CUgraphNode addNode(const Call& call, CUgraph graph, const CUgraphNode_st& node);

// Does what a copy or a fill does.
void perform(const CUgraphNode_st& node);

CUgraphNode_st kernelNode(const StandinLaunch& launch);

// Waits, and tells of it.
void synchronize(const Call& call, CUpti_ActivitySynchronizationType type, CUstream stream,
                 CUevent event, uint64_t until_ns);

#define CALL(function, ...)              \
  function##_params params{__VA_ARGS__}; \
  Call call(CUPTI_DRIVER_TRACE_CBID_##function, #function, &params)
#define LAUNCH_CALL(function, kernel, ...) \
  function##_params params{__VA_ARGS__};   \
  Call call(CUPTI_DRIVER_TRACE_CBID_##function, #function, &params, (kernel)->name)
#define CHECK_NOT_CAPTURED(stream) \
  if ((stream)->capture != nullptr) return call.end(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
#define CHECK_STATE(...) \
  if (CUresult state = call.state(__VA_ARGS__); state != CUDA_SUCCESS) return call.end(state)

}  // namespace standin
