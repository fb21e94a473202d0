// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the OpenCL agent: the intercepted functions, and the names of wrappers.
//
// Wrappers are hidden functions. Either the loader gets them in a table (OPENCL_LAYERS, layer.cpp),
// or the program reaches them through functions with the API's own names in a preloaded library
// (preload.hpp).
#pragma once

#include "tracesmith/capture/agents/core/opencl_loaders.hpp"

#define TS_WRAP(function) tracesmith_##function

// Wrappers that write no record: they only correct answers to the program (see transparency.cpp),
// or put a wrapper before a function of an extension (extensions.cpp).
#define TS_OPENCL_MASKED(X)        \
  X(clGetCommandQueueInfo)         \
  X(clSetCommandQueueProperty)     \
  X(clGetEventInfo)                \
  X(clGetEventProfilingInfo)       \
  X(clGetExtensionFunctionAddress) \
  X(clGetExtensionFunctionAddressForPlatform)

// Other functions that the wrappers call.
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
