// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the OpenCL agent: the next implementation, and how wrappers are named.
//
// The same wrappers make two libraries. As a layer (OPENCL_LAYERS) they are hidden functions that
// the ICD loader is given in a table; as a preload library they carry the API's own names.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>

#ifdef TRACESMITH_OPENCL_PRELOAD
#define TS_WRAP(function) function
#define TS_WRAPPER_NAME(function) function
#else
#define TS_WRAP(function) tracesmith_##function
#define TS_WRAPPER_NAME(function) tracesmith_##function
#endif

// Wrappers that only correct what the program is told (see transparency.cpp), or put a wrapper
// before a function of an extension (extensions.cpp); no record.
#define TS_OPENCL_MASKED(X)        \
  X(clGetCommandQueueInfo)         \
  X(clSetCommandQueueProperty)     \
  X(clGetEventInfo)                \
  X(clGetEventProfilingInfo)       \
  X(clGetExtensionFunctionAddress) \
  X(clGetExtensionFunctionAddressForPlatform)

namespace tracesmith::agent {

/// The implementation below us: the driver, the ICD loader, or another layer.
extern cl_icd_dispatch g_next;

}  // namespace tracesmith::agent
