// SPDX-License-Identifier: Apache-2.0
// The memory of the stand-in for libcuda, which is the host's: allocations, copies and fills.
#include <algorithm>

#include "standin_cuda.hpp"

using namespace standin;

namespace {

constexpr uint64_t kCopyNs = 1000;  // and a nanosecond for each ten bytes

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

}  // namespace

extern "C" {

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

}  // extern "C"
