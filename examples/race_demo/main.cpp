// SPDX-License-Identifier: Apache-2.0
// A program with two bugs for TraceSmith to find. `blur` runs in a second queue and should wait for
// `fill`, which runs in the first. `sum` adds floats in whatever order its work-groups run. With
// --fixed the program has neither bug.
#include <CL/cl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr size_t kItems = 1 << 16;
constexpr size_t kGroup = 64;

const char* const kSource = R"(
kernel void fill(global float* values) {
  const size_t i = get_global_id(0);
  values[i] = native_sin(i * 0.01f) + 1.0f;
}

kernel void blur(global const float* values, global float* blurred, int count) {
  const int i = get_global_id(0);
  const float left = values[max(i - 1, 0)];
  const float right = values[min(i + 1, count - 1)];
  blurred[i] = (left + values[i] + right) / 3.0f;
}

/* Adds in the order in which work-items come: rounding makes that visible. */
kernel void sum(global const float* values, global float* total) {
  volatile global uint* bits = (volatile global uint*)total;
  uint before = *bits;
  for (;;) {
    const uint after = as_uint(as_float(before) + values[get_global_id(0)]);
    const uint seen = atomic_cmpxchg(bits, before, after);
    if (seen == before) break;
    before = seen;
  }
}

/* Adds in one order. */
kernel void sum_in_order(global const float* values, global float* total, int count) {
  float t = 0;
  for (int i = 0; i < count; ++i) t += values[i];
  *total = t;
}
)";

void check(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  std::fprintf(stderr, "race_demo: %s failed (%d)\n", what, code);
  std::exit(1);
}

cl_kernel kernelOf(cl_program program, const char* name) {
  cl_int error = CL_SUCCESS;
  cl_kernel kernel = clCreateKernel(program, name, &error);
  check(error, name);
  return kernel;
}

}  // namespace

int main(int argc, char** argv) {
  const bool fixed = argc > 1 && std::strcmp(argv[1], "--fixed") == 0;
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_int error = CL_SUCCESS;
  check(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  check(error, "clCreateContext");
  cl_command_queue first = clCreateCommandQueue(context, device, 0, &error);
  check(error, "clCreateCommandQueue");
  cl_command_queue second = clCreateCommandQueue(context, device, 0, &error);
  check(error, "clCreateCommandQueue");

  const std::vector<float> zeros(kItems);
  const auto buffer = [&](size_t items) {
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                 items * sizeof(float), const_cast<float*>(zeros.data()), &error);
    check(error, "clCreateBuffer");
    return made;
  };
  cl_mem values = buffer(kItems);
  cl_mem blurred = buffer(kItems);
  cl_mem total = buffer(1);

  const char* source = kSource;
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
  check(error, "clCreateProgramWithSource");
  check(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
  cl_kernel fill = kernelOf(program, "fill");
  cl_kernel blur = kernelOf(program, "blur");
  cl_kernel sum = kernelOf(program, fixed ? "sum_in_order" : "sum");
  const auto count = static_cast<cl_int>(kItems);
  check(clSetKernelArg(fill, 0, sizeof values, &values), "clSetKernelArg");
  check(clSetKernelArg(blur, 0, sizeof values, &values), "clSetKernelArg");
  check(clSetKernelArg(blur, 1, sizeof blurred, &blurred), "clSetKernelArg");
  check(clSetKernelArg(blur, 2, sizeof count, &count), "clSetKernelArg");
  check(clSetKernelArg(sum, 0, sizeof blurred, &blurred), "clSetKernelArg");
  check(clSetKernelArg(sum, 1, sizeof total, &total), "clSetKernelArg");
  if (fixed) check(clSetKernelArg(sum, 2, sizeof count, &count), "clSetKernelArg");

  const size_t items = kItems;
  const size_t group = kGroup;
  const size_t one = 1;
  cl_event filled = nullptr;
  check(clEnqueueNDRangeKernel(first, fill, 1, nullptr, &items, &group, 0, nullptr, &filled),
        "fill");
  check(clFlush(first), "clFlush");
  check(clEnqueueNDRangeKernel(second, blur, 1, nullptr, &items, &group, fixed ? 1 : 0,
                               fixed ? &filled : nullptr, nullptr),
        "blur");
  check(clEnqueueNDRangeKernel(second, sum, 1, nullptr, fixed ? &one : &items,
                               fixed ? &one : &group, 0, nullptr, nullptr),
        "sum");
  float result = 0;
  check(clEnqueueReadBuffer(second, total, CL_TRUE, 0, sizeof result, &result, 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  check(clFinish(first), "clFinish");
  std::printf("sum %.9g\n", static_cast<double>(result));

  clReleaseEvent(filled);
  for (cl_kernel kernel : {fill, blur, sum}) clReleaseKernel(kernel);
  clReleaseProgram(program);
  for (cl_mem memory : {values, blurred, total}) clReleaseMemObject(memory);
  clReleaseCommandQueue(first);
  clReleaseCommandQueue(second);
  clReleaseContext(context);
  return 0;
}
