// SPDX-License-Identifier: Apache-2.0
// Threads that all launch at the same time, each into a stream of its own, with graphs, copies and
// memory of the stream's order in between: what a recorder that comes and goes has to withstand.
//
// Usage: threads [THREADS] [SECONDS]
#include <atomic>
#include <thread>

#include "sample.hpp"

__global__ void addOne(uint32_t* data) { data[threadIdx.x] += 1; }

constexpr int kItems = 64;
constexpr unsigned kLaunches = 100;  // in a round, and as many in its graph

struct Done {
  uint64_t kernels = 0, graph_launches = 0;
  std::vector<double> ns_a_kernel;  // of each round
  std::vector<int64_t> end_ns;
};

static void work(int64_t until, Done& done) {
  cudaStream_t stream{};
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, kItems * sizeof(uint32_t)));
  auto* const data = static_cast<uint32_t*>(memory);
  CHECK(cudaMemsetAsync(data, 0, kItems * sizeof(uint32_t), stream));
  cudaGraph_t graph{};
  cudaGraphExec_t executable{};
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (unsigned i = 0; i < kLaunches; ++i) addOne<<<1, kItems, 0, stream>>>(data);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  uint32_t expected = 0;
  while (sample::nowNs() < until) {
    const int64_t begin = sample::nowNs();
    for (unsigned i = 0; i < kLaunches; ++i) addOne<<<1, kItems, 0, stream>>>(data);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(stream));
    const int64_t launched = sample::nowNs();
    CHECK(cudaGraphLaunch(executable, stream));
    void* passing = nullptr;
    CHECK(cudaMallocAsync(&passing, 4096, stream));
    CHECK(cudaMemsetAsync(passing, 0, 4096, stream));
    CHECK(cudaFreeAsync(passing, stream));
    expected += 2 * kLaunches;
    uint32_t values[kItems];
    CHECK(cudaMemcpyAsync(values, data, sizeof values, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (const uint32_t value : values) sample::require(value == expected, "a number");
    done.kernels += kLaunches, ++done.graph_launches;
    done.ns_a_kernel.push_back(static_cast<double>(launched - begin) / kLaunches);
    done.end_ns.push_back(launched);
  }
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaFree(memory));
  CHECK(cudaStreamDestroy(stream));
}

int main(int argc, char** argv) {
  const unsigned threads = sample::number(argc, argv, 1, 8);
  const unsigned seconds = sample::number(argc, argv, 2, 1);
  sample::start();
  std::vector<Done> done(threads);
  std::vector<std::thread> running;
  const int64_t until = sample::nowNs() + int64_t{seconds} * 1'000'000'000;
  for (Done& one : done) running.emplace_back([&] { work(until, one); });
  for (std::thread& thread : running) thread.join();
  std::string rounds = ", \"rounds\": [";
  for (const Done& one : done) {
    sample::did.kernels += one.kernels;
    sample::did.graph_launches += one.graph_launches;
    sample::did.graph_kernels += one.graph_launches * kLaunches;
    for (size_t i = 0; i < one.end_ns.size(); ++i) {
      char text[80];
      std::snprintf(text, sizeof text, "%s[%" PRId64 ", %.0f]", rounds.back() == '[' ? "" : ", ",
                    one.end_ns[i], one.ns_a_kernel[i]);
      rounds += text;
    }
  }
  sample::say("threads", rounds + "]");
}
