// SPDX-License-Identifier: Apache-2.0
// A program of CUDA's driver API that does a known amount of work and says what, as one JSON
// object. Usage: standin_program launches KERNELS [STREAMS] | threads THREADS KERNELS_EACH | graph
// LAUNCHES
//                        | fork | abort
// fork: a child that ends by exit() without using CUDA, amid the parent's work.
// abort: prints, and kills itself amid its work.
#include <cuda.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kBytes = 4096;
constexpr unsigned kBlock = 128;
constexpr size_t kGraphNodes = 3;

struct Counts {
  std::atomic<uint64_t> kernels{0}, extended_launches{0}, failed_launches{0}, allocations{0},
      frees{0}, htod{0}, htod_bytes{0}, dtoh{0}, dtoh_bytes{0}, dtod{0}, dtod_bytes{0}, fills{0},
      fill_bytes{0}, stream_syncs{0}, event_records{0}, stream_waits{0}, event_syncs{0},
      context_syncs{0}, streams{0}, graph_launches{0}, graph_kernels{0};
} counts;

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: CUDA error %d\n", what, static_cast<int>(result));
  std::exit(1);
}

#define CHECK(call) check(call, #call)

CUcontext context = nullptr;
CUfunction vector_add = nullptr;

void start() {
  CUdevice device = 0;
  CUmodule module = nullptr;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, ".version 8.0\n.visible .entry vectorAdd() { ret; }\n"));
  CHECK(cuModuleGetFunction(&vector_add, module, "vectorAdd"));
}

CUstream stream() {
  CUstream made = nullptr;
  CHECK(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
  ++counts.streams;
  return made;
}

// The ith launch has its own grid; every fourth is made by cuLaunchKernelEx.
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

void copiesAndFills(CUstream on) {
  std::vector<unsigned char> host(kBytes), back(kBytes);
  for (size_t i = 0; i < kBytes; ++i) host[i] = static_cast<unsigned char>(i * 7);
  CUdeviceptr a = 0, b = 0;
  CHECK(cuMemAlloc(&a, kBytes));
  CHECK(cuMemAlloc(&b, kBytes));
  counts.allocations += 2;
  CHECK(cuMemcpyHtoD(a, host.data(), kBytes));
  ++counts.htod, counts.htod_bytes += kBytes;
  CHECK(cuMemcpyDtoDAsync(b, a, kBytes, on));
  ++counts.dtod, counts.dtod_bytes += kBytes;
  CHECK(cuStreamSynchronize(on));
  ++counts.stream_syncs;
  CHECK(cuMemcpyDtoH(back.data(), b, kBytes));
  ++counts.dtoh, counts.dtoh_bytes += kBytes;
  if (host != back) {
    std::fprintf(stderr, "what came back is not what was copied\n");
    std::exit(1);
  }
  CHECK(cuMemsetD32(a, 7, kBytes / 4));
  ++counts.fills, counts.fill_bytes += kBytes;
  CHECK(cuMemFree(a));
  CHECK(cuMemFree(b));
  counts.frees += 2;
}

void orderAcross(CUstream first, CUstream second) {
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
  if (cuLaunchKernel(vector_add, 0, 1, 1, kBlock, 1, 1, 0, on.front(), nullptr, nullptr) ==
      CUDA_SUCCESS) {
    std::fprintf(stderr, "an empty grid was launched\n");
    std::exit(1);
  }
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
  synchronize();
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
#if CUDA_VERSION >= 12000
  CHECK(cuGraphInstantiate(&exec, made, 0));
#else
  CHECK(cuGraphInstantiate(&exec, made, nullptr, nullptr, 0));
#endif
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
  struct {
    const char* name;
    const std::atomic<uint64_t>& value;
  } const all[] = {{"kernels", counts.kernels},
                   {"extended_launches", counts.extended_launches},
                   {"failed_launches", counts.failed_launches},
                   {"allocations", counts.allocations},
                   {"frees", counts.frees},
                   {"htod", counts.htod},
                   {"htod_bytes", counts.htod_bytes},
                   {"dtoh", counts.dtoh},
                   {"dtoh_bytes", counts.dtoh_bytes},
                   {"dtod", counts.dtod},
                   {"dtod_bytes", counts.dtod_bytes},
                   {"fills", counts.fills},
                   {"fill_bytes", counts.fill_bytes},
                   {"stream_syncs", counts.stream_syncs},
                   {"event_records", counts.event_records},
                   {"stream_waits", counts.stream_waits},
                   {"event_syncs", counts.event_syncs},
                   {"context_syncs", counts.context_syncs},
                   {"streams", counts.streams},
                   {"graph_launches", counts.graph_launches},
                   {"graph_kernels", counts.graph_kernels}};
  std::printf("{\"mode\": \"%s\", \"pid\": %d", mode, static_cast<int>(getpid()));
  for (const auto& count : all) std::printf(", \"%s\": %" PRIu64, count.name, count.value.load());
  std::printf("}\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const unsigned first = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 0;
  const unsigned second = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 0;
  start();
  if (mode == "launches") {
    launches(first, second != 0 ? second : 3);
  } else if (mode == "threads") {
    inThreads(first, second);
  } else if (mode == "graph") {
    graph(first);
  } else if (mode == "fork") {
    launches(100, 2);
    const pid_t child = fork();
    if (child == 0) std::exit(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
    int status = -1;
    if (waitpid(child, &status, 0) != child || status != 0) {
      std::fprintf(stderr, "the child ended with %d\n", status);
      return 1;
    }
    launches(100, 2);
  } else if (mode == "abort") {
    launches(1000, 2);
    for (unsigned i = 0; i < 1000; ++i) launch(i, nullptr);
    say("abort");
    raise(SIGKILL);
  } else {
    std::fprintf(stderr, "usage: see the head of standin_program.cpp\n");
    return 2;
  }
  say(mode.c_str());
}
