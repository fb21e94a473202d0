// SPDX-License-Identifier: Apache-2.0
// A graph of kernels, captured once and launched many times. Usage: graphs [LAUNCHES [NODES]]
#include "sample.hpp"

constexpr int kItems = 4096;

extern "C" __global__ void addOne(unsigned* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ++data[i];
}

int main(int argc, char** argv) {
  sample::start();
  const unsigned launches = sample::number(argc, argv, 1, 200);
  const unsigned nodes = sample::number(argc, argv, 2, 16);
  unsigned* const data = sample::allocate<unsigned>(kItems);
  CHECK(cudaMemset(data, 0, kItems * sizeof(unsigned)));
  ++sample::did.fills, sample::did.fill_bytes += kItems * sizeof(unsigned);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (unsigned i = 0; i < nodes; ++i) addOne<<<kItems / 256, 256, 0, stream>>>(data, kItems);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  int64_t launched = 0;
  const int64_t begin = sample::nowNs();
  sample::bracket("addOne", uint64_t{launches} * nodes, [&] {
    for (unsigned i = 0; i < launches; ++i) CHECK(cudaGraphLaunch(exec, stream));
    launched = sample::nowNs();
  });
  const int64_t end = sample::nowNs();
  sample::did.graph_launches = launches;
  std::swap(sample::did.graph_kernels, sample::did.kernels);  // all kernels belong to the graph
  std::vector<unsigned> back(kItems);
  sample::copyOut(back, data);
  for (const unsigned value : back) sample::require(value == launches * nodes, "a count");
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  sample::release(data, kItems * sizeof(unsigned));
  sample::say("graphs", ", \"nodes\": " + std::to_string(nodes) +
                            ", \"launch_ns\": " + std::to_string(launched - begin) +
                            ", \"loop_ns\": " + std::to_string(end - begin));
}
