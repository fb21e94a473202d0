// SPDX-License-Identifier: Apache-2.0
// Memory, streams, events and graphs of the stand-in for libcudart.
#include "standin_cudart.hpp"

using namespace standin;

namespace {

CUdeviceptr at(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// As the vendor's: a copy whose direction is said is the driver's function for it.
CUresult copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return DRIVER(cuMemcpyHtoD)(at(to), from, bytes);
    case cudaMemcpyDeviceToHost:
      return DRIVER(cuMemcpyDtoH)(to, at(from), bytes);
    case cudaMemcpyDeviceToDevice:
      return DRIVER(cuMemcpyDtoD)(at(to), at(from), bytes);
    default:
      return DRIVER(cuMemcpy)(at(to), at(from), bytes);
  }
}

CUresult copyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, CUstream on) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return DRIVER(cuMemcpyHtoDAsync)(at(to), from, bytes, on);
    case cudaMemcpyDeviceToHost:
      return DRIVER(cuMemcpyDtoHAsync)(to, at(from), bytes, on);
    case cudaMemcpyDeviceToDevice:
      return DRIVER(cuMemcpyDtoDAsync)(at(to), at(from), bytes, on);
    default:
      return DRIVER(cuMemcpyAsync)(at(to), at(from), bytes, on);
  }
}

}  // namespace

extern "C" {

cudaError_t CUDARTAPI cudaMalloc(void** pointer, size_t bytes) {
  CALL(cudaMalloc, _v3020, pointer, bytes);
  CHECK_READY();
  return call.end(DRIVER(cuMemAlloc)(reinterpret_cast<CUdeviceptr*>(pointer), bytes));
}

cudaError_t CUDARTAPI cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  CALL(cudaMallocManaged, _v6000, pointer, bytes, flags);
  CHECK_READY();
  return call.end(DRIVER(cuMemAllocManaged)(reinterpret_cast<CUdeviceptr*>(pointer), bytes, flags));
}

cudaError_t CUDARTAPI cudaMallocHost(void** pointer, size_t bytes) {
  CALL(cudaMallocHost, _v3020, pointer, bytes);
  CHECK_READY();
  return call.end(DRIVER(cuMemHostAlloc)(pointer, bytes, 0));
}

cudaError_t CUDARTAPI cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  CALL(cudaMallocAsync, _v11020, pointer, bytes, stream);
  CHECK_READY();
  return call.end(DRIVER(cuMemAllocAsync)(reinterpret_cast<CUdeviceptr*>(pointer), bytes, stream));
}

cudaError_t CUDARTAPI cudaFree(void* pointer) {
  CALL(cudaFree, _v3020, pointer);
  CHECK_READY();
  return call.end(pointer != nullptr ? DRIVER(cuMemFree)(at(pointer)) : CUDA_SUCCESS);
}

cudaError_t CUDARTAPI cudaFreeHost(void* pointer) {
  CALL(cudaFreeHost, _v3020, pointer);
  CHECK_READY();
  return call.end(DRIVER(cuMemFreeHost)(pointer));
}

cudaError_t CUDARTAPI cudaFreeAsync(void* pointer, cudaStream_t stream) {
  CALL(cudaFreeAsync, _v11020, pointer, stream);
  CHECK_READY();
  return call.end(DRIVER(cuMemFreeAsync)(at(pointer), stream));
}

cudaError_t CUDARTAPI cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  CALL(cudaMemcpy, _v3020, to, from, bytes, kind);
  CHECK_READY();
  return call.end(copy(to, from, bytes, kind));
}

cudaError_t CUDARTAPI cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  CALL(cudaMemcpyAsync, _v3020, to, from, bytes, kind, stream);
  CHECK_READY();
  return call.end(copyAsync(to, from, bytes, kind, stream));
}

cudaError_t CUDARTAPI cudaMemset(void* to, int value, size_t bytes) {
  CALL(cudaMemset, _v3020, to, value, bytes);
  CHECK_READY();
  return call.end(DRIVER(cuMemsetD8)(at(to), static_cast<unsigned char>(value), bytes));
}

cudaError_t CUDARTAPI cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  CALL(cudaMemsetAsync, _v3020, to, value, bytes, stream);
  CHECK_READY();
  return call.end(
      DRIVER(cuMemsetD8Async)(at(to), static_cast<unsigned char>(value), bytes, stream));
}

cudaError_t CUDARTAPI cudaStreamCreate(cudaStream_t* stream) {
  CALL(cudaStreamCreate, _v3020, stream);
  CHECK_READY();
  return call.end(DRIVER(cuStreamCreate)(stream, CU_STREAM_DEFAULT));
}

cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  CALL(cudaStreamCreateWithFlags, _v5000, stream, flags);
  CHECK_READY();
  return call.end(DRIVER(cuStreamCreate)(stream, flags));
}

cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t stream) {
  CALL(cudaStreamDestroy, _v5050, stream);
  CHECK_READY();
  return call.end(DRIVER(cuStreamDestroy)(stream));
}

cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t stream) {
  CALL(cudaStreamSynchronize, _v3020, stream);
  CHECK_READY();
  return call.end(DRIVER(cuStreamSynchronize)(stream));
}

cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  CALL(cudaStreamWaitEvent, _v3020, stream, event, flags);
  CHECK_READY();
  return call.end(DRIVER(cuStreamWaitEvent)(stream, event, flags));
}

cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  CALL(cudaStreamBeginCapture, _v10000, stream, mode);
  CHECK_READY();
  return call.end(DRIVER(cuStreamBeginCapture)(stream, static_cast<CUstreamCaptureMode>(mode)));
}

cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  CALL(cudaStreamEndCapture, _v10000, stream, graph);
  CHECK_READY();
  return call.end(DRIVER(cuStreamEndCapture)(stream, graph));
}

cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t* event) {
  CALL(cudaEventCreate, _v3020, event);
  CHECK_READY();
  return call.end(DRIVER(cuEventCreate)(event, CU_EVENT_DEFAULT));
}

cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  CALL(cudaEventCreateWithFlags, _v3020, event, flags);
  CHECK_READY();
  return call.end(DRIVER(cuEventCreate)(event, flags));
}

cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  CALL(cudaEventRecord, _v3020, event, stream);
  CHECK_READY();
  return call.end(DRIVER(cuEventRecord)(event, stream));
}

cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t event) {
  CALL(cudaEventSynchronize, _v3020, event);
  CHECK_READY();
  return call.end(DRIVER(cuEventSynchronize)(event));
}

#if CUDART_VERSION >= 12000
cudaError_t CUDARTAPI cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                           unsigned long long flags) {
  CALL(cudaGraphInstantiate, _v12000, exec, graph, flags);
  CHECK_READY();
  return call.end(DRIVER(cuGraphInstantiate)(exec, graph, flags));
}
#else
cudaError_t CUDARTAPI cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                           cudaGraphNode_t* error_node, char* log,
                                           size_t log_bytes) {
  CALL(cudaGraphInstantiate, _v10000, exec, graph, error_node, log, log_bytes);
  CHECK_READY();
  return call.end(DRIVER(cuGraphInstantiate)(exec, graph, error_node, log, log_bytes));
}
#endif

cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  CALL(cudaGraphLaunch, _v10000, exec, stream);
  CHECK_READY();
  return call.end(DRIVER(cuGraphLaunch)(exec, stream));
}

cudaError_t CUDARTAPI cudaGraphExecDestroy(cudaGraphExec_t exec) {
  CALL(cudaGraphExecDestroy, _v10000, exec);
  CHECK_READY();
  return call.end(DRIVER(cuGraphExecDestroy)(exec));
}

cudaError_t CUDARTAPI cudaGraphDestroy(cudaGraph_t graph) {
  CALL(cudaGraphDestroy, _v10000, graph);
  CHECK_READY();
  return call.end(DRIVER(cuGraphDestroy)(graph));
}

}  // extern "C"
