// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 without a device: memory is the host's, copies and fills are made, kernels are not
// run, but take their time on a timeline for each stream. As the vendor's, it loads what
// CUDA_INJECTION64_PATH names within cuInit, and is of no use in a forked child.
#include <dlfcn.h>

#include <algorithm>

#include "standin_cuda.hpp"

using namespace standin;

namespace {

constexpr uint64_t kLaunchNs = 1500;  // from the call to the device
constexpr uint64_t kCopyNs = 1000;    // and a nanosecond for each ten bytes
CUstream streamOf(CUstream stream) {
  return stream != nullptr ? stream : current_context->streams.front();
}

// Work goes after what its stream has, and after the null stream's; that one's after all others'.
StandinWork place(CUpti_ActivityKind kind, CUstream stream, uint64_t duration_ns) {
  stream = streamOf(stream);
  const std::lock_guard lock(driver().mutex);
  uint64_t start = std::max(standinNow() + kLaunchNs, stream->ready_ns);
  for (CUstream other : stream->context->streams) {
    const bool blocking = ((other->flags | stream->flags) & CU_STREAM_NON_BLOCKING) == 0;
    if (blocking && (stream->is_null || other->is_null)) start = std::max(start, other->ready_ns);
  }
  stream->ready_ns = start + duration_ns;
  return {.kind = kind, .stream = stream, .start_ns = start, .end_ns = stream->ready_ns};
}

uint64_t readyNs(CUcontext context) {
  const std::lock_guard lock(driver().mutex);
  uint64_t last = 0;
  for (CUstream stream : context->streams) last = std::max(last, stream->ready_ns);
  return last;
}

uint64_t readyNs(CUstream stream) {
  const std::lock_guard lock(driver().mutex);
  return stream->ready_ns;
}

// Waits, and tells of it.
void synchronize(const Call& call, CUpti_ActivitySynchronizationType type, CUstream stream,
                 CUevent event, uint64_t until_ns) {
  const uint64_t start = standinNow();
  waitUntil(until_ns);
  call.work({.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
             .stream = stream,
             .start_ns = start,
             .end_ns = standinNow(),
             .sync = type,
             .event = event});
}

CUresult launch(Call& call, const StandinLaunch& launch, CUstream stream) {
  CHECK_STATE();
  if (launch.grid[0] * launch.grid[1] * launch.grid[2] == 0 ||
      launch.block[0] * launch.block[1] * launch.block[2] == 0) {
    return call.end(CUDA_ERROR_INVALID_VALUE);
  }
  StandinWork work = place(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, stream, driver().kernel_ns);
  work.launch = launch;
  call.work(work);
  return call.end(CUDA_SUCCESS);
}

CUresult copy(Call& call, CUpti_ActivityMemcpyKind kind, void* to, const void* from, size_t bytes,
              CUstream stream, bool async) {
  CHECK_STATE();
  if (to == nullptr || from == nullptr) return call.end(CUDA_ERROR_INVALID_VALUE);
  StandinWork work = place(CUPTI_ACTIVITY_KIND_MEMCPY, stream, kCopyNs + bytes / 10);
  work.bytes = bytes;
  work.copy_kind = kind;
  work.async = async;
  std::memmove(to, from, bytes);
  call.work(work);
  if (!async) waitUntil(work.end_ns);
  return call.end(CUDA_SUCCESS);
}

template <typename Value>
CUresult fill(Call& call, CUdeviceptr to, Value value, size_t count, CUstream stream, bool async) {
  CHECK_STATE();
  if (to == 0) return call.end(CUDA_ERROR_INVALID_VALUE);
  StandinWork work =
      place(CUPTI_ACTIVITY_KIND_MEMSET, stream, kCopyNs + count * sizeof(Value) / 10);
  work.bytes = count * sizeof(Value);
  work.value = value;
  work.async = async;
  std::fill_n(reinterpret_cast<Value*>(to), count, value);
  call.work(work);
  return call.end(CUDA_SUCCESS);
}

CUcontext createContext(const Call& call, CUdevice device) {
  auto* context = new CUctx_st{};
  {
    const std::lock_guard lock(driver().mutex);
    context->id = ++driver().contexts;
    context->device = device;
    context->streams.push_back(new CUstream_st{kNullStreamId, context, 0, true, 0});
  }
  call.resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, {.context = context});
  return context;
}

CUresult createContext(Call& call, CUcontext* context, CUdevice device) {
  CHECK_STATE(false);
  if (context == nullptr) return call.end(CUDA_ERROR_INVALID_VALUE);
  if (device != 0) return call.end(CUDA_ERROR_INVALID_DEVICE);
  *context = current_context = createContext(call, device);
  return call.end(CUDA_SUCCESS);
}

CUresult instantiate(Call& call, CUgraphExec* exec, CUgraph graph) {
  CHECK_STATE();
  auto* clone = new CUgraph_st{0, graph, {}};
  {
    const std::lock_guard lock(driver().mutex);
    clone->id = ++driver().graphs;
    for (CUgraphNode node : graph->nodes) {
      clone->nodes.push_back(new CUgraphNode_st{++driver().nodes, node, node->launch});
    }
    *exec = new CUgraphExec_st{++driver().graphs, clone};
  }
  call.resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, {.graph = graph});
  call.resource(CUPTI_CBID_RESOURCE_GRAPH_CLONED, {.graph = clone});
  for (CUgraphNode node : clone->nodes) {
    call.resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, {.graph = clone, .node = node});
  }
  call.resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, {.graph = graph, .exec = *exec});
  return call.end(CUDA_SUCCESS);
}

// A library that cannot be loaded is not missed.
void inject() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  void* library = path != nullptr ? dlopen(path, RTLD_NOW) : nullptr;
  if (library == nullptr) return;
  const auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (initialize != nullptr) initialize();
}

}  // namespace

extern "C" {

void standinAttach(const StandinTool* tool) { attached.store(tool); }
CUcontext standinCurrentContext() { return current_context; }

CUresult CUDAAPI cuInit(unsigned flags) {
  CALL(cuInit, flags);
  static std::once_flag once;
  std::call_once(once, [] {
    driver().pid = getpid();
    inject();
    const StandinTool* tool = attached.load();
    if (tool != nullptr) tool->resource(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, {});
  });
  return call.end(call.state(false));
}

CUresult CUDAAPI cuDriverGetVersion(int* version) {
  CALL(cuDriverGetVersion, version);
  *version = CUDA_VERSION;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetCount(int* count) {
  CALL(cuDeviceGetCount, count);
  CHECK_STATE(false);
  *count = 1;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  CALL(cuDeviceGet, device, ordinal);
  CHECK_STATE(false);
  *device = ordinal;
  return call.end(ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE);
}

CUresult CUDAAPI cuDeviceGetName(char* name, int length, CUdevice device) {
  CALL(cuDeviceGetName, name, length, device);
  CHECK_STATE(false);
  std::strncpy(name, kStandinDeviceName, static_cast<size_t>(length));
  if (length > 0) name[length - 1] = '\0';
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  CALL(cuDeviceGetAttribute, value, attribute, device);
  CHECK_STATE(false);
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      *value = 32;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = kStandinMultiprocessors;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = 1024;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      break;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      *value = 0x17;
      break;
    default:
      *value = 0;
      break;
  }
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  CALL(cuDeviceTotalMem_v2, bytes, device);
  CHECK_STATE(false);
  *bytes = kStandinMemoryBytes;
  return call.end(CUDA_SUCCESS);
}

// The driver has both of them, whichever its header means.
#undef cuDeviceGetUuid
CUresult CUDAAPI cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  CALL(cuDeviceGetUuid, uuid, device);
  CHECK_STATE(false);
  std::memcpy(uuid->bytes, "stand-in device", sizeof uuid->bytes);
  return call.end(CUDA_SUCCESS);
}
CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  CALL(cuDeviceGetUuid_v2, uuid, device);
  CHECK_STATE(false);
  std::memcpy(uuid->bytes, "stand-in device", sizeof uuid->bytes);
  return call.end(CUDA_SUCCESS);
}

#if CUDA_VERSION >= 13000
CUresult CUDAAPI cuCtxCreate(CUcontext* context, CUctxCreateParams* how, unsigned flags,
                             CUdevice device) {
  CALL(cuCtxCreate_v4, context, how, flags, device);
  return createContext(call, context, device);
}
#else
CUresult CUDAAPI cuCtxCreate(CUcontext* context, unsigned flags, CUdevice device) {
  CALL(cuCtxCreate_v2, context, flags, device);
  return createContext(call, context, device);
}
#endif

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  CALL(cuDevicePrimaryCtxRetain, context, device);
  CHECK_STATE(false);
  if (device != 0) return call.end(CUDA_ERROR_INVALID_DEVICE);
  static std::once_flag once;
  std::call_once(once, [&] { driver().primary = createContext(call, device); });
  *context = driver().primary;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
  CALL(cuCtxSetCurrent, context);
  CHECK_STATE(false);
  current_context = context;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext* context) {
  CALL(cuCtxGetCurrent, context);
  CHECK_STATE(false);
  *context = current_context;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) {
  CALL(cuCtxGetDevice, device);
  CHECK_STATE();
  *device = current_context->device;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSynchronize() {
  Call call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, "cuCtxSynchronize", nullptr);
  CHECK_STATE();
  synchronize(call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, nullptr, nullptr,
              readyNs(current_context));
  return call.end(CUDA_SUCCESS);
}

// Objects stay, for records may still speak of them.
CUresult CUDAAPI cuCtxDestroy(CUcontext context) {
  CALL(cuCtxDestroy_v2, context);
  CHECK_STATE(false);
  if (context == nullptr) return call.end(CUDA_ERROR_INVALID_CONTEXT);
  waitUntil(readyNs(context));
  call.resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, {.context = context});
  if (current_context == context) current_context = nullptr;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void* image) {
  CALL(cuModuleLoadData, module, image);
  CHECK_STATE();
  if (image == nullptr) return call.end(CUDA_ERROR_INVALID_VALUE);
  {
    const std::lock_guard lock(driver().mutex);
    *module = new CUmod_st{++driver().modules, current_context, {}};
  }
  call.resource(CUPTI_CBID_RESOURCE_MODULE_LOADED,
                {.context = current_context, .module = *module, .image = image});
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleUnload(CUmodule module) {
  CALL(cuModuleUnload, module);
  CHECK_STATE();
  call.resource(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
                {.context = current_context, .module = module});
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  CALL(cuModuleGetFunction, function, module, name);
  CHECK_STATE();
  const std::lock_guard lock(driver().mutex);
  auto& known = module->functions;
  auto at = std::find_if(known.begin(), known.end(),
                         [&](CUfunction f) { return std::strcmp(f->name, name) == 0; });
  if (at == known.end()) at = known.insert(at, new CUfunc_st{module, strdup(name)});
  *function = *at;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamCreate(CUstream* stream, unsigned flags) {
  CALL(cuStreamCreate, stream, flags);
  CHECK_STATE();
  {
    const std::lock_guard lock(driver().mutex);
    *stream = new CUstream_st{driver().streams++, current_context, flags, false, 0};
    current_context->streams.push_back(*stream);
  }
  call.resource(CUPTI_CBID_RESOURCE_STREAM_CREATED,
                {.context = current_context, .stream = *stream});
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream) {
  CALL(cuStreamSynchronize, stream);
  CHECK_STATE();
  stream = streamOf(stream);
  synchronize(call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, stream, nullptr,
              readyNs(stream));
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  CALL(cuStreamWaitEvent, stream, event, flags);
  CHECK_STATE();
  stream = streamOf(stream);
  {
    const std::lock_guard lock(driver().mutex);
    stream->ready_ns = std::max(stream->ready_ns, event->at_ns);
  }
  synchronize(call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, stream, event, 0);
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream) {
  CALL(cuStreamDestroy_v2, stream);
  CHECK_STATE();
  if (stream == nullptr) return call.end(CUDA_ERROR_INVALID_HANDLE);
  call.resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
                {.context = stream->context, .stream = stream});
  {
    const std::lock_guard lock(driver().mutex);
    std::erase(stream->context->streams, stream);
  }
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuEventCreate(CUevent* event, unsigned flags) {
  CALL(cuEventCreate, event, flags);
  CHECK_STATE();
  const std::lock_guard lock(driver().mutex);
  *event = new CUevent_st{++driver().events, 0, 0};
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream) {
  CALL(cuEventRecord, event, stream);
  CHECK_STATE();
  stream = streamOf(stream);
  {
    const std::lock_guard lock(driver().mutex);
    event->at_ns = std::max(stream->ready_ns, standinNow());
    event->record_id = ++driver().recordings;
  }
  call.work({.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT, .stream = stream, .event = event});
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuEventSynchronize(CUevent event) {
  CALL(cuEventSynchronize, event);
  CHECK_STATE();
  synchronize(call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, nullptr, event,
              event->at_ns);
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuEventDestroy(CUevent event) {
  CALL(cuEventDestroy_v2, event);
  CHECK_STATE();
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                unsigned block_x, unsigned block_y, unsigned block_z,
                                unsigned shared_bytes, CUstream stream, void** arguments,
                                void** extra) {
  LAUNCH_CALL(cuLaunchKernel, f, f, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
              stream, arguments, extra);
  return launch(call,
                {.name = f->name,
                 .grid = {grid_x, grid_y, grid_z},
                 .block = {block_x, block_y, block_z},
                 .shared_bytes = shared_bytes},
                stream);
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** arguments,
                                  void** extra) {
  LAUNCH_CALL(cuLaunchKernelEx, f, config, f, arguments, extra);
  StandinLaunch how{.name = f->name,
                    .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                    .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                    .shared_bytes = config->sharedMemBytes};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    how.cluster[0] = config->attrs[i].value.clusterDim.x;
    how.cluster[1] = config->attrs[i].value.clusterDim.y;
    how.cluster[2] = config->attrs[i].value.clusterDim.z;
  }
  return launch(call, how, config->hStream);
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr* pointer, size_t bytes) {
  CALL(cuMemAlloc_v2, pointer, bytes);
  CHECK_STATE();
  void* memory = nullptr;
  if (bytes == 0) return call.end(CUDA_ERROR_INVALID_VALUE);
  if (posix_memalign(&memory, 512, bytes) != 0) return call.end(CUDA_ERROR_OUT_OF_MEMORY);
  *pointer = reinterpret_cast<CUdeviceptr>(memory);
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemFree(CUdeviceptr pointer) {
  CALL(cuMemFree_v2, pointer);
  CHECK_STATE();
  waitUntil(readyNs(current_context));
  std::free(reinterpret_cast<void*>(pointer));
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  CALL(cuMemcpyHtoD_v2, to, from, bytes);
  return copy(call, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, reinterpret_cast<void*>(to), from, bytes,
              nullptr, false);
}

CUresult CUDAAPI cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  CALL(cuMemcpyDtoH_v2, to, from, bytes);
  return copy(call, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, to, reinterpret_cast<void*>(from), bytes,
              nullptr, false);
}

CUresult CUDAAPI cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  CALL(cuMemcpyDtoD_v2, to, from, bytes);
  return copy(call, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, reinterpret_cast<void*>(to),
              reinterpret_cast<void*>(from), bytes, nullptr, false);
}

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes,
                                   CUstream stream) {
  CALL(cuMemcpyHtoDAsync_v2, to, from, bytes, stream);
  return copy(call, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, reinterpret_cast<void*>(to), from, bytes,
              stream, true);
}

CUresult CUDAAPI cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  CALL(cuMemcpyDtoHAsync_v2, to, from, bytes, stream);
  return copy(call, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, to, reinterpret_cast<void*>(from), bytes,
              stream, true);
}

CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                   CUstream stream) {
  CALL(cuMemcpyDtoDAsync_v2, to, from, bytes, stream);
  return copy(call, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, reinterpret_cast<void*>(to),
              reinterpret_cast<void*>(from), bytes, stream, true);
}

CUresult CUDAAPI cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  CALL(cuMemsetD8_v2, to, value, count);
  return fill(call, to, value, count, nullptr, false);
}

CUresult CUDAAPI cuMemsetD32(CUdeviceptr to, unsigned value, size_t count) {
  CALL(cuMemsetD32_v2, to, value, count);
  return fill(call, to, value, count, nullptr, false);
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                                 CUstream stream) {
  CALL(cuMemsetD8Async, to, value, count, stream);
  return fill(call, to, value, count, stream, true);
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  CALL(cuMemsetD32Async, to, value, count, stream);
  return fill(call, to, value, count, stream, true);
}

CUresult CUDAAPI cuGraphCreate(CUgraph* graph, unsigned flags) {
  CALL(cuGraphCreate, graph, flags);
  CHECK_STATE();
  {
    const std::lock_guard lock(driver().mutex);
    *graph = new CUgraph_st{++driver().graphs, nullptr, {}};
  }
  call.resource(CUPTI_CBID_RESOURCE_GRAPH_CREATED, {.graph = *graph});
  return call.end(CUDA_SUCCESS);
}

// Dependencies are not kept: one node after the other is an order that any of them allow.
CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph,
                                      const CUgraphNode* dependencies, size_t count,
                                      const CUDA_KERNEL_NODE_PARAMS* how) {
#if CUDA_VERSION >= 12000
  CALL(cuGraphAddKernelNode_v2, node, graph, dependencies, count, how);
#else
  CALL(cuGraphAddKernelNode, node, graph, dependencies, count, how);
#endif
  CHECK_STATE();
  {
    const std::lock_guard lock(driver().mutex);
    *node = new CUgraphNode_st{++driver().nodes,
                               nullptr,
                               {.name = how->func->name,
                                .grid = {how->gridDimX, how->gridDimY, how->gridDimZ},
                                .block = {how->blockDimX, how->blockDimY, how->blockDimZ},
                                .shared_bytes = how->sharedMemBytes}};
    graph->nodes.push_back(*node);
  }
  call.resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, {.graph = graph, .node = *node});
  return call.end(CUDA_SUCCESS);
}

#if CUDA_VERSION >= 12000
CUresult CUDAAPI cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  CALL(cuGraphInstantiateWithFlags, exec, graph, flags);
  return instantiate(call, exec, graph);
}
#else
CUresult CUDAAPI cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node,
                                    char* log, size_t log_bytes) {
  CALL(cuGraphInstantiate_v2, exec, graph, error_node, log, log_bytes);
  return instantiate(call, exec, graph);
}
#endif

// Tells of the whole and of each node; what is enabled decides which of them is recorded.
CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  CALL(cuGraphLaunch, exec, stream);
  CHECK_STATE();
  StandinWork whole = place(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, stream, 0);
  whole.exec = exec;
  for (CUgraphNode node : exec->graph->nodes) {
    StandinWork work = place(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, stream, driver().kernel_ns);
    work.launch = node->launch;
    work.exec = exec;
    work.node = node;
    call.work(work);
    if (node == exec->graph->nodes.front()) whole.start_ns = work.start_ns;
    whole.end_ns = work.end_ns;
  }
  call.work(whole);
  return call.end(CUDA_SUCCESS);
}

}  // extern "C"
