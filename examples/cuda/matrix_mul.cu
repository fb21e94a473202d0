// SPDX-License-Identifier: Apache-2.0
// Multiplies two matrices of 512 x 512, in tiles. Usage: matrix_mul [TIMES]
#include <cmath>

#include "sample.hpp"

constexpr int kSide = 512;
constexpr int kTile = 16;

extern "C" __global__ void matrixMul(const float* a, const float* b, float* c) {
  __shared__ float ta[kTile][kTile], tb[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int at = 0; at < kSide; at += kTile) {
    ta[threadIdx.y][threadIdx.x] = a[row * kSide + at + threadIdx.x];
    tb[threadIdx.y][threadIdx.x] = b[(at + threadIdx.y) * kSide + column];
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += ta[threadIdx.y][k] * tb[k][threadIdx.x];
    __syncthreads();
  }
  c[row * kSide + column] = sum;
}

int main(int argc, char** argv) {
  sample::start();
  const unsigned times = sample::number(argc, argv, 1, 20);
  constexpr size_t kItems = size_t{kSide} * kSide;
  std::vector<float> a(kItems), b(kItems), c(kItems);
  for (size_t i = 0; i < kItems; ++i) {
    a[i] = static_cast<float>(i % 17) - 8;
    b[i] = static_cast<float>(i % 23) * 0.5f;
  }
  float* const da = sample::allocate<float>(kItems);
  float* const db = sample::allocate<float>(kItems);
  float* const dc = sample::allocate<float>(kItems);
  sample::copyIn(da, a);
  sample::copyIn(db, b);
  const dim3 grid(kSide / kTile, kSide / kTile), block(kTile, kTile);
  for (unsigned i = 0; i < times; ++i) {
    sample::bracket("matrixMul", 1, [&] { matrixMul<<<grid, block>>>(da, db, dc); });
  }
  sample::copyOut(c, dc);
  for (int row = 0; row < kSide; row += 37) {
    for (int column = 0; column < kSide; column += 41) {
      double sum = 0;
      for (int k = 0; k < kSide; ++k) {
        sum += static_cast<double>(a[row * kSide + k]) * b[k * kSide + column];
      }
      sample::require(std::fabs(sum - c[row * kSide + column]) <= 1e-3 * (1 + std::fabs(sum)),
                      "a product");
    }
  }
  for (float* const p : {da, db, dc}) sample::release(p, kItems * sizeof(float));
  sample::say("matrix_mul");
}
