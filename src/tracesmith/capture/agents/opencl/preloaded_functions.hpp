// SPDX-License-Identifier: Apache-2.0
// The functions that the preloaded library exports under the API's own names: all that the tracing
// agent or the recorder intercepts. preload_entries.cpp defines them.
#pragma once

#include "tracesmith/capture/agents/opencl/intercept.hpp"
#include "tracesmith/capture/protocol/opencl_api.hpp"

// Functions that only the recorder intercepts.
#define TS_OPENCL_RECORDER_ONLY(X)      \
  X(clRetainContext)                    \
  X(clReleaseContext)                   \
  X(clRetainCommandQueue)               \
  X(clCreatePipe)                       \
  X(clRetainMemObject)                  \
  X(clReleaseMemObject)                 \
  X(clGetMemObjectInfo)                 \
  X(clCreateSampler)                    \
  X(clCreateSamplerWithProperties)      \
  X(clRetainSampler)                    \
  X(clReleaseSampler)                   \
  X(clCreateProgramWithSource)          \
  X(clCreateProgramWithBinary)          \
  X(clCreateProgramWithBuiltInKernels)  \
  X(clCreateProgramWithIL)              \
  X(clSetProgramSpecializationConstant) \
  X(clRetainProgram)                    \
  X(clReleaseProgram)                   \
  X(clRetainKernel)                     \
  X(clReleaseKernel)                    \
  X(clSetKernelExecInfo)                \
  X(clSetUserEventStatus)               \
  X(clRetainEvent)                      \
  X(clReleaseEvent)                     \
  X(clSetEventCallback)                 \
  X(clCreateFromGLBuffer)               \
  X(clCreateFromGLTexture)              \
  X(clCreateFromGLTexture2D)            \
  X(clCreateFromGLTexture3D)            \
  X(clCreateFromGLRenderbuffer)         \
  X(clEnqueueAcquireGLObjects)          \
  X(clEnqueueReleaseGLObjects)

#define TS_OPENCL_PRELOADED(X) \
  TS_OPENCL_API(X)             \
  TS_OPENCL_MASKED(X)          \
  TS_OPENCL_RECORDER_ONLY(X)
