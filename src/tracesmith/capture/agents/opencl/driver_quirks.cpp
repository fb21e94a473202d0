// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/opencl/driver_quirks.hpp"

#include <string.h>

#include <atomic>

namespace tracesmith::agent {
namespace {

constinit std::atomic<bool> g_may_miss_callbacks{false};

}  // namespace

bool profilesEveryQueue(cl_device_id device) {
  cl_platform_id platform = nullptr;
  char name[16] = {};
  const bool oclgrind = next().clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform,
                                               &platform, nullptr) == CL_SUCCESS &&
                        next().clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name,
                                                 nullptr) == CL_SUCCESS &&
                        strncmp(name, "Oclgrind", sizeof name) == 0;
  if (oclgrind) g_may_miss_callbacks.store(true, std::memory_order_relaxed);
  return oclgrind;
}

bool mayMissCallbacks() { return g_may_miss_callbacks.load(std::memory_order_relaxed); }

}  // namespace tracesmith::agent
