// SPDX-License-Identifier: Apache-2.0
// The OpenCL functions that the agent intercepts. Arena records carry their numbers; the collector
// turns these into names and kinds.
#pragma once

#include <cstdint>

#include "tracesmith/model/kinds.hpp"

namespace tracesmith {

// X(function, kind of call)
#define TS_OPENCL_API(X)                        \
  X(clCreateContext, kSetup)                    \
  X(clCreateContextFromType, kSetup)            \
  X(clCreateCommandQueue, kSetup)               \
  X(clCreateCommandQueueWithProperties, kSetup) \
  X(clReleaseCommandQueue, kSetup)              \
  X(clCreateBuffer, kMemory)                    \
  X(clCreateBufferWithProperties, kMemory)      \
  X(clCreateSubBuffer, kMemory)                 \
  X(clCreateImage, kMemory)                     \
  X(clCreateImageWithProperties, kMemory)       \
  X(clCreateImage2D, kMemory)                   \
  X(clCreateImage3D, kMemory)                   \
  X(clSVMAlloc, kMemory)                        \
  X(clSVMFree, kMemory)                         \
  X(clBuildProgram, kBuild)                     \
  X(clCompileProgram, kBuild)                   \
  X(clLinkProgram, kBuild)                      \
  X(clCreateKernel, kSetup)                     \
  X(clCreateKernelsInProgram, kSetup)           \
  X(clCloneKernel, kSetup)                      \
  X(clCreateUserEvent, kSetup)                  \
  X(clSetKernelArg, kSetup)                     \
  X(clSetKernelArgSVMPointer, kSetup)           \
  X(clFinish, kSync)                            \
  X(clFlush, kSync)                             \
  X(clWaitForEvents, kSync)                     \
  X(clEnqueueNDRangeKernel, kLaunch)            \
  X(clEnqueueTask, kLaunch)                     \
  X(clEnqueueNativeKernel, kLaunch)             \
  X(clEnqueueReadBuffer, kCopy)                 \
  X(clEnqueueReadBufferRect, kCopy)             \
  X(clEnqueueWriteBuffer, kCopy)                \
  X(clEnqueueWriteBufferRect, kCopy)            \
  X(clEnqueueCopyBuffer, kCopy)                 \
  X(clEnqueueCopyBufferRect, kCopy)             \
  X(clEnqueueReadImage, kCopy)                  \
  X(clEnqueueWriteImage, kCopy)                 \
  X(clEnqueueCopyImage, kCopy)                  \
  X(clEnqueueCopyImageToBuffer, kCopy)          \
  X(clEnqueueCopyBufferToImage, kCopy)          \
  X(clEnqueueMapBuffer, kCopy)                  \
  X(clEnqueueMapImage, kCopy)                   \
  X(clEnqueueUnmapMemObject, kCopy)             \
  X(clEnqueueMigrateMemObjects, kCopy)          \
  X(clEnqueueSVMMemcpy, kCopy)                  \
  X(clEnqueueSVMMap, kCopy)                     \
  X(clEnqueueSVMUnmap, kCopy)                   \
  X(clEnqueueSVMMigrateMem, kCopy)              \
  X(clEnqueueSVMFree, kMemory)                  \
  X(clEnqueueFillBuffer, kFill)                 \
  X(clEnqueueFillImage, kFill)                  \
  X(clEnqueueSVMMemFill, kFill)                 \
  X(clEnqueueMarker, kSync)                     \
  X(clEnqueueMarkerWithWaitList, kSync)         \
  X(clEnqueueBarrier, kSync)                    \
  X(clEnqueueBarrierWithWaitList, kSync)        \
  X(clEnqueueWaitForEvents, kSync)

enum class OpenClApi : uint32_t {
#define TS_X(function, kind) function,
  TS_OPENCL_API(TS_X)
#undef TS_X
      kCount
};

struct ApiFunction {
  const char* name;
  CallKind kind;
};

constexpr ApiFunction kOpenClApi[] = {
#define TS_X(function, kind) {#function, CallKind::kind},
    TS_OPENCL_API(TS_X)
#undef TS_X
};

}  // namespace tracesmith
