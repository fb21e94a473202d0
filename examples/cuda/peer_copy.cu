// SPDX-License-Identifier: Apache-2.0
// Copies memory from one device to another and back. Usage: peer_copy [TIMES]
// With one device it says so, in place of what it did.
#include "sample.hpp"

constexpr size_t kBytes = 8u << 20;

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
  sample::copyOut(back, first);
  sample::require(there == back, "what came back");
  sample::release(first, kBytes);
  CHECK(cudaSetDevice(1));
  sample::release(second, kBytes);
  CHECK(cudaSetDevice(0));
  sample::say("peer_copy");
}
