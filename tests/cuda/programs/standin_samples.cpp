// SPDX-License-Identifier: Apache-2.0
// The stand-ins of the samples: each is the one whose name it is called by.
#include <signal.h>

#include <random>

#include "standin_samples.hpp"

using namespace samples;

namespace {

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
  unsigned launches = 10'000, seed = 1, seconds = 0;
  const char* expect = nullptr;
  bool die = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "-n") launches = static_cast<unsigned>(std::atoi(argv[++i]));
    if (word == "--seed") seed = static_cast<unsigned>(std::atoi(argv[++i]));
    if (word == "--seconds") seconds = static_cast<unsigned>(std::atoi(argv[++i]));
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
  while (nowNs() < begin + int64_t{seconds} * 1'000'000'000) {
    bracket("benchmark_kernel", launches, [&] {
      for (const unsigned path : order) bench_run(path);
    });
  }
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
  const auto number = [&](int nth, unsigned otherwise) {
    return argc > nth ? static_cast<unsigned>(std::atoi(argv[nth])) : otherwise;
  };
  if (name == "vector_add") {
    simple("vector_add", "vectorAdd", 4 * kMegabyte, 2, true, 4096, number(1, 20));
  } else if (name == "matrix_mul") {
    simple("matrix_mul", "matrixMul", kMegabyte, 2, false, 1024, number(1, 20));
  } else if (name == "relu") {
    simple("relu", "relu", 4 * kMegabyte, 1, false, 4096, number(1, 20));
  } else if (name == "streams") {
    streams(argc, argv);
  } else if (name == "graphs") {
    graphs(number(1, 200), number(2, 16));
  } else if (name == "threads") {
    threads(number(1, 8), number(2, 1));
  } else if (name == "events") {
    events(number(1, 50));
  } else if (name == "stream_values") {
    streamValues(number(1, 30));
  } else if (name == "clocks") {
    clocks(number(1, 6), number(2, 8000));
  } else if (name == "peer_copy") {
    peerCopy(number(1, 10));
  } else if (name == "memory_phases") {
    memoryPhases();
  } else if (name == "managed") {
    managed(number(1, 16), number(2, 3));
  } else if (name == "pools") {
    pools(number(1, 20));
  } else if (name == "virtual_memory") {
    virtualMemory(number(1, 4));
  } else if (name == "ptx") {
    ptx(number(1, 20));
  } else if (name == "many_small_kernels") {
    manySmallKernels(argc, argv);
  } else {
    std::fprintf(stderr, "%s is no sample\n", name.c_str());
    return 2;
  }
}
