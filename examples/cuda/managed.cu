// SPDX-License-Identifier: Apache-2.0
// Managed memory that the host and a kernel write alternately, so that it migrates each time.
// Usage: managed [MEGABYTES [ROUNDS]]; at most 64 MB, and at most half of the free memory
#include <algorithm>

#include "sample.hpp"

constexpr size_t kMegabyte = 1u << 20;
constexpr size_t kMostBytes = 64 * kMegabyte;

extern "C" __global__ void addToManaged(unsigned* data, size_t n) {
  const size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
}

int main(int argc, char** argv) {
  sample::start();
  size_t free_bytes = 0, total_bytes = 0;
  CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  size_t bytes = std::min(sample::number(argc, argv, 1, 16) * kMegabyte, kMostBytes);
  bytes = std::min(bytes, free_bytes / 2) / kMegabyte * kMegabyte;
  sample::require(bytes > 0, "there is no free memory");
  const unsigned rounds = sample::number(argc, argv, 2, 3);
  const size_t items = bytes / sizeof(unsigned);
  unsigned* data = nullptr;
  CHECK(cudaMallocManaged(&data, bytes));
  ++sample::did.allocations, sample::did.allocated_bytes += bytes;
  for (size_t i = 0; i < items; ++i) data[i] = static_cast<unsigned>(i);
  for (unsigned round = 0; round < rounds; ++round) {
    sample::bracket("addToManaged", 1, [&] {
      addToManaged<<<static_cast<unsigned>((items + 255) / 256), 256>>>(data, items);
    });
    for (size_t i = 0; i < items; ++i) data[i] += 1;
  }
  for (size_t i = 0; i < items; ++i) {
    sample::require(data[i] == static_cast<unsigned>(i) + 2 * rounds, "a number");
  }
  sample::release(data, bytes);
  int faults = 0;
  CHECK(cudaDeviceGetAttribute(&faults, cudaDevAttrConcurrentManagedAccess, 0));
  sample::say("managed", ", \"managed_bytes\": " + std::to_string(bytes) + ", \"rounds\": " +
                             std::to_string(rounds) + ", \"moves_by_faults\": " +
                             (faults != 0 ? "true" : "false"));
}
