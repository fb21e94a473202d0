// SPDX-License-Identifier: Apache-2.0
// Two queues, and a kernel in each: one writes a buffer, the other reads it. `cl_races wait` lets
// the second wait for the first, `cl_races` does not; `cl_races host` lets the host wait. In
// `cl_races same` both write the buffer, the same numbers, and neither waits.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstdio>
#include <cstring>

namespace {

const char* kSource =
    "__kernel void produce(__global float* out) { out[get_global_id(0)] = get_global_id(0); }\n"
    "__kernel void consume(__global const float* in, __global float* sum) {\n"
    "  sum[get_global_id(0)] = in[get_global_id(0)] * 2;\n"
    "}\n"
    "__kernel void again(__global float* out) { out[get_global_id(0)] = get_global_id(0); }\n";

}  // namespace

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS) {
    std::puts("no device");
    return 77;
  }
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  cl_command_queue first = clCreateCommandQueue(context, device, 0, nullptr);
  cl_command_queue second = clCreateCommandQueue(context, device, 0, nullptr);
  cl_program program = clCreateProgramWithSource(context, 1, &kSource, nullptr, nullptr);
  if (clBuildProgram(program, 1, &device, "", nullptr, nullptr) != CL_SUCCESS) return 1;
  cl_kernel produce = clCreateKernel(program, "produce", nullptr);
  cl_kernel consume = clCreateKernel(program, "consume", nullptr);
  constexpr size_t kCount = 1024;
  cl_mem shared = clCreateBuffer(context, CL_MEM_READ_WRITE, kCount * 4, nullptr, nullptr);
  cl_mem result = clCreateBuffer(context, CL_MEM_READ_WRITE, kCount * 4, nullptr, nullptr);
  clSetKernelArg(produce, 0, sizeof shared, &shared);
  clSetKernelArg(consume, 0, sizeof shared, &shared);
  clSetKernelArg(consume, 1, sizeof result, &result);
  cl_event produced = nullptr;
  clEnqueueNDRangeKernel(first, produce, 1, nullptr, &kCount, nullptr, 0, nullptr, &produced);
  clFlush(first);
  if (std::strcmp(how, "host") == 0) clFinish(first);
  const bool waits = std::strcmp(how, "wait") == 0;
  const bool same = std::strcmp(how, "same") == 0;
  cl_kernel again = clCreateKernel(program, "again", nullptr);
  clSetKernelArg(again, 0, sizeof shared, &shared);
  clEnqueueNDRangeKernel(second, same ? again : consume, 1, nullptr, &kCount, nullptr,
                         waits ? 1 : 0, waits ? &produced : nullptr, nullptr);
  static float values[kCount];
  if (same) clFinish(first);
  clEnqueueReadBuffer(second, same ? shared : result, CL_TRUE, 0, sizeof values, values, 0, nullptr,
                      nullptr);
  clFinish(first);
  clReleaseEvent(produced);
  clReleaseMemObject(shared);
  clReleaseMemObject(result);
  clReleaseKernel(produce);
  clReleaseKernel(consume);
  clReleaseKernel(again);
  clReleaseProgram(program);
  clReleaseCommandQueue(first);
  clReleaseCommandQueue(second);
  clReleaseContext(context);
  return 0;
}
