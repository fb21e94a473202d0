// SPDX-License-Identifier: Apache-2.0
// Loads the OpenCL library, launches, and unloads it, again and again, as plug-ins do.
// Usage: cl_unload TIMES [busy]; says "launches N". busy: unloads it while kernels run.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#define FIND(function) auto function##_ = reinterpret_cast<decltype(&function)>(find(#function))

/// Opens the library, looks for a function and closes it; what the dynamic linker knew of it is
/// then overwritten. It will come to lie at the same place again.
static void lookAndClose() {
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr || dlsym(library, "clCreateContext") == nullptr) std::exit(90);
  dlclose(library);
  for (size_t i = 0; i < 2000; ++i) std::memset(std::malloc(16 + i % 64), 'Z', 16);
}

int main(int argc, char** argv) {
  const int times = argc > 1 ? std::atoi(argv[1]) : 3;
  const bool busy = argc > 2 && std::string_view(argv[2]) == "busy";
  int launched = 0;
  if (busy) lookAndClose();
  for (int i = 0; i < times; ++i) {
    void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return 90;
    auto find = [library](const char* name) {
      void* symbol = dlsym(library, name);
      if (symbol == nullptr) std::exit(91);
      return symbol;
    };
    FIND(clGetPlatformIDs);
    FIND(clGetDeviceIDs);
    FIND(clCreateContext);
    FIND(clCreateCommandQueueWithProperties);
    FIND(clCreateProgramWithSource);
    FIND(clBuildProgram);
    FIND(clCreateKernel);
    FIND(clEnqueueNDRangeKernel);
    FIND(clFinish);
    FIND(clFlush);
    FIND(clReleaseKernel);
    FIND(clReleaseProgram);
    FIND(clReleaseCommandQueue);
    FIND(clReleaseContext);
    cl_platform_id platform = nullptr;
    cl_device_id device = nullptr;
    clGetPlatformIDs_(1, &platform, nullptr);
    if (clGetDeviceIDs_(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != 0) return 92;
    cl_context context = clCreateContext_(nullptr, 1, &device, nullptr, nullptr, nullptr);
    cl_command_queue queue = clCreateCommandQueueWithProperties_(context, device, nullptr, nullptr);
    const char* source =
        busy ? "__kernel void one(void) { volatile int i; for (i = 0; i < 50000000; ++i) {} }"
             : "__kernel void one(void) {}";
    cl_program program = clCreateProgramWithSource_(context, 1, &source, nullptr, nullptr);
    if (clBuildProgram_(program, 1, &device, "", nullptr, nullptr) != 0) return 93;
    cl_kernel kernel = clCreateKernel_(program, "one", nullptr);
    const size_t items = 1;
    for (int k = 0; k < 5; ++k) {
      launched += clEnqueueNDRangeKernel_(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr,
                                          nullptr) == CL_SUCCESS;
    }
    if (busy) {
      if (clFlush_(queue) != 0) return 94;
      dlclose(library);
      sleep(3);
      break;
    }
    if (clFinish_(queue) != 0) return 94;
    clReleaseKernel_(kernel);
    clReleaseProgram_(program);
    clReleaseCommandQueue_(queue);
    clReleaseContext_(context);
    dlclose(library);
  }
  std::printf("launches %d\n", launched);
  return 0;
}
