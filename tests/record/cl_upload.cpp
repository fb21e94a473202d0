// SPDX-License-Identifier: Apache-2.0
// Uploads as many MiB as it is told, no two of them the same and none that can be compressed.
// Usage: cl_upload MIB
#include <cstdint>
#include <vector>

#include "../capture/cl_program.hpp"

int main(int argc, char** argv) {
  const uint64_t mib = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1024;
  const ClProgram cl;
  cl_command_queue queue = cl.queue();
  constexpr size_t kBytes = 32u << 20;
  cl_mem buffer = cl.buffer(kBytes);
  std::vector<uint64_t> words(kBytes / 8);
  uint64_t random = 88172645463325252ull;
  for (uint64_t& w : words) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    w = random;
  }
  for (uint64_t done = 0; done < mib; done += 32) {
    for (size_t at = 0; at < words.size(); at += 512) words[at] += done + 1;
    check(
        clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, kBytes, words.data(), 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
  }
  check(clFinish(queue), "clFinish");
  clReleaseMemObject(buffer);
  clReleaseCommandQueue(queue);
  return 0;
}
