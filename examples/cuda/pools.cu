// SPDX-License-Identifier: Apache-2.0
// Memory from the device's pool and from a pool of its own: allocated and freed in stream order;
// then the pools are trimmed. Usage: pools [ROUNDS]
#include "sample.hpp"

constexpr size_t kKilobyte = 1024;

extern "C" __global__ void fillPool(unsigned* data, size_t n, unsigned value) {
  const size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) data[i] = value;
}

int main(int argc, char** argv) {
  sample::start();
  int has_pools = 0;
  CHECK(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, 0));
  if (has_pools == 0) {
    std::printf("{\"sample\": \"pools\", \"absent\": \"this device has no memory pools\"}\n");
    return 0;
  }
  const unsigned rounds = sample::number(argc, argv, 1, 20);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t own = nullptr, usual = nullptr;
  CHECK(cudaMemPoolCreate(&own, &properties));
  CHECK(cudaDeviceGetDefaultMemPool(&usual, 0));
  uint64_t keep = ~uint64_t{0};
  CHECK(cudaMemPoolSetAttribute(usual, cudaMemPoolAttrReleaseThreshold, &keep));
  unsigned of_own = 0;
  unsigned last = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    const size_t bytes = (round % 7 + 1) * 256 * kKilobyte, items = bytes / sizeof(unsigned);
    unsigned* memory = nullptr;
    if (round % 2 == 0) {
      CHECK(cudaMallocAsync(&memory, bytes, stream));
    } else {
      CHECK(cudaMallocFromPoolAsync(&memory, bytes, own, stream));
      ++of_own;
    }
    ++sample::did.allocations, sample::did.allocated_bytes += bytes;
    sample::bracket("fillPool", 1, [&] {
      fillPool<<<static_cast<unsigned>((items + 255) / 256), 256, 0, stream>>>(memory, items,
                                                                               round + 1);
    });
    CHECK(cudaMemcpyAsync(&last, memory + items - 1, sizeof last, cudaMemcpyDeviceToHost, stream));
    ++sample::did.dtoh, sample::did.dtoh_bytes += sizeof last;
    CHECK(cudaFreeAsync(memory, stream));
    ++sample::did.frees, sample::did.freed_bytes += bytes;
    CHECK(cudaStreamSynchronize(stream));
    sample::require(last == round + 1, "a number");
  }
  CHECK(cudaMemPoolTrimTo(usual, 0));
  CHECK(cudaMemPoolTrimTo(own, 0));
  CHECK(cudaMemPoolDestroy(own));
  CHECK(cudaStreamDestroy(stream));
  sample::say("pools", ", \"own_allocations\": " + std::to_string(of_own) +
                           ", \"pools_created\": 1, \"pools_destroyed\": 1, \"trims\": 2");
}
