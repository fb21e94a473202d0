// SPDX-License-Identifier: Apache-2.0
#include "compute.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

const char* nameOf(cl_int code) {
  switch (code) {
    case CL_DEVICE_NOT_FOUND:
      return "CL_DEVICE_NOT_FOUND";
    case CL_DEVICE_NOT_AVAILABLE:
      return "CL_DEVICE_NOT_AVAILABLE";
    case CL_COMPILER_NOT_AVAILABLE:
      return "CL_COMPILER_NOT_AVAILABLE";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
      return "CL_MEM_OBJECT_ALLOCATION_FAILURE";
    case CL_OUT_OF_RESOURCES:
      return "CL_OUT_OF_RESOURCES";
    case CL_OUT_OF_HOST_MEMORY:
      return "CL_OUT_OF_HOST_MEMORY";
    case CL_BUILD_PROGRAM_FAILURE:
      return "CL_BUILD_PROGRAM_FAILURE";
    case CL_INVALID_WORK_GROUP_SIZE:
      return "CL_INVALID_WORK_GROUP_SIZE";
    case -1001:  // CL_PLATFORM_NOT_FOUND_KHR, returned by the loader if no driver is installed
      return "no OpenCL driver is installed (on Debian: apt install pocl-opencl-icd)";
    default:
      return "see CL/cl.h";
  }
}

}  // namespace

void check(cl_int code, const char* call) {
  if (code == CL_SUCCESS) return;
  std::fprintf(stderr, "opencl_demo: %s failed: %d, %s\n", call, code, nameOf(code));
  std::exit(1);
}

Device pickDevice() {
  cl_uint count = 0;
  check(clGetPlatformIDs(0, nullptr, &count), "clGetPlatformIDs");
  std::vector<cl_platform_id> platforms(count);
  check(clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  Device device;
  for (cl_device_type type :
       {cl_device_type{CL_DEVICE_TYPE_GPU}, cl_device_type{CL_DEVICE_TYPE_ALL}}) {
    for (cl_platform_id platform : platforms) {
      if (device.id == nullptr &&
          clGetDeviceIDs(platform, type, 1, &device.id, nullptr) == CL_SUCCESS)
        device.platform = platform;
    }
  }
  if (device.id == nullptr) check(CL_DEVICE_NOT_FOUND, "clGetDeviceIDs");
  size_t bytes = 0;
  check(clGetDeviceInfo(device.id, CL_DEVICE_NAME, 0, nullptr, &bytes), "clGetDeviceInfo");
  std::string name(bytes, '\0');
  check(clGetDeviceInfo(device.id, CL_DEVICE_NAME, bytes, name.data(), nullptr), "clGetDeviceInfo");
  device.name = name.substr(0, name.find('\0'));  // OpenCL's length includes the terminating NUL
  return device;
}

Compute::Compute(const Device& device, const char* source) {
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(device.platform), 0};
  cl_int code = CL_SUCCESS;
  context_ = clCreateContext(properties, 1, &device.id, nullptr, nullptr, &code);
  check(code, "clCreateContext");
  for (cl_command_queue& queue : queues_) {
    queue = clCreateCommandQueue(context_, device.id, 0, &code);
    check(code, "clCreateCommandQueue");
  }
  program_ = clCreateProgramWithSource(context_, 1, &source, nullptr, &code);
  check(code, "clCreateProgramWithSource");
  code = clBuildProgram(program_, 1, &device.id, "", nullptr, nullptr);
  if (code != CL_SUCCESS) {
    std::vector<char> log(16384, '\0');
    clGetProgramBuildInfo(program_, device.id, CL_PROGRAM_BUILD_LOG, log.size() - 1, log.data(),
                          nullptr);
    std::fprintf(stderr, "%s\n", log.data());
    check(code, "clBuildProgram");
  }
}

Compute::~Compute() {
  for (cl_kernel kernel : kernels_) clReleaseKernel(kernel);
  for (cl_mem buffer : buffers_) clReleaseMemObject(buffer);
  for (cl_command_queue queue : queues_) clReleaseCommandQueue(queue);
  clReleaseProgram(program_);
  clReleaseContext(context_);
}

cl_kernel Compute::kernel(const char* name) {
  cl_int code = CL_SUCCESS;
  cl_kernel kernel = clCreateKernel(program_, name, &code);
  check(code, "clCreateKernel");
  kernels_.push_back(kernel);
  return kernel;
}

cl_mem Compute::buffer(cl_mem_flags flags, size_t bytes) {
  cl_int code = CL_SUCCESS;
  cl_mem buffer = clCreateBuffer(context_, flags, bytes, nullptr, &code);
  check(code, "clCreateBuffer");
  buffers_.push_back(buffer);
  return buffer;
}
