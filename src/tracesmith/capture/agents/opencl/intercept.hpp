// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the OpenCL agent: what is intercepted, and how wrappers are named.
//
// Wrappers are hidden functions. The loader gets them in a table (OPENCL_LAYERS, layer.cpp), or the
// program does, from functions of the API's own names that a preloaded library has (preload.hpp).
#pragma once

#include "tracesmith/capture/agents/core/opencl_loaders.hpp"

#define TS_WRAP(function) tracesmith_##function

// Wrappers that only correct what the program is told (see transparency.cpp), or put a wrapper
// before a function of an extension (extensions.cpp); no record.
#define TS_OPENCL_MASKED(X)        \
  X(clGetCommandQueueInfo)         \
  X(clSetCommandQueueProperty)     \
  X(clGetEventInfo)                \
  X(clGetEventProfilingInfo)       \
  X(clGetExtensionFunctionAddress) \
  X(clGetExtensionFunctionAddressForPlatform)

// What the wrappers themselves call besides.
#define TS_OPENCL_CALLED(X)           \
  X(clGetPlatformInfo)                \
  X(clGetDeviceIDs)                   \
  X(clGetDeviceInfo)                  \
  X(clGetContextInfo)                 \
  X(clGetMemObjectInfo)               \
  X(clGetImageInfo)                   \
  X(clGetKernelInfo)                  \
  X(clGetProgramInfo)                 \
  X(clGetProgramBuildInfo)            \
  X(clSetMemObjectDestructorCallback) \
  X(clSetEventCallback)               \
  X(clRetainEvent)                    \
  X(clReleaseEvent)
