// SPDX-License-Identifier: Apache-2.0
// The functions of the OpenCL loader that a replay calls, found at run time.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#include <CL/cl.h>

#include <string>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

// Functions that every loader has.
#define TS_REPLAYED_OPENCL(X)     \
  X(clGetPlatformIDs)             \
  X(clGetPlatformInfo)            \
  X(clGetDeviceIDs)               \
  X(clGetDeviceInfo)              \
  X(clCreateContext)              \
  X(clReleaseContext)             \
  X(clCreateCommandQueue)         \
  X(clReleaseCommandQueue)        \
  X(clCreateBuffer)               \
  X(clCreateSubBuffer)            \
  X(clCreateImage)                \
  X(clReleaseMemObject)           \
  X(clCreateSampler)              \
  X(clReleaseSampler)             \
  X(clCreateProgramWithSource)    \
  X(clCreateProgramWithBinary)    \
  X(clBuildProgram)               \
  X(clCompileProgram)             \
  X(clLinkProgram)                \
  X(clGetProgramBuildInfo)        \
  X(clReleaseProgram)             \
  X(clCreateKernel)               \
  X(clReleaseKernel)              \
  X(clSetKernelArg)               \
  X(clGetKernelArgInfo)           \
  X(clCreateUserEvent)            \
  X(clSetUserEventStatus)         \
  X(clRetainEvent)                \
  X(clReleaseEvent)               \
  X(clGetEventInfo)               \
  X(clWaitForEvents)              \
  X(clEnqueueNDRangeKernel)       \
  X(clEnqueueReadBuffer)          \
  X(clEnqueueReadBufferRect)      \
  X(clEnqueueWriteBuffer)         \
  X(clEnqueueWriteBufferRect)     \
  X(clEnqueueCopyBuffer)          \
  X(clEnqueueCopyBufferRect)      \
  X(clEnqueueFillBuffer)          \
  X(clEnqueueReadImage)           \
  X(clEnqueueWriteImage)          \
  X(clEnqueueCopyImage)           \
  X(clEnqueueCopyImageToBuffer)   \
  X(clEnqueueCopyBufferToImage)   \
  X(clEnqueueFillImage)           \
  X(clEnqueueMapBuffer)           \
  X(clEnqueueMapImage)            \
  X(clEnqueueUnmapMemObject)      \
  X(clEnqueueMigrateMemObjects)   \
  X(clEnqueueMarkerWithWaitList)  \
  X(clEnqueueBarrierWithWaitList) \
  X(clFinish)                     \
  X(clFlush)

// Functions of later versions, which may be missing.
#define TS_REPLAYED_OPENCL_LATER(X)    \
  X(clSetMemObjectDestructorCallback)  \
  X(clCreateProgramWithIL)             \
  X(clCreateProgramWithBuiltInKernels) \
  X(clCloneKernel)                     \
  X(clSetKernelArgSVMPointer)          \
  X(clSetKernelExecInfo)               \
  X(clSVMAlloc)                        \
  X(clSVMFree)                         \
  X(clEnqueueSVMFree)                  \
  X(clEnqueueSVMMemcpy)                \
  X(clEnqueueSVMMemFill)               \
  X(clEnqueueSVMMap)                   \
  X(clEnqueueSVMUnmap)                 \
  X(clEnqueueSVMMigrateMem)            \
  X(clCreateCommandQueueWithProperties)

struct OpenClLibrary {
#define TS_X(function) decltype(&::function) function = nullptr;
  TS_REPLAYED_OPENCL(TS_X)
  TS_REPLAYED_OPENCL_LATER(TS_X)
#undef TS_X
};

/// Loads the library once per process. kNotFound names the missing library or function.
Result<const OpenClLibrary*> openClLibrary();

/// "CL_INVALID_VALUE (-30)".
std::string openClError(cl_int code);

}  // namespace tracesmith
