// SPDX-License-Identifier: Apache-2.0
// Kernels that run for a known time and record their start and end by the device's clock. Usage:
//   streams many [STREAMS [MICROSECONDS]]   one kernel in each stream, all at once
//   streams one [KERNELS [MICROSECONDS]]    one stream that is never empty
#include <algorithm>
#include <cstring>
#include <utility>

#include "sample.hpp"

struct Ran {
  unsigned long long begin, end;
};

__device__ unsigned long long deviceNs() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

extern "C" __global__ void spin(Ran* ran, unsigned long long ns) {
  const unsigned long long begin = deviceNs();
  while (deviceNs() - begin < ns) continue;
  *ran = {begin, deviceNs()};
}

// The largest number of kernels that ran at the same time.
static unsigned mostAtOnce(const std::vector<Ran>& all) {
  std::vector<std::pair<unsigned long long, int>> edges;
  for (const Ran& r : all) edges.insert(edges.end(), {{r.begin, 1}, {r.end, -1}});
  std::sort(edges.begin(), edges.end());
  int now = 0, most = 0;
  for (const auto& edge : edges) most = std::max(most, now += edge.second);
  return static_cast<unsigned>(most);
}

int main(int argc, char** argv) {
  sample::start();
  const bool many = argc < 2 || std::strcmp(argv[1], "many") == 0;
  const unsigned kernels = std::max(1u, sample::number(argc, argv, 2, many ? 4 : 300));
  const unsigned long long ns = 1000ull * sample::number(argc, argv, 3, many ? 20'000 : 1000);
  std::vector<cudaStream_t> streams(many ? kernels : 1);
  for (cudaStream_t& s : streams) CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  Ran* const ran = sample::allocate<Ran>(kernels);
  // Load the kernel before its times count.
  sample::bracket("spin", 1, [&] { spin<<<1, 1, 0, streams.front()>>>(ran, 1000); });
  sample::bracket("spin", kernels, [&] {
    for (unsigned i = 0; i < kernels; ++i) {
      spin<<<1, 1, 0, streams[i % streams.size()]>>>(ran + i, ns);
    }
  });
  std::vector<Ran> all(kernels);
  sample::copyOut(all, ran);
  unsigned long long sum = 0;
  for (const Ran& r : all) {
    sample::require(r.end - r.begin >= ns, "a kernel's time");
    sum += r.end - r.begin;
  }
  const auto first = std::min_element(all.begin(), all.end(),
                                      [](const Ran& a, const Ran& b) { return a.begin < b.begin; });
  const auto last = std::max_element(all.begin(), all.end(),
                                     [](const Ran& a, const Ran& b) { return a.end < b.end; });
  sample::release(ran, kernels * sizeof(Ran));
  for (const cudaStream_t s : streams) CHECK(cudaStreamDestroy(s));
  sample::say("streams", ", \"streams\": " + std::to_string(streams.size()) +
                             ", \"most_at_once\": " + std::to_string(mostAtOnce(all)) +
                             ", \"device_busy_ns\": " + std::to_string(sum) +
                             ", \"device_span_ns\": " + std::to_string(last->end - first->begin));
}
