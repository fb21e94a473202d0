// SPDX-License-Identifier: Apache-2.0
// A library whose constructor waits for a thread that calls OpenCL. dlopen() holds its lock
// meanwhile, which the thread's calls must not need.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <time.h>

namespace {

int g_value = 0;  // what the thread has read from the device

void* compute(void*) {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS) return nullptr;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS) {
    return nullptr;
  }
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, nullptr);
  int value = 7;
  cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof value, &value, nullptr);
  int read = 0;
  if (clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof read, &read, 0, nullptr, nullptr) ==
      CL_SUCCESS) {
    g_value = read;
  }
  clFinish(queue);
  return nullptr;
}

struct Waiting {
  Waiting() {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, compute, nullptr) != 0) return;
    timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    came_back = pthread_timedjoin_np(thread, nullptr, &until) == 0;
  }
  bool came_back = false;
};
const Waiting g_waiting;

}  // namespace

/// What the thread computed; -1: it was waited for in vain.
extern "C" __attribute__((visibility("default"))) int computed() {
  return g_waiting.came_back ? g_value : -1;
}
