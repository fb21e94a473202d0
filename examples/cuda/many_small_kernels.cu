// SPDX-License-Identifier: Apache-2.0
// Launches many small kernels as fast as possible, each through one of 64 call paths chosen by a
// seed, so that the stack of every launch can be checked.
//
// Usage: many_small_kernels [-n LAUNCHES] [--seed N] [--expect FILE] [--seconds S] [--die]
//
// --expect writes to FILE the paths, as "path NUMBER NAME..." (innermost first), and the path of
// each launch, as "launch NUMBER". --die prints the summary when everything is done, waits a
// second, launches more kernels, and kills the process in the middle of that. --seconds repeats
// batches of LAUNCHES launches for S seconds, and prints the start and end of each batch.
#include <alloca.h>
#include <signal.h>

#include <cmath>
#include <cstring>
#include <random>

#include "sample.hpp"

extern "C" __global__ void benchmark_kernel(float* data, int n, int id) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * 0.5f + static_cast<float>(id);
}

constexpr int kItems = 64;
constexpr unsigned kPaths = 64;
constexpr unsigned kSteps = 8;

struct Path {
  std::vector<uint8_t> steps;
};

static float* g_data = nullptr;
static int g_number = 0;

/// Tells the compiler that the memory may be read and written here.
static inline void keep(void* p) { asm volatile("" : : "r"(p) : "memory"); }

// As in benchmark_10k_stacks: frames of different kinds, and no tail calls.
extern "C" {

__attribute__((noinline)) void bench_launch() {
  int n = kItems;
  void* arguments[] = {&g_data, &n, &g_number};
  CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(benchmark_kernel), dim3(1), dim3(kItems),
                         arguments, 0, nullptr));
  ++g_number;
}

using Step = void (*)(const Path&, size_t);
extern const Step kStepOf[kSteps];

#define BENCH_STEP(number, before, after)                                           \
  __attribute__((noinline)) void bench_step_##number(const Path& path, size_t at) { \
    before;                                                                         \
    if (at == path.steps.size()) {                                                  \
      bench_launch();                                                               \
    } else {                                                                        \
      kStepOf[path.steps[at]](path, at + 1);                                        \
    }                                                                               \
    after;                                                                          \
    asm volatile("" ::: "memory");                                                  \
  }
BENCH_STEP(0, , )
BENCH_STEP(1, char pad[40]; keep(pad), keep(pad))
BENCH_STEP(2, char pad[1000]; keep(pad), keep(pad))
BENCH_STEP(3, void* const p = alloca(16 + 16 * at); keep(p), keep(p))
BENCH_STEP(4, alignas(64) char pad[64]; keep(pad), keep(pad))
BENCH_STEP(5, double x = static_cast<double>(at); keep(&x), keep(&x))
BENCH_STEP(6, char pad[200]; keep(pad), keep(pad))
BENCH_STEP(7, const size_t saved = at * 3, if (saved == ~size_t{0}) std::abort())
#undef BENCH_STEP

const Step kStepOf[kSteps] = {bench_step_0, bench_step_1, bench_step_2, bench_step_3,
                              bench_step_4, bench_step_5, bench_step_6, bench_step_7};

__attribute__((noinline)) void bench_run(const Path& path) {
  kStepOf[path.steps[0]](path, 1);
  asm volatile("" ::: "memory");
}
}

static std::vector<Path> drawPaths(std::mt19937& random) {
  std::vector<Path> paths;
  while (paths.size() < kPaths) {
    Path path;
    path.steps.resize(3 + random() % 10);
    for (uint8_t& step : path.steps) step = static_cast<uint8_t>(random() % kSteps);
    bool is_new = true;
    for (const Path& other : paths) is_new = is_new && other.steps != path.steps;
    if (is_new) paths.push_back(path);
  }
  return paths;
}

static void writeExpected(const char* name, const std::vector<Path>& paths,
                          const std::vector<unsigned>& order) {
  std::FILE* const file = std::fopen(name, "w");
  sample::require(file != nullptr, "the file of --expect cannot be written");
  for (size_t i = 0; i < paths.size(); ++i) {
    std::fprintf(file, "path %zu bench_launch", i);
    const std::vector<uint8_t>& steps = paths[i].steps;
    for (size_t at = steps.size(); at-- > 0;) std::fprintf(file, " bench_step_%d", steps[at]);
    std::fprintf(file, " bench_run\n");
  }
  for (const unsigned path : order) std::fprintf(file, "launch %u\n", path);
  std::fclose(file);
}

int main(int argc, char** argv) {
  unsigned launches = 10'000, seed = 1, seconds = 0;
  const char* expect = nullptr;
  bool die = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "-n") == 0)
      launches = sample::number(argc, argv, ++i, launches);
    else if (std::strcmp(argv[i], "--seed") == 0)
      seed = sample::number(argc, argv, ++i, seed);
    else if (std::strcmp(argv[i], "--expect") == 0 && i + 1 < argc)
      expect = argv[++i];
    else if (std::strcmp(argv[i], "--seconds") == 0)
      seconds = sample::number(argc, argv, ++i, seconds);
    else if (std::strcmp(argv[i], "--die") == 0)
      die = true;
    else
      sample::require(false, "the command line");
  }
  std::mt19937 random(seed);
  const std::vector<Path> paths = drawPaths(random);
  std::vector<unsigned> order(launches);
  for (unsigned& path : order) path = random() % kPaths;
  if (expect != nullptr) writeExpected(expect, paths, order);

  sample::start();
  g_data = sample::allocate<float>(kItems);
  CHECK(cudaMemset(g_data, 0, kItems * sizeof(float)));
  ++sample::did.fills, sample::did.fill_bytes += kItems * sizeof(float);
  sample::bracket("benchmark_kernel", 1,
                  [&] { bench_run(paths[0]); });  // loads the kernel before the timing starts
  int64_t launched = 0;
  const int64_t begin = sample::nowNs();
  sample::bracket("benchmark_kernel", launches, [&] {
    for (const unsigned path : order) bench_run(paths[path]);
    launched = sample::nowNs();
  });
  const int64_t end = sample::nowNs();
  const int64_t until = begin + int64_t{seconds} * 1'000'000'000;
  while (sample::nowNs() < until) {
    sample::bracket("benchmark_kernel", launches, [&] {
      for (const unsigned path : order) bench_run(paths[path]);
    });
  }
  std::vector<float> data(kItems);
  sample::copyOut(data, g_data);
  float expected = 0;
  for (int i = 0; i < g_number; ++i) expected = std::fma(expected, 0.5f, static_cast<float>(i));
  for (const float value : data) sample::require(value == expected, "a number");
  if (!die) sample::release(g_data, kItems * sizeof(float));
  sample::say("many_small_kernels", ", \"launches\": " + std::to_string(launches) +
                                        ", \"launch_ns\": " + std::to_string(launched - begin) +
                                        ", \"loop_ns\": " + std::to_string(end - begin));
  if (die) {
    sleep(1);
    for (unsigned i = 0; i < 1000; ++i) bench_run(paths[i % kPaths]);
    raise(SIGKILL);
  }
}
