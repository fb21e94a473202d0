// SPDX-License-Identifier: Apache-2.0
// Adds two vectors of a million numbers. Usage: vector_add [TIMES]
#include "sample.hpp"

constexpr int kItems = 1 << 20;
constexpr int kBlock = 256;

extern "C" __global__ void vectorAdd(const float* a, const float* b, float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

int main(int argc, char** argv) {
  sample::start();
  const unsigned times = sample::number(argc, argv, 1, 20);
  std::vector<float> a(kItems), b(kItems), sum(kItems);
  for (int i = 0; i < kItems; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = static_cast<float>(i % 1000) * 0.25f;
  }
  float* const da = sample::allocate<float>(kItems);
  float* const db = sample::allocate<float>(kItems);
  float* const dsum = sample::allocate<float>(kItems);
  sample::copyIn(da, a);
  sample::copyIn(db, b);
  CHECK(cudaMemset(dsum, 0, kItems * sizeof(float)));
  ++sample::did.fills, sample::did.fill_bytes += kItems * sizeof(float);
  for (unsigned i = 0; i < times; ++i) {
    sample::bracket("vectorAdd", 1, [&] {
      vectorAdd<<<(kItems + kBlock - 1) / kBlock, kBlock>>>(da, db, dsum, kItems);
    });
  }
  sample::copyOut(sum, dsum);
  for (int i = 0; i < kItems; ++i) sample::require(sum[i] == a[i] + b[i], "a sum");
  for (float* const p : {da, db, dsum}) sample::release(p, kItems * sizeof(float));
  sample::say("vector_add");
}
