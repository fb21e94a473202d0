// SPDX-License-Identifier: Apache-2.0
// Copies memory from one device to another and back. If the devices can access each other's memory,
// a kernel does that as well. With only one device it prints that, instead of the summary. Usage:
// peer_copy [TIMES]
#include "sample.hpp"

constexpr size_t kBytes = 8u << 20;

extern "C" __global__ void readPeer(const unsigned char* there, unsigned char* here, size_t n) {
  const size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) here[i] = there[i];
}

int main(int argc, char** argv) {
  if (sample::start() < 2) {
    std::printf("{\"sample\": \"peer_copy\", \"absent\": \"there is one device\"}\n");
    return 0;
  }
  const unsigned times = sample::number(argc, argv, 1, 10);
  std::vector<unsigned char> there(kBytes), back(kBytes);
  for (size_t i = 0; i < kBytes; ++i) there[i] = static_cast<unsigned char>(i * 31 + i / 977);
  unsigned char* const first = sample::allocate<unsigned char>(kBytes);
  CHECK(cudaSetDevice(1));
  unsigned char* const second = sample::allocate<unsigned char>(kBytes);
  CHECK(cudaSetDevice(0));
  sample::copyIn(first, there);
  for (unsigned i = 0; i < times; ++i) {
    CHECK(cudaMemcpyPeer(second, 1, first, 0, kBytes));
    CHECK(cudaMemset(first, 0, kBytes));
    ++sample::did.fills, sample::did.fill_bytes += kBytes;
    CHECK(cudaMemcpyPeer(first, 0, second, 1, kBytes));
    sample::did.peer += 2, sample::did.peer_bytes += 2 * kBytes;
  }
  int can_read = 0;
  CHECK(cudaDeviceCanAccessPeer(&can_read, 0, 1));
  if (can_read != 0) {
    CHECK(cudaDeviceEnablePeerAccess(1, 0));
    sample::bracket("readPeer", 1, [&] {
      readPeer<<<static_cast<unsigned>((kBytes + 255) / 256), 256>>>(second, first, kBytes);
    });
  }
  sample::copyOut(back, first);
  sample::require(there == back, "what came back");
  sample::release(first, kBytes);
  CHECK(cudaSetDevice(1));
  sample::release(second, kBytes);
  CHECK(cudaSetDevice(0));
  sample::say("peer_copy");
}
