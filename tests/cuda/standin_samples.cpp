// SPDX-License-Identifier: Apache-2.0
// What the programs of examples/cuda do, told to the stand-in for libcuda: kernels of the same
// names, counts and copies, and the same line of JSON; so that script/gpu-check can be run whole
// without a device. It is the sample whose name it is called by.
#include <cuda.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr size_t kMegabyte = 1u << 20;

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: CUDA error %d\n", what, static_cast<int>(result));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

int64_t nowNs() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// In the order of `did` of examples/cuda/sample.hpp.
enum Count {
  kKernels,
  kGraphLaunches,
  kGraphKernels,
  kHtod,
  kHtodBytes,
  kDtoh,
  kDtohBytes,
  kDtod,
  kDtodBytes,
  kPeer,
  kPeerBytes,
  kFills,
  kFillBytes,
  kAllocations,
  kAllocatedBytes,
  kFrees,
  kFreedBytes,
  kCounts
};
constexpr const char* kNames[kCounts] = {
    "kernels",    "graph_launches", "graph_kernels",   "htod",  "htod_bytes", "dtoh",
    "dtoh_bytes", "dtod",           "dtod_bytes",      "peer",  "peer_bytes", "fills",
    "fill_bytes", "allocations",    "allocated_bytes", "frees", "freed_bytes"};
uint64_t did[kCounts];
std::string brackets;
CUmodule module = nullptr;

void start() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, ".version 8.0\n"));
}

CUfunction function(const char* name) {
  CUfunction made = nullptr;
  CHECK(cuModuleGetFunction(&made, module, name));
  return made;
}

void launch(CUfunction kernel, unsigned grid, unsigned block, CUstream stream = nullptr) {
  CHECK(cuLaunchKernel(kernel, grid, 1, 1, block, 1, 1, 0, stream, nullptr, nullptr));
}

void bracket(const char* kernel, uint64_t kernels, const std::function<void()>& launches) {
  const int64_t begin = nowNs();
  launches();
  CHECK(cuCtxSynchronize());
  const int64_t end = nowNs();
  did[kKernels] += kernels;
  brackets += std::string(brackets.empty() ? "" : ", ") + "{\"kernel\": \"" + kernel +
              "\", \"kernels\": " + std::to_string(kernels) +
              ", \"begin_ns\": " + std::to_string(begin) + ", \"end_ns\": " + std::to_string(end) +
              "}";
}

void say(const std::string& sample, const std::string& more = "") {
  char name[100] = {};
  int driver = 0;
  CHECK(cuDeviceGetName(name, sizeof name, 0));
  CHECK(cuDriverGetVersion(&driver));
  std::printf(
      "{\"sample\": \"%s\", \"pid\": %d, \"device\": \"%s\", \"compute\": \"9.0\", "
      "\"driver\": %d, \"runtime\": 0, \"verified\": true",
      sample.c_str(), static_cast<int>(getpid()), name, driver);
  for (int i = 0; i < kCounts; ++i) std::printf(", \"%s\": %" PRIu64, kNames[i], did[i]);
  std::printf("%s, \"brackets\": [%s]}\n", more.c_str(), brackets.c_str());
  std::fflush(stdout);
}

CUdeviceptr allocate(size_t bytes) {
  CUdeviceptr made = 0;
  CHECK(cuMemAlloc(&made, bytes));
  ++did[kAllocations], did[kAllocatedBytes] += bytes;
  return made;
}

void release(CUdeviceptr memory, size_t bytes) {
  CHECK(cuMemFree(memory));
  ++did[kFrees], did[kFreedBytes] += bytes;
}

void fill(CUdeviceptr memory, size_t bytes) {
  CHECK(cuMemsetD8(memory, 0, bytes));
  ++did[kFills], did[kFillBytes] += bytes;
}

// A kernel launched some times, each in its own bracket, between copies of its data.
void simple(const char* sample, const char* kernel, size_t bytes, unsigned inputs, bool fills,
            unsigned grid, unsigned times) {
  start();
  std::vector<char> host(bytes);
  std::vector<CUdeviceptr> memory;
  for (unsigned i = 0; i <= inputs; ++i) memory.push_back(allocate(bytes));
  for (unsigned i = 0; i < inputs; ++i) {
    CHECK(cuMemcpyHtoD(memory[i], host.data(), bytes));
    ++did[kHtod], did[kHtodBytes] += bytes;
  }
  if (fills) fill(memory.back(), bytes);
  const CUfunction f = function(kernel);
  for (unsigned i = 0; i < times; ++i) bracket(kernel, 1, [&] { launch(f, grid, 256); });
  CHECK(cuMemcpyDtoH(host.data(), memory.back(), bytes));
  ++did[kDtoh], did[kDtohBytes] += bytes;
  for (const CUdeviceptr m : memory) release(m, bytes);
  say(sample);
}

void streams(int argc, char** argv) {
  const bool many = argc < 2 || std::strcmp(argv[1], "many") == 0;
  const auto number = [&](int nth, unsigned otherwise) {
    return argc > nth ? static_cast<unsigned>(std::atoi(argv[nth])) : otherwise;
  };
  const unsigned kernels = number(2, many ? 4 : 300);
  const uint64_t ns = 1000ull * number(3, many ? 20'000 : 1000);
  // How long the stand-in's kernels run is read when it starts.
  setenv("STANDIN_SCRIPT", ("kernel_ns=" + std::to_string(ns)).c_str(), 1);
  start();
  std::vector<CUstream> all(many ? kernels : 1);
  for (CUstream& s : all) CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
  const CUfunction f = function("spin");
  bracket("spin", 1, [&] { launch(f, 1, 1, all.front()); });
  bracket("spin", kernels, [&] {
    for (unsigned i = 0; i < kernels; ++i) launch(f, 1, 1, all[i % all.size()]);
  });
  say("streams", ", \"streams\": " + std::to_string(all.size()) +
                     ", \"most_at_once\": " + std::to_string(all.size()) +
                     ", \"device_busy_ns\": " + std::to_string(kernels * ns) +
                     ", \"device_span_ns\": " + std::to_string(kernels * ns / all.size()));
}

void graphs(unsigned launches, unsigned nodes) {
  start();
  const CUdeviceptr data = allocate(4096);
  fill(data, 4096);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUgraphNode last = nullptr;
  CHECK(cuGraphCreate(&graph, 0));
  for (unsigned i = 0; i < nodes; ++i) {
    CUDA_KERNEL_NODE_PARAMS node{};
    node.func = function("addOne");
    node.gridDimX = node.gridDimY = node.gridDimZ = 1;
    node.blockDimX = 256;
    node.blockDimY = node.blockDimZ = 1;
    CUgraphNode next = nullptr;
    CHECK(cuGraphAddKernelNode(&next, graph, &last, last != nullptr ? 1 : 0, &node));
    last = next;
  }
#if CUDA_VERSION >= 12000
  CHECK(cuGraphInstantiate(&exec, graph, 0));
#else
  CHECK(cuGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
#endif
  bracket("addOne", uint64_t{launches} * nodes, [&] {
    for (unsigned i = 0; i < launches; ++i) CHECK(cuGraphLaunch(exec, nullptr));
  });
  did[kGraphLaunches] = launches;
  std::swap(did[kGraphKernels], did[kKernels]);
  release(data, 4096);
  say("graphs");
}

void memoryPhases() {
  start();
  const struct {
    const char* name;
    std::vector<size_t> megabytes;
  } phases[] = {{"parameters", {1, 2, 4, 8, 16}},
                {"activations", {2, 4, 6, 8, 10, 12, 14, 16}},
                {"gradients", {1, 2, 4, 8, 16}},
                {"workspace", {32, 32, 32}}};
  std::vector<std::pair<CUdeviceptr, size_t>> to_free;
  std::string said;
  for (const auto& phase : phases) {
    size_t bytes = 0;
    for (const size_t megabytes : phase.megabytes) {
      const CUdeviceptr memory = allocate(megabytes * kMegabyte);
      bytes += megabytes * kMegabyte;
      if (&phase != phases) to_free.emplace_back(memory, megabytes * kMegabyte);
    }
    said += std::string(said.empty() ? "" : ", ") + "{\"phase\": \"" + phase.name +
            "\", \"allocations\": " + std::to_string(phase.megabytes.size()) +
            ", \"bytes\": " + std::to_string(bytes) + "}";
  }
  for (const auto& [memory, bytes] : to_free) release(memory, bytes);
  say("memory_phases", ", \"loop_ns\": 0, \"phases\": [" + said + "]");
}

CUfunction g_kernel = nullptr;

}  // namespace

// The call paths of many_small_kernels, by fewer functions.
extern "C" {

[[gnu::noinline]] void bench_launch() {
  launch(g_kernel, 1, 64);
  asm volatile("" ::: "memory");
}

[[gnu::noinline]] void bench_step_1(unsigned path);

[[gnu::noinline]] void bench_step_0(unsigned path) {
  path == 0 ? bench_launch() : bench_step_1(path);
  asm volatile("" ::: "memory");
}

[[gnu::noinline]] void bench_step_1(unsigned path) {
  (path & 1) != 0 ? bench_step_1(path >> 1) : bench_step_0(path >> 1);
  asm volatile("" ::: "memory");
}

[[gnu::noinline]] void bench_run(unsigned path) {
  bench_step_0(path);
  asm volatile("" ::: "memory");
}
}

namespace {

// What bench_run(path) goes through, outermost first.
std::vector<int> stepsOf(unsigned path) {
  std::vector<int> steps = {0};
  while (true) {
    if (steps.back() == 0) {
      if (path == 0) return steps;
      steps.push_back(1);
    } else {
      steps.push_back(static_cast<int>(path & 1));
      path >>= 1;
    }
  }
}

void manySmallKernels(int argc, char** argv) {
  unsigned launches = 10'000, seed = 1;
  const char* expect = nullptr;
  bool die = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "-n") launches = static_cast<unsigned>(std::atoi(argv[++i]));
    if (word == "--seed") seed = static_cast<unsigned>(std::atoi(argv[++i]));
    if (word == "--expect") expect = argv[++i];
    if (word == "--die") die = true;
  }
  constexpr unsigned kPaths = 64;
  std::mt19937 random(seed);
  std::vector<unsigned> order(launches);
  for (unsigned& path : order) path = random() % kPaths;
  if (expect != nullptr) {
    std::FILE* const file = std::fopen(expect, "w");
    for (unsigned i = 0; i < kPaths; ++i) {
      const std::vector<int> steps = stepsOf(i);
      std::fprintf(file, "path %u bench_launch", i);
      for (size_t at = steps.size(); at-- > 0;) std::fprintf(file, " bench_step_%d", steps[at]);
      std::fprintf(file, " bench_run\n");
    }
    for (const unsigned path : order) std::fprintf(file, "launch %u\n", path);
    std::fclose(file);
  }
  start();
  g_kernel = function("benchmark_kernel");
  const CUdeviceptr data = allocate(256);
  fill(data, 256);
  bracket("benchmark_kernel", 1, [] { bench_run(0); });
  int64_t launched = 0;
  const int64_t begin = nowNs();
  bracket("benchmark_kernel", launches, [&] {
    for (const unsigned path : order) bench_run(path);
    launched = nowNs();
  });
  const int64_t end = nowNs();
  if (!die) release(data, 256);
  say("many_small_kernels", ", \"launches\": " + std::to_string(launches) +
                                ", \"launch_ns\": " + std::to_string(launched - begin) +
                                ", \"loop_ns\": " + std::to_string(end - begin));
  if (die) {
    sleep(1);
    for (unsigned i = 0; i < 1000; ++i) bench_run(i % kPaths);
    raise(SIGKILL);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* const slash = std::strrchr(argv[0], '/');
  const std::string name = slash != nullptr ? slash + 1 : argv[0];
  const unsigned times = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 20;
  if (name == "vector_add") {
    simple("vector_add", "vectorAdd", 4 * kMegabyte, 2, true, 4096, times);
  } else if (name == "matrix_mul") {
    simple("matrix_mul", "matrixMul", kMegabyte, 2, false, 1024, times);
  } else if (name == "relu") {
    simple("relu", "relu", 4 * kMegabyte, 1, false, 4096, times);
  } else if (name == "streams") {
    streams(argc, argv);
  } else if (name == "graphs") {
    graphs(argc > 1 ? times : 200, argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 16);
  } else if (name == "peer_copy") {
    std::printf("{\"sample\": \"peer_copy\", \"absent\": \"there is one device\"}\n");
  } else if (name == "memory_phases") {
    memoryPhases();
  } else if (name == "many_small_kernels") {
    manySmallKernels(argc, argv);
  } else {
    std::fprintf(stderr, "%s is no sample\n", name.c_str());
    return 2;
  }
}
