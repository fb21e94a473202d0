// SPDX-License-Identifier: Apache-2.0
// Loads the OpenCL library, launches, and unloads it, again and again, as plug-ins do.
// Usage: cl_unload TIMES; says "launches N".
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#define FIND(function) auto function##_ = reinterpret_cast<decltype(&function)>(find(#function))

int main(int argc, char** argv) {
  const int times = argc > 1 ? std::atoi(argv[1]) : 3;
  int launched = 0;
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
    const char* source = "__kernel void one(void) {}";
    cl_program program = clCreateProgramWithSource_(context, 1, &source, nullptr, nullptr);
    if (clBuildProgram_(program, 1, &device, "", nullptr, nullptr) != 0) return 93;
    cl_kernel kernel = clCreateKernel_(program, "one", nullptr);
    const size_t items = 1;
    for (int k = 0; k < 5; ++k) {
      launched += clEnqueueNDRangeKernel_(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr,
                                          nullptr) == CL_SUCCESS;
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
