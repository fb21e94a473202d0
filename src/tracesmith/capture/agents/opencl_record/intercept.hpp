// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the recording agent: the intercepted functions, and the names of wrappers.
//
// The wrappers are a layer of the OpenCL loader (OPENCL_LAYERS) or of the preloaded tracing agent.
// Either way they are nearest to the program, and the tracing agent is below them.
//
// If a process has several loaders, an object of one loader may be queried through another: the
// next call through any loader handles pending work. That works because an object names its own
// driver.
#pragma once

#include "tracesmith/capture/agents/core/opencl_loaders.hpp"

#define TS_WRAP(function) tracesmith_record_##function

// The intercepted functions.
#define TS_RECORDED_OPENCL(X)                 \
  X(clCreateContext)                          \
  X(clCreateContextFromType)                  \
  X(clRetainContext)                          \
  X(clReleaseContext)                         \
  X(clCreateCommandQueue)                     \
  X(clCreateCommandQueueWithProperties)       \
  X(clRetainCommandQueue)                     \
  X(clReleaseCommandQueue)                    \
  X(clCreateBuffer)                           \
  X(clCreateBufferWithProperties)             \
  X(clCreateSubBuffer)                        \
  X(clCreateImage)                            \
  X(clCreateImageWithProperties)              \
  X(clCreateImage2D)                          \
  X(clCreateImage3D)                          \
  X(clCreatePipe)                             \
  X(clRetainMemObject)                        \
  X(clReleaseMemObject)                       \
  X(clGetMemObjectInfo)                       \
  X(clCreateSampler)                          \
  X(clCreateSamplerWithProperties)            \
  X(clRetainSampler)                          \
  X(clReleaseSampler)                         \
  X(clCreateProgramWithSource)                \
  X(clCreateProgramWithBinary)                \
  X(clCreateProgramWithBuiltInKernels)        \
  X(clCreateProgramWithIL)                    \
  X(clSetProgramSpecializationConstant)       \
  X(clRetainProgram)                          \
  X(clReleaseProgram)                         \
  X(clBuildProgram)                           \
  X(clCompileProgram)                         \
  X(clLinkProgram)                            \
  X(clCreateKernel)                           \
  X(clCreateKernelsInProgram)                 \
  X(clCloneKernel)                            \
  X(clRetainKernel)                           \
  X(clReleaseKernel)                          \
  X(clSetKernelArg)                           \
  X(clSetKernelArgSVMPointer)                 \
  X(clSetKernelExecInfo)                      \
  X(clCreateUserEvent)                        \
  X(clSetUserEventStatus)                     \
  X(clRetainEvent)                            \
  X(clReleaseEvent)                           \
  X(clSetEventCallback)                       \
  X(clGetEventInfo)                           \
  X(clGetEventProfilingInfo)                  \
  X(clWaitForEvents)                          \
  X(clSVMAlloc)                               \
  X(clSVMFree)                                \
  X(clEnqueueSVMFree)                         \
  X(clEnqueueSVMMemcpy)                       \
  X(clEnqueueSVMMemFill)                      \
  X(clEnqueueSVMMap)                          \
  X(clEnqueueSVMUnmap)                        \
  X(clEnqueueSVMMigrateMem)                   \
  X(clFinish)                                 \
  X(clFlush)                                  \
  X(clEnqueueNDRangeKernel)                   \
  X(clEnqueueTask)                            \
  X(clEnqueueNativeKernel)                    \
  X(clEnqueueReadBuffer)                      \
  X(clEnqueueReadBufferRect)                  \
  X(clEnqueueWriteBuffer)                     \
  X(clEnqueueWriteBufferRect)                 \
  X(clEnqueueCopyBuffer)                      \
  X(clEnqueueCopyBufferRect)                  \
  X(clEnqueueReadImage)                       \
  X(clEnqueueWriteImage)                      \
  X(clEnqueueCopyImage)                       \
  X(clEnqueueCopyImageToBuffer)               \
  X(clEnqueueCopyBufferToImage)               \
  X(clEnqueueFillBuffer)                      \
  X(clEnqueueFillImage)                       \
  X(clEnqueueMapBuffer)                       \
  X(clEnqueueMapImage)                        \
  X(clEnqueueUnmapMemObject)                  \
  X(clEnqueueMigrateMemObjects)               \
  X(clEnqueueMarker)                          \
  X(clEnqueueMarkerWithWaitList)              \
  X(clEnqueueBarrier)                         \
  X(clEnqueueBarrierWithWaitList)             \
  X(clEnqueueWaitForEvents)                   \
  X(clGetExtensionFunctionAddress)            \
  X(clGetExtensionFunctionAddressForPlatform) \
  X(clCreateFromGLBuffer)                     \
  X(clCreateFromGLTexture)                    \
  X(clCreateFromGLTexture2D)                  \
  X(clCreateFromGLTexture3D)                  \
  X(clCreateFromGLRenderbuffer)               \
  X(clEnqueueAcquireGLObjects)                \
  X(clEnqueueReleaseGLObjects)

// Other functions that the wrappers call.
#define TS_CALLED_OPENCL(X) \
  X(clGetPlatformInfo)      \
  X(clGetDeviceInfo)        \
  X(clGetContextInfo)       \
  X(clGetProgramInfo)       \
  X(clGetImageInfo)         \
  X(clGetKernelInfo)        \
  X(clGetCommandQueueInfo)

namespace tracesmith::record {

using agent::next;

}  // namespace tracesmith::record
