// SPDX-License-Identifier: Apache-2.0
// A small but complete GPU program to profile with `tracesmith profile`: vectorAdd, a tiled
// matrixMul and relu on two queues that synchronise through an event, with every result checked on
// the host. It does not request profiling and does not use TraceSmith.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "compute.hpp"

namespace {

constexpr size_t kElements = 1u << 20;
constexpr size_t kMatrix = 512;
constexpr size_t kTile = 16;

const char* const kSource = R"CL(
#define TILE 16

kernel void vectorAdd(global const float* a, global const float* b, global float* out) {
  size_t i = get_global_id(0);
  out[i] = a[i] + b[i];
}

kernel void relu(global const float* in, global float* out) {
  size_t i = get_global_id(0);
  out[i] = fmax(in[i], 0.0f);
}

kernel void matrixMul(global const float* a, global const float* b, global float* out, int n) {
  local float tile_a[TILE][TILE];
  local float tile_b[TILE][TILE];
  int column = get_global_id(0), row = get_global_id(1);
  int x = get_local_id(0), y = get_local_id(1);
  float sum = 0.0f;
  for (int t = 0; t < n / TILE; ++t) {
    tile_a[y][x] = a[row * n + t * TILE + x];
    tile_b[y][x] = b[(t * TILE + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; ++k) sum += tile_a[y][k] * tile_b[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[row * n + column] = sum;
}
)CL";

using Floats = std::vector<float>;

// Small multiples of 1/8 around zero, so that sums of products are exact enough to compare.
Floats pattern(size_t count, unsigned step) {
  Floats values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(static_cast<int>(i * step % 65) - 32) / 8.0f;
  return values;
}

void write(cl_command_queue queue, cl_mem buffer, const Floats& values) {
  check(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, values.size() * sizeof(float),
                             values.data(), 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
}

void read(cl_command_queue queue, cl_mem buffer, Floats& values) {
  check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, values.size() * sizeof(float), values.data(),
                            0, nullptr, nullptr),
        "clEnqueueReadBuffer");
}

void expect(bool right, const char* kernel, const char* shape) {
  if (!right) {
    std::fprintf(stderr, "opencl_demo: %s: the device's result is wrong\n", kernel);
    std::exit(1);
  }
  std::printf("%-10s %-22s ok\n", kernel, shape);
}

bool matrixIsRight(const Floats& a, const Floats& b, const Floats& out) {
  // Every 37th element: each depends on a full row and a full column, and all rows and columns
  // occur.
  for (size_t i = 0; i < out.size(); i += 37) {
    const size_t row = i / kMatrix, column = i % kMatrix;
    double sum = 0;
    for (size_t k = 0; k < kMatrix; ++k)
      sum += static_cast<double>(a[row * kMatrix + k]) * b[k * kMatrix + column];
    if (std::fabs(sum - out[i]) > 1e-3 * (1 + std::fabs(sum))) return false;
  }
  return true;
}

int parseRepeat(int argc, char** argv) {
  if (argc == 1) return 1;
  char* end = nullptr;
  const long repeat = argc == 3 ? std::strtol(argv[2], &end, 10) : 0;
  if (argc == 3 && std::strcmp(argv[1], "--repeat") == 0 && *end == '\0' && repeat >= 1 &&
      repeat <= 1000000)
    return static_cast<int>(repeat);
  std::fprintf(stderr, "usage: opencl_demo [--repeat N]   N rounds of all kernels, 1 to 1000000\n");
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  const int repeat = parseRepeat(argc, argv);
  const Device device = pickDevice();
  std::printf("device     %s\n", device.name.c_str());
  Compute compute(device, kSource);
  cl_command_queue first = compute.queue(0), second = compute.queue(1);

  const size_t vector_bytes = kElements * sizeof(float);
  const size_t matrix_bytes = kMatrix * kMatrix * sizeof(float);
  const Floats a = pattern(kElements, 7), b = pattern(kElements, 3);
  const Floats matrix_a = pattern(kMatrix * kMatrix, 11), matrix_b = pattern(kMatrix * kMatrix, 5);
  Floats sum(kElements), positive(kElements), product(kMatrix * kMatrix);

  cl_mem a_buffer = compute.buffer(CL_MEM_READ_ONLY, vector_bytes);
  cl_mem b_buffer = compute.buffer(CL_MEM_READ_ONLY, vector_bytes);
  cl_mem sum_buffer = compute.buffer(CL_MEM_READ_WRITE, vector_bytes);
  cl_mem positive_buffer = compute.buffer(CL_MEM_WRITE_ONLY, vector_bytes);
  cl_mem matrix_a_buffer = compute.buffer(CL_MEM_READ_ONLY, matrix_bytes);
  cl_mem matrix_b_buffer = compute.buffer(CL_MEM_READ_ONLY, matrix_bytes);
  cl_mem product_buffer = compute.buffer(CL_MEM_WRITE_ONLY, matrix_bytes);

  cl_kernel add = compute.kernel("vectorAdd");
  cl_kernel relu = compute.kernel("relu");
  cl_kernel multiply = compute.kernel("matrixMul");
  setArguments(add, a_buffer, b_buffer, sum_buffer);
  setArguments(relu, sum_buffer, positive_buffer);
  setArguments(multiply, matrix_a_buffer, matrix_b_buffer, product_buffer,
               static_cast<cl_int>(kMatrix));

  write(first, a_buffer, a);
  write(first, b_buffer, b);
  write(second, matrix_a_buffer, matrix_a);
  write(second, matrix_b_buffer, matrix_b);
  const size_t matrix_global[2] = {kMatrix, kMatrix}, matrix_local[2] = {kTile, kTile};
  const size_t local = 64;
  for (int round = 0; round < repeat; ++round) {
    cl_event added = nullptr;
    check(clEnqueueNDRangeKernel(first, add, 1, nullptr, &kElements, &local, 0, nullptr, &added),
          "clEnqueueNDRangeKernel(vectorAdd)");
    check(clFlush(first), "clFlush");
    check(clEnqueueNDRangeKernel(second, multiply, 2, nullptr, matrix_global, matrix_local, 0,
                                 nullptr, nullptr),
          "clEnqueueNDRangeKernel(matrixMul)");
    // relu reads what vectorAdd writes in the other queue, so it waits for vectorAdd's event.
    check(clEnqueueNDRangeKernel(second, relu, 1, nullptr, &kElements, nullptr, 1, &added, nullptr),
          "clEnqueueNDRangeKernel(relu)");
    check(clReleaseEvent(added), "clReleaseEvent");
    check(clFinish(first), "clFinish");
    check(clFinish(second), "clFinish");
  }
  read(first, sum_buffer, sum);
  read(second, positive_buffer, positive);
  read(second, product_buffer, product);

  bool sum_right = true, positive_right = true;
  for (size_t i = 0; i < kElements; ++i) {
    sum_right = sum_right && sum[i] == a[i] + b[i];
    positive_right = positive_right && positive[i] == std::fmax(a[i] + b[i], 0.0f);
  }
  expect(sum_right, "vectorAdd", "1048576 floats");
  expect(matrixIsRight(matrix_a, matrix_b, product), "matrixMul", "512 x 512");
  expect(positive_right, "relu", "1048576 floats");
  std::printf("PASS\n");
  return 0;
}
