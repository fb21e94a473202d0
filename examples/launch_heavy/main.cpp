// SPDX-License-Identifier: Apache-2.0
// Many small launches and uploads that mostly repeat, like programs that process batches: the most
// expensive case for a recorder. 4,400 launches, more than 34,000 calls, 160 MiB uploaded, of which
// 1.2 MiB are distinct. Prints a sum, so that runs can be compared.
//
// Usage: launch_heavy [LAUNCHES]
#include <CL/cl.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr const char* kSource = R"(
__kernel void accumulate(__global const float* in, __global float* sum, float weight, int rounds) {
  const size_t i = get_global_id(0);
  float x = in[i];
  for (int r = 0; r < rounds; ++r) x = fma(x, weight, 0.125f);
  sum[i] = sum[i] * 0.5f + x;
}
)";
constexpr size_t kFloats = 9728;  // 38 KiB per batch
constexpr size_t kBatches = 32;
constexpr int kReadEvery = 100;

void check(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  std::fprintf(stderr, "%s failed with %d\n", what, code);
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 4400;
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  check(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
  cl_int e = CL_SUCCESS;
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &e);
  check(e, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &e);
  check(e, "clCreateCommandQueue");
  const char* source = kSource;
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &e);
  check(e, "clCreateProgramWithSource");
  check(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, "accumulate", &e);
  check(e, "clCreateKernel");
  constexpr size_t kBytes = kFloats * sizeof(float);
  cl_mem in = clCreateBuffer(context, CL_MEM_READ_ONLY, kBytes, nullptr, &e);
  check(e, "clCreateBuffer");
  cl_mem sum = clCreateBuffer(context, CL_MEM_READ_WRITE, kBytes, nullptr, &e);
  check(e, "clCreateBuffer");
  const float zero = 0;
  check(clEnqueueFillBuffer(queue, sum, &zero, sizeof zero, 0, kBytes, 0, nullptr, nullptr),
        "clEnqueueFillBuffer");

  std::vector<std::vector<float>> batches(kBatches, std::vector<float>(kFloats));
  uint32_t random = 1;
  for (auto& batch : batches) {
    for (float& x : batch) {
      random = random * 1664525u + 1013904223u;
      x = static_cast<float>(random >> 8) / (1u << 24);
    }
  }
  std::vector<float> result(kFloats);
  double total = 0;
  const int rounds = 64;
  for (int i = 0; i < launches; ++i) {
    const float weight = static_cast<float>(i % 7) / 8;
    const size_t global = kFloats;
    cl_event written = nullptr;
    check(clEnqueueWriteBuffer(queue, in, CL_FALSE, 0, kBytes, batches[i % kBatches].data(), 0,
                               nullptr, &written),
          "clEnqueueWriteBuffer");
    check(clSetKernelArg(kernel, 0, sizeof in, static_cast<const void*>(&in)), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof sum, static_cast<const void*>(&sum)), "clSetKernelArg");
    check(clSetKernelArg(kernel, 2, sizeof weight, &weight), "clSetKernelArg");
    check(clSetKernelArg(kernel, 3, sizeof rounds, &rounds), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, nullptr, 1, &written, nullptr),
          "clEnqueueNDRangeKernel");
    check(clReleaseEvent(written), "clReleaseEvent");
    check(clFlush(queue), "clFlush");
    if (i % kReadEvery == kReadEvery - 1) {
      check(clEnqueueReadBuffer(queue, sum, CL_TRUE, 0, kBytes, result.data(), 0, nullptr, nullptr),
            "clEnqueueReadBuffer");
      for (const float x : result) total += static_cast<double>(x);
    }
  }
  check(clFinish(queue), "clFinish");
  clReleaseMemObject(in);
  clReleaseMemObject(sum);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  std::printf("%d launches, sum %.6f\n", launches, total);
  return 0;
}
