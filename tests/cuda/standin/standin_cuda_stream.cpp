// SPDX-License-Identifier: Apache-2.0
// The timeline of the stand-in for libcuda: streams, events, launches and what waits for them.
#include <algorithm>

#include "standin_cuda.hpp"

namespace standin {

CUstream streamOf(CUstream stream) {
  const bool is_null = stream == nullptr || stream == CU_STREAM_LEGACY;
  return is_null ? current_context->streams.front() : stream;
}

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

uint64_t kernelNs(const StandinLaunch& launch) {
  const bool is_long = std::strcmp(launch.name, kStandinLongKernel) == 0;
  return is_long ? driver().long_kernel_ns : driver().kernel_ns;
}

CUgraphNode_st kernelNode(const StandinLaunch& launch) {
  CUgraphNode_st node{};
  node.type = CU_GRAPH_NODE_TYPE_KERNEL;
  node.work.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  node.work.launch = launch;
  node.duration_ns = kernelNs(launch);
  return node;
}

uint64_t enqueue(const Call& call, CUgraphNode_st node, CUstream stream) {
  stream = streamOf(stream);
  if (stream->capture != nullptr) {
    addNode(call, stream->capture, node);
    return 0;
  }
  if (node.type == CU_GRAPH_NODE_TYPE_KERNEL) bringUnifiedMemory(call, stream);
  const StandinWork placed = place(node.work.kind, stream, node.duration_ns);
  node.work.stream = stream;
  node.work.start_ns = placed.start_ns;
  node.work.end_ns = placed.end_ns;
  perform(node);
  call.work(node.work);
  return placed.end_ns;
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

}  // namespace standin

using namespace standin;

namespace {

void loadLazily(const Call& call, CUfunction f) {
#if CUDA_VERSION >= 12000
  if (!driver().lazy_loading || f->is_loaded.exchange(true)) return;
  const uint64_t start = standinNow();
  waitUntil(start + 100'000);
  call.work({.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
             .start_ns = start,
             .end_ns = standinNow(),
             .value = CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING});
#else
  (void)call, (void)f;
#endif
}

CUresult launch(Call& call, CUfunction f, const StandinLaunch& launch, CUstream stream) {
  CHECK_STATE();
  loadLazily(call, f);
  if (launch.grid[0] * launch.grid[1] * launch.grid[2] == 0 ||
      launch.block[0] * launch.block[1] * launch.block[2] == 0) {
    return call.end(CUDA_ERROR_INVALID_VALUE);
  }
  enqueue(call, kernelNode(launch), stream);
  return call.end(CUDA_SUCCESS);
}

}  // namespace

extern "C" {

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
  CHECK_NOT_CAPTURED(stream);
  synchronize(call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, stream, nullptr,
              readyNs(stream));
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  CALL(cuStreamWaitEvent, stream, event, flags);
  CHECK_STATE();
  stream = streamOf(stream);
  if (event->capture != nullptr) {  // the stream joins the capture
    stream->capture = event->capture;
    return call.end(CUDA_SUCCESS);
  }
  {
    const std::lock_guard lock(driver().mutex);
    stream->ready_ns = std::max(stream->ready_ns, event->at_ns);
  }
  synchronize(call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, stream, event, 0);
  return call.end(CUDA_SUCCESS);
}

// Memory operations of streams: a device without a timeline of memory does them at once.
#if CUDA_VERSION >= 12000
#define MEMORY_OPERATION(function, ...) CALL(function##_v2, __VA_ARGS__)
#else
#define MEMORY_OPERATION(function, ...) CALL(function, __VA_ARGS__)
#endif
CUresult CUDAAPI cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                      unsigned flags) {
  MEMORY_OPERATION(cuStreamWriteValue32, stream, address, value, flags);
  CHECK_STATE();
  *reinterpret_cast<cuuint32_t*>(address) = value;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                      unsigned flags) {
  MEMORY_OPERATION(cuStreamWriteValue64, stream, address, value, flags);
  CHECK_STATE();
  *reinterpret_cast<cuuint64_t*>(address) = value;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                     unsigned flags) {
  MEMORY_OPERATION(cuStreamWaitValue32, stream, address, value, flags);
  CHECK_STATE();
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                     unsigned flags) {
  MEMORY_OPERATION(cuStreamWaitValue64, stream, address, value, flags);
  CHECK_STATE();
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamBatchMemOp(CUstream stream, unsigned count,
                                    CUstreamBatchMemOpParams* operations, unsigned flags) {
  MEMORY_OPERATION(cuStreamBatchMemOp, stream, count, operations, flags);
  CHECK_STATE();
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
  *event = new CUevent_st{++driver().events, 0, 0, nullptr};
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
    event->capture = stream->capture;
  }
  if (event->capture != nullptr) return call.end(CUDA_SUCCESS);
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
  return launch(call, f,
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
  return launch(call, f, how, config->hStream);
}

}  // extern "C"
