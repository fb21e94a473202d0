// SPDX-License-Identifier: Apache-2.0
// Copies and fills of the stand-in for libcuda; its memory is the host's.
#include <algorithm>

#include "standin_cuda.hpp"

namespace standin {

void perform(const CUgraphNode_st& node) {
  const size_t bytes = node.work.bytes;
  if (node.from != nullptr) std::memmove(node.to, node.from, bytes);
  if (node.type != CU_GRAPH_NODE_TYPE_MEMSET) return;
  for (size_t i = 0; i < bytes; ++i) {
    static_cast<unsigned char*>(node.to)[i] =
        static_cast<unsigned char>(node.work.value >> 8 * (i % node.work.element_bytes));
  }
}

}  // namespace standin

using namespace standin;

namespace {

constexpr uint64_t kCopyNs = 1000;  // and a nanosecond for each ten bytes

CUgraphNode_st copyNode(CUpti_ActivityMemcpyKind kind, void* to, const void* from, size_t bytes,
                        bool async) {
  CUgraphNode_st node{};
  node.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  node.work.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  node.work.bytes = bytes;
  node.work.copy_kind = static_cast<uint8_t>(kind);
  node.work.async = async;
  node.work.source_kind = memoryKind(from);
  node.work.memory_kind = memoryKind(to);
  node.duration_ns = kCopyNs + bytes / 10;
  node.to = to;
  node.from = from;
  return node;
}

CUresult copy(Call& call, CUpti_ActivityMemcpyKind kind, void* to, const void* from, size_t bytes,
              CUstream stream, bool async) {
  CHECK_STATE();
  if (to == nullptr || from == nullptr) return call.end(CUDA_ERROR_INVALID_VALUE);
  if (!async) CHECK_NOT_CAPTURED(streamOf(stream));
  const uint64_t end = enqueue(call, copyNode(kind, to, from, bytes, async), stream);
  if (!async) waitUntil(end);
  return call.end(CUDA_SUCCESS);
}

bool isHost(CUpti_ActivityMemoryKind kind) {
  return kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE || kind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
}

// The kind of a copy between these addresses.
CUpti_ActivityMemcpyKind kindOf(const void* to, const void* from) {
  const bool to_host = isHost(memoryKind(to)), from_host = isHost(memoryKind(from));
  if (to_host) return from_host ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOH : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  return from_host ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
}

// Within one device it is an ordinary copy.
CUresult copyPeer(Call& call, CUdeviceptr to, CUcontext destination, CUdeviceptr from,
                  CUcontext source, size_t bytes, CUstream stream, bool async) {
  CHECK_STATE();
  if (to == 0 || from == 0 || destination == nullptr || source == nullptr) {
    return call.end(CUDA_ERROR_INVALID_VALUE);
  }
  const bool same = destination->device == source->device;
  CUgraphNode_st node =
      copyNode(same ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD : CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
               reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes, async);
  if (!same) node.work.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  node.work.source = source;
  node.work.destination = destination;
  const uint64_t end = enqueue(call, node, stream);
  if (!async) waitUntil(end);
  return call.end(CUDA_SUCCESS);
}

template <typename Value>
CUresult fill(Call& call, CUdeviceptr to, Value value, size_t count, CUstream stream, bool async) {
  CHECK_STATE();
  if (to == 0) return call.end(CUDA_ERROR_INVALID_VALUE);
  CUgraphNode_st node{};
  node.type = CU_GRAPH_NODE_TYPE_MEMSET;
  node.work.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  node.work.bytes = count * sizeof(Value);
  node.work.value = value;
  node.work.element_bytes = sizeof(Value);
  node.work.async = async;
  node.work.memory_kind = memoryKind(reinterpret_cast<void*>(to));
  node.duration_ns = kCopyNs + count * sizeof(Value) / 10;
  node.to = reinterpret_cast<void*>(to);
  enqueue(call, node, stream);
  return call.end(CUDA_SUCCESS);
}

}  // namespace

extern "C" {

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

CUresult CUDAAPI cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  CALL(cuMemcpy, to, from, bytes);
  void* const target = reinterpret_cast<void*>(to);
  const void* const source = reinterpret_cast<void*>(from);
  return copy(call, kindOf(target, source), target, source, bytes, nullptr, false);
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  CALL(cuMemcpyAsync, to, from, bytes, stream);
  void* const target = reinterpret_cast<void*>(to);
  const void* const source = reinterpret_cast<void*>(from);
  return copy(call, kindOf(target, source), target, source, bytes, stream, true);
}

CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr to, CUcontext destination, CUdeviceptr from,
                              CUcontext source, size_t bytes) {
  CALL(cuMemcpyPeer, to, destination, from, source, bytes);
  return copyPeer(call, to, destination, from, source, bytes, nullptr, false);
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr to, CUcontext destination, CUdeviceptr from,
                                   CUcontext source, size_t bytes, CUstream stream) {
  CALL(cuMemcpyPeerAsync, to, destination, from, source, bytes, stream);
  return copyPeer(call, to, destination, from, source, bytes, stream, true);
}

}  // extern "C"
