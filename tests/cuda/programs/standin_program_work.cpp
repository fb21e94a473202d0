// SPDX-License-Identifier: Apache-2.0
// The work that the modes of the stand-ins' programs are made of, with the driver's API.
#include "standin_program.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace program {

void loadModule() {
  CUmodule module = nullptr;
  constexpr const char* kImage = ".version 8.0\n.visible .entry vectorAdd() { ret; }\n";
  CHECK(cuModuleLoadData(&module, kImage));
  const char* const name = std::getenv("STANDIN_KERNEL");
  CHECK(cuModuleGetFunction(&vector_add, module, name != nullptr ? name : "vectorAdd"));
  CHECK(cuModuleGetFunction(&busy_wait, module, "busyWait"));
  ++counts.modules;
  counts.module_bytes += std::strlen(kImage);
}

void start(CUdevice ordinal) {
  CUdevice device = 0;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, ordinal));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  ++counts.contexts;
  CHECK(cuCtxSetCurrent(context));
  loadModule();
}

CUstream stream() {
  CUstream made = nullptr;
  CHECK(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
  ++counts.streams;
  return made;
}

void launch(unsigned i, CUstream on) {
  int argument = 1;
  void* arguments[] = {&argument};
  if (i % 4 == 3) {
    CUlaunchConfig config{};
    config.gridDimX = i + 1;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = kBlock;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = on;
    CHECK(cuLaunchKernelEx(&config, vector_add, arguments, nullptr));
    ++counts.extended_launches;
  } else {
    CHECK(cuLaunchKernel(vector_add, i + 1, 1, 1, kBlock, 1, 1, 0, on, arguments, nullptr));
  }
  ++counts.kernels;
}

void launchLong(CUstream on) {
  CHECK(cuLaunchKernel(busy_wait, 1, 1, 1, kBlock, 1, 1, 0, on, nullptr, nullptr));
  ++counts.kernels;
}

void copiesAndFills(CUstream on) {
  std::vector<unsigned char> host(kBytes), back(kBytes);
  for (size_t i = 0; i < kBytes; ++i) host[i] = static_cast<unsigned char>(i * 7);
  CUdeviceptr a = 0, b = 0;
  CHECK(cuMemAlloc(&a, kBytes));
  CHECK(cuMemAlloc(&b, kBytes));
  counts.allocations += 2;
  counts.allocated_bytes += 2 * kBytes;
  CHECK(cuMemcpyHtoD(a, host.data(), kBytes));
  ++counts.htod, counts.htod_bytes += kBytes;
  CHECK(cuMemcpyDtoDAsync(b, a, kBytes, on));
  ++counts.dtod, counts.dtod_bytes += kBytes;
  CHECK(cuStreamSynchronize(on));
  ++counts.stream_syncs;
  CHECK(cuMemcpyDtoH(back.data(), b, kBytes));
  ++counts.dtoh, counts.dtoh_bytes += kBytes;
  expect(host == back, "what came back is not what was copied");
  CHECK(cuMemsetD32(a, 7, kBytes / 4));
  ++counts.fills, counts.fill_bytes += kBytes;
  CHECK(cuMemFree(a));
  CHECK(cuMemFree(b));
  counts.frees += 2;
}

static void orderAcross(CUstream first, CUstream second) {
  CUevent event = nullptr;
  CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
  CHECK(cuEventRecord(event, first));
  ++counts.event_records;
  CHECK(cuStreamWaitEvent(second, event, 0));
  ++counts.stream_waits;
  CHECK(cuEventSynchronize(event));
  ++counts.event_syncs;
}

void synchronize() {
  CHECK(cuCtxSynchronize());
  ++counts.context_syncs;
}

void launches(unsigned kernels, unsigned streams) {
  std::vector<CUstream> on;
  for (unsigned i = 0; i < streams; ++i) on.push_back(stream());
  copiesAndFills(on.front());
  for (unsigned i = 0; i < kernels; ++i) launch(i, on[i % streams]);
  expect(cuLaunchKernel(vector_add, 0, 1, 1, kBlock, 1, 1, 0, on.front(), nullptr, nullptr) !=
             CUDA_SUCCESS,
         "an empty grid was launched");
  ++counts.failed_launches;
  orderAcross(on.front(), on.back());
  synchronize();
}

void inThreads(unsigned threads, unsigned kernels) {
  std::vector<std::thread> all;
  for (unsigned t = 0; t < threads; ++t) {
    all.emplace_back([kernels] {
      CHECK(cuCtxSetCurrent(context));
      CUstream own = stream();
      for (unsigned i = 0; i < kernels; ++i) launch(i, own);
      copiesAndFills(own);
    });
  }
  for (std::thread& thread : all) thread.join();
  counts.threads += threads;
  synchronize();
}

CUgraphExec instantiate(CUgraph graph) {
  CUgraphExec exec = nullptr;
#if CUDA_VERSION >= 12000
  CHECK(cuGraphInstantiate(&exec, graph, 0));
#else
  CHECK(cuGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
#endif
  return exec;
}

void graph(unsigned times) {
  CUgraph made = nullptr;
  CUgraphExec exec = nullptr;
  CHECK(cuGraphCreate(&made, 0));
  CUgraphNode last = nullptr;
  for (unsigned i = 0; i < kGraphNodes; ++i) {
    CUDA_KERNEL_NODE_PARAMS node{};
    node.func = vector_add;
    node.gridDimX = i + 1;
    node.gridDimY = node.gridDimZ = 1;
    node.blockDimX = kBlock;
    node.blockDimY = node.blockDimZ = 1;
    CUgraphNode next = nullptr;
    CHECK(cuGraphAddKernelNode(&next, made, &last, last != nullptr ? 1 : 0, &node));
    last = next;
  }
  exec = instantiate(made);
  CUstream on = stream();
  for (unsigned i = 0; i < times; ++i) {
    CHECK(cuGraphLaunch(exec, on));
    ++counts.graph_launches;
    counts.graph_kernels += kGraphNodes;
  }
  CHECK(cuStreamSynchronize(on));
  ++counts.stream_syncs;
}

void say(const char* mode) {
  std::printf("{\"mode\": \"%s\", \"pid\": %d", mode, static_cast<int>(getpid()));
#define STANDIN_COUNT(name) std::printf(", \"" #name "\": %" PRIu64, counts.name.load());
  STANDIN_COUNTS(STANDIN_COUNT)
#undef STANDIN_COUNT
  // What this process had counted before it executed this program.
  if (const char* before = std::getenv("STANDIN_BEFORE")) std::printf("%s", before);
  std::printf("}\n");
  std::fflush(stdout);
}

}  // namespace program
