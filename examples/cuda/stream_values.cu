// SPDX-License-Identifier: Apache-2.0
// Two streams synchronised by values in memory: one stream writes a value and the other waits for
// it. No event is recorded. Usage: stream_values [ROUNDS]
#include "driver.hpp"

constexpr const char* kName = "stream_values";
constexpr int kItems = 4096;

extern "C" __global__ void stepProduce(unsigned* data, unsigned value) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

extern "C" __global__ void stepConsume(const unsigned* data, unsigned* sums) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  sums[i] += data[i];
}

int main(int argc, char** argv) {
  sample::start();
  const auto write = DRIVER_FUNCTION(kName, cuStreamWriteValue32);
  const auto wait = DRIVER_FUNCTION(kName, cuStreamWaitValue32);
  const unsigned rounds = sample::number(argc, argv, 1, 30);
  unsigned* const data = sample::allocate<unsigned>(kItems);
  unsigned* const sums = sample::allocate<unsigned>(kItems);
  unsigned* const values = sample::allocate<unsigned>(2);
  for (const auto& memory : {std::make_pair(sums, kItems), std::make_pair(values, 2)}) {
    CHECK(cudaMemset(memory.first, 0, memory.second * sizeof(unsigned)));
    ++sample::did.fills, sample::did.fill_bytes += memory.second * sizeof(unsigned);
  }
  cudaStream_t producer = nullptr, consumer = nullptr;
  CHECK(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
  CHECK(cudaDeviceSynchronize());
  const auto produced = reinterpret_cast<CUdeviceptr>(values);
  const auto consumed = reinterpret_cast<CUdeviceptr>(values + 1);
  unsigned expected = 0;
  sample::bracket("stepProduce", rounds, [&] {
    for (unsigned round = 1; round <= rounds; ++round) {
      stepProduce<<<kItems / 256, 256, 0, producer>>>(data, round);
      CHECK_DRIVER(write(producer, produced, round, CU_STREAM_WRITE_VALUE_DEFAULT));
      CHECK_DRIVER(wait(consumer, produced, round, CU_STREAM_WAIT_VALUE_GEQ));
      stepConsume<<<kItems / 256, 256, 0, consumer>>>(data, sums);
      CHECK_DRIVER(write(consumer, consumed, round, CU_STREAM_WRITE_VALUE_DEFAULT));
      CHECK_DRIVER(wait(producer, consumed, round, CU_STREAM_WAIT_VALUE_GEQ));
      expected += round;
    }
  });
  sample::did.kernels += rounds;  // those of the consuming stream
  std::vector<unsigned> back(kItems);
  sample::copyOut(back, sums);
  for (const unsigned value : back) sample::require(value == expected, "a sum");
  CHECK(cudaStreamDestroy(producer));
  CHECK(cudaStreamDestroy(consumer));
  for (unsigned* const p : {data, sums}) sample::release(p, kItems * sizeof(unsigned));
  sample::release(values, 2 * sizeof(unsigned));
  sample::say(kName, ", \"rounds\": " + std::to_string(rounds) +
                         ", \"value_writes\": " + std::to_string(2 * rounds) +
                         ", \"value_waits\": " + std::to_string(2 * rounds));
}
