// SPDX-License-Identifier: Apache-2.0
// Functions that a program fetches by address. A command buffer contains commands that the driver
// launches by itself. Each enqueue is counted, so that the trace reports what is missing.
#include <string.h>

#include <atomic>

#include "tracesmith/capture/agents/opencl/recorder.hpp"

namespace tracesmith::agent {
namespace {

// As in cl_khr_command_buffer; not all headers have the type.
using EnqueueCommandBuffer = cl_int(CL_API_CALL*)(cl_uint, cl_command_queue*, void*, cl_uint,
                                                  const cl_event*, cl_event*);

// Each platform may have its own function, and the arguments do not identify the platform.
constexpr int kMostPlatforms = 8;
constinit std::atomic<EnqueueCommandBuffer> g_enqueues[kMostPlatforms];

template <int kPlatform>
cl_int CL_API_CALL enqueueCommandBuffer(cl_uint count, cl_command_queue* queues, void* buffer,
                                        cl_uint n, const cl_event* waits, cl_event* event) {
  const cl_int result =
      g_enqueues[kPlatform].load(std::memory_order_relaxed)(count, queues, buffer, n, waits, event);
  if (result == CL_SUCCESS && ready() && capturing()) {
    countLost(&arena::ArenaHeader::command_buffers);
  }
  return result;
}

constexpr EnqueueCommandBuffer kWrappers[kMostPlatforms] = {
    enqueueCommandBuffer<0>, enqueueCommandBuffer<1>, enqueueCommandBuffer<2>,
    enqueueCommandBuffer<3>, enqueueCommandBuffer<4>, enqueueCommandBuffer<5>,
    enqueueCommandBuffer<6>, enqueueCommandBuffer<7>};

/// `address`, or the wrapper that calls it.
void* wrapped(const char* name, void* address) {
  if (address == nullptr || name == nullptr || strcmp(name, "clEnqueueCommandBufferKHR") != 0) {
    return address;
  }
  const auto enqueue = reinterpret_cast<EnqueueCommandBuffer>(address);
  for (int i = 0; i < kMostPlatforms; ++i) {
    if (enqueue == kWrappers[i]) return address;  // a wrapper, from a layer above the agent
    EnqueueCommandBuffer known = nullptr;
    if (g_enqueues[i].compare_exchange_strong(known, enqueue) || known == enqueue) {
      return reinterpret_cast<void*>(kWrappers[i]);
    }
  }
  return address;
}

}  // namespace
}  // namespace tracesmith::agent

using namespace tracesmith::agent;  // NOLINT: the wrappers below are C functions

extern "C" {

void* CL_API_CALL TS_WRAP(clGetExtensionFunctionAddress)(const char* name) {
  return wrapped(name, next().clGetExtensionFunctionAddress(name));
}

void* CL_API_CALL TS_WRAP(clGetExtensionFunctionAddressForPlatform)(cl_platform_id platform,
                                                                    const char* name) {
  return wrapped(name, next().clGetExtensionFunctionAddressForPlatform(platform, name));
}

}  // extern "C"
