// SPDX-License-Identifier: Apache-2.0
// Replaces negative numbers by zero in a million numbers. Usage: relu [TIMES]
#include "sample.hpp"

constexpr int kItems = 1 << 20;
constexpr int kBlock = 256;

extern "C" __global__ void relu(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] > 0 ? in[i] : 0;
}

int main(int argc, char** argv) {
  sample::start();
  const unsigned times = sample::number(argc, argv, 1, 20);
  std::vector<float> in(kItems), out(kItems);
  for (int i = 0; i < kItems; ++i) in[i] = static_cast<float>(i % 2001) - 1000;
  float* const din = sample::allocate<float>(kItems);
  float* const dout = sample::allocate<float>(kItems);
  sample::copyIn(din, in);
  for (unsigned i = 0; i < times; ++i) {
    sample::bracket("relu", 1,
                    [&] { relu<<<(kItems + kBlock - 1) / kBlock, kBlock>>>(din, dout, kItems); });
  }
  sample::copyOut(out, dout);
  for (int i = 0; i < kItems; ++i) sample::require(out[i] == (in[i] > 0 ? in[i] : 0), "a number");
  for (float* const p : {din, dout}) sample::release(p, kItems * sizeof(float));
  sample::say("relu");
}
