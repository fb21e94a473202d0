// SPDX-License-Identifier: Apache-2.0
// Kernels record their start and end by the device's clock, and exchanges compare that clock with
// the host's, so that the times in a trace can be checked. Usage: clocks [SECONDS
// [MEAN_GAP_MICROSECONDS]]
//   stamps     [host before the launch, device at its start, at its end, host after the wait]
//   exchanges  [host before it asks, device when it answers, host after it sees the answer]: the
//              narrowest of some hundred exchanges through shared memory, twice a second
#include <algorithm>
#include <atomic>
#include <random>

#include "sample.hpp"

constexpr unsigned kRounds = 200;
constexpr int64_t kExchangeEveryNs = 500'000'000;

struct Stamp {
  unsigned long long begin, end;
};

// In host memory that the device can access.
struct Mailbox {
  unsigned ask, answer;
  unsigned long long time;
};

__device__ unsigned long long deviceNs() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

extern "C" __global__ void stamp(Stamp* out, unsigned long long ns) {
  const unsigned long long begin = deviceNs();
  while (deviceNs() - begin < ns) continue;
  *out = {begin, deviceNs()};
}

/// Answers each question with the time; gives up after two seconds without a question.
extern "C" __global__ void exchange(volatile Mailbox* box, unsigned rounds) {
  for (unsigned round = 1; round <= rounds; ++round) {
    const unsigned long long began = deviceNs();
    while (box->ask != round) {
      if (deviceNs() - began > 2'000'000'000ull) return;
    }
    box->time = deviceNs();
    __threadfence_system();
    box->answer = round;
    __threadfence_system();
  }
}

/// The smallest step of the device's clock, and the number of steps it made in `reads` reads.
extern "C" __global__ void resolution(unsigned long long* out, unsigned reads) {
  unsigned long long least = ~0ull, steps = 0, before = deviceNs();
  for (unsigned i = 0; i < reads; ++i) {
    const unsigned long long now = deviceNs();
    if (now == before) continue;
    least = now - before < least ? now - before : least;
    ++steps;
    before = now;
  }
  out[0] = least;
  out[1] = steps;
}

static std::string exchangeOnce(Mailbox* box, Mailbox* on_device) {
  *box = {};
  std::atomic_thread_fence(std::memory_order_seq_cst);
  exchange<<<1, 1>>>(on_device, kRounds);
  CHECK(cudaGetLastError());
  ++sample::did.kernels;
  volatile Mailbox* const shared = box;
  int64_t before = 0, after = 0, narrowest = INT64_MAX;
  unsigned long long device = 0;
  const int64_t began = sample::nowNs();
  for (unsigned round = 1; round <= kRounds; ++round) {
    const int64_t asked = sample::nowNs();
    shared->ask = round;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    while (shared->answer != round) {
      sample::require(sample::nowNs() - began < 5'000'000'000, "the device does not answer");
    }
    const int64_t seen = sample::nowNs();
    std::atomic_thread_fence(std::memory_order_seq_cst);
    // The first round also includes the start.
    if (round == 1 || seen - asked >= narrowest) continue;
    narrowest = seen - asked;
    before = asked, after = seen, device = shared->time;
  }
  CHECK(cudaDeviceSynchronize());
  return "[" + std::to_string(before) + ", " + std::to_string(device) + ", " +
         std::to_string(after) + "]";
}

int main(int argc, char** argv) {
  sample::start();
  const int64_t run_ns = int64_t{sample::number(argc, argv, 1, 6)} * 1'000'000'000;
  const unsigned gap_us = std::max(1u, sample::number(argc, argv, 2, 8000));
  Mailbox *box = nullptr, *box_on_device = nullptr;
  CHECK(cudaHostAlloc(&box, sizeof *box, cudaHostAllocMapped));
  CHECK(cudaHostGetDevicePointer(&box_on_device, box, 0));
  auto* const out = sample::allocate<unsigned long long>(2);
  auto* const slot = sample::allocate<Stamp>(1);
  std::vector<unsigned long long> steps(2);
  sample::bracket("resolution", 1, [&] { resolution<<<1, 1>>>(out, 100'000); });
  sample::copyOut(steps, out);
  stamp<<<1, 1>>>(slot, 1000);  // load the kernel before its times count
  CHECK(cudaDeviceSynchronize());
  ++sample::did.kernels;

  std::mt19937 random(1);
  std::string stamps, exchanges = exchangeOnce(box, box_on_device);
  unsigned count = 0;
  std::vector<Stamp> ran(1);
  int64_t exchanged = sample::nowNs();
  for (const int64_t begin = exchanged; sample::nowNs() - begin < run_ns;) {
    usleep(random() % (2 * gap_us));
    const unsigned long long ns = 2000 + random() % 50'000;
    const int64_t before = sample::nowNs();
    stamp<<<1, 1>>>(slot, ns);
    CHECK(cudaDeviceSynchronize());
    const int64_t after = sample::nowNs();
    ++sample::did.kernels;
    sample::copyOut(ran, slot);
    stamps += std::string(count++ == 0 ? "" : ", ") + "[" + std::to_string(before) + ", " +
              std::to_string(ran[0].begin) + ", " + std::to_string(ran[0].end) + ", " +
              std::to_string(after) + "]";
    if (sample::nowNs() - exchanged < kExchangeEveryNs) continue;
    exchanges += ", " + exchangeOnce(box, box_on_device);
    exchanged = sample::nowNs();
  }
  exchanges += ", " + exchangeOnce(box, box_on_device);
  CHECK(cudaFreeHost(box));
  sample::release(out, 2 * sizeof *out);
  sample::release(slot, sizeof *slot);
  sample::say("clocks", ", \"resolution_ns\": " + std::to_string(steps[0]) +
                            ", \"clock_steps\": " + std::to_string(steps[1]) + ", \"stamps\": [" +
                            stamps + "], \"exchanges\": [" + exchanges + "]");
}
