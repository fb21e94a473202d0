// SPDX-License-Identifier: Apache-2.0
// Two streams that wait for each other's events. An event is recorded again before the next wait
// for it, so that each wait is for exactly one recording. Usage: events [ROUNDS]
#include "sample.hpp"

constexpr int kItems = 4096;

extern "C" __global__ void produce(unsigned* data, unsigned value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = value;
}

extern "C" __global__ void consume(const unsigned* data, unsigned* sums) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  sums[i] += data[i];
}

int main(int argc, char** argv) {
  sample::start();
  const unsigned rounds = sample::number(argc, argv, 1, 50);
  unsigned* const data = sample::allocate<unsigned>(kItems);
  unsigned* const sums = sample::allocate<unsigned>(kItems);
  CHECK(cudaMemset(sums, 0, kItems * sizeof(unsigned)));
  ++sample::did.fills, sample::did.fill_bytes += kItems * sizeof(unsigned);
  cudaStream_t producer = nullptr, consumer = nullptr;
  cudaEvent_t produced = nullptr, consumed = nullptr;
  CHECK(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&produced, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&consumed, cudaEventDisableTiming));
  CHECK(cudaDeviceSynchronize());
  unsigned records = 0, waits = 0;
  std::string edges;
  const auto record = [&](cudaEvent_t event, cudaStream_t stream) {
    CHECK(cudaEventRecord(event, stream));
    ++records;
  };
  // Waits for the last recording of the event.
  const auto wait = [&](cudaStream_t stream, cudaEvent_t event) {
    CHECK(cudaStreamWaitEvent(stream, event, 0));
    edges += std::string(edges.empty() ? "" : ", ") + "[" + std::to_string(records - 1) + ", " +
             std::to_string(waits++) + "]";
  };
  unsigned expected = 0;
  sample::bracket("produce", rounds, [&] {
    for (unsigned round = 0; round < rounds; ++round) {
      produce<<<kItems / 256, 256, 0, producer>>>(data, round + 1);
      record(produced, producer);
      wait(consumer, produced);
      consume<<<kItems / 256, 256, 0, consumer>>>(data, sums);
      record(consumed, consumer);
      wait(producer, consumed);
      expected += round + 1;
    }
  });
  sample::did.kernels += rounds;  // those of the consuming stream
  std::vector<unsigned> back(kItems);
  sample::copyOut(back, sums);
  for (const unsigned value : back) sample::require(value == expected, "a sum");
  CHECK(cudaEventDestroy(produced));
  CHECK(cudaEventDestroy(consumed));
  CHECK(cudaStreamDestroy(producer));
  CHECK(cudaStreamDestroy(consumer));
  for (unsigned* const p : {data, sums}) sample::release(p, kItems * sizeof(unsigned));
  sample::say("events", ", \"rounds\": " + std::to_string(rounds) + ", \"records\": " +
                            std::to_string(records) + ", \"waits\": " + std::to_string(waits) +
                            ", \"edges\": [" + edges + "]");
}
