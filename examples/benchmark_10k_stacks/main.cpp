// SPDX-License-Identifier: Apache-2.0
// Launches thousands of real kernels, each through one of 64 call paths chosen by a seed, so that a
// profiler that attaches host call stacks can be checked: every launch must have the stack through
// which it was made. `tracesmith benchmark` runs this program with and without profiling, and
// checks.
//
// Usage: benchmark_10k_stacks [-n LAUNCHES] [--seed N] [--expect FILE] [--result FILE] [--real-gpu]
//                             [--api opencl|cuda] [--work N]
// --expect writes the paths, and the path of each launch, to FILE. --result writes the time of the
// launches (to the end of the last kernel) to FILE. Both files have lines of words.
//
// --work makes kernels longer: the number of repetitions of their arithmetic (1: almost nothing).
// Without --api: an OpenCL GPU, else a CUDA GPU, else (not with --real-gpu) any OpenCL device.
//
// Exit codes: 0 success; 1 a call failed; 2 invalid command line; 3 no device, with the reasons on
// standard error.
#include <alloca.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device.hpp"

namespace {

constexpr uint32_t kPaths = 64;
constexpr uint32_t kSteps = 8;

struct Options {
  uint32_t launches = 10'000;
  uint32_t seed = 1;
  std::string expect;
  std::string result;
  std::string api;
  bool real_gpu = false;
  int work = 1;
};

benchmark::Device* g_device = nullptr;
int g_number = 0;
int g_work = 1;

/// The functions between main() and the launch, by number, and the position of the next one.
struct Path {
  std::vector<uint8_t> steps;
};

/// Tells the compiler that the memory may be read and written here.
inline void keep(void* p) { asm volatile("" : : "r"(p) : "memory"); }

}  // namespace

namespace benchmark {
void die(const char* what, int code) {
  std::fprintf(stderr, "benchmark_10k_stacks: %s failed with %d\n", what, code);
  std::exit(1);
}
}  // namespace benchmark

// extern "C", so that symbol tables show the names unchanged. None of the calls is a tail call,
// because each function has work left after its call; so each keeps its frame.
extern "C" {

[[gnu::noinline]] void bench_launch() {
  g_device->launch(g_number, g_work);
  ++g_number;
}

using Step = void (*)(const Path&, size_t);
extern const Step kStepOf[kSteps];

// Frames of different kinds: small, large, of a size known only at run time, aligned.
#define BENCH_STEP(number, before, after)                                   \
  [[gnu::noinline]] void bench_step_##number(const Path& path, size_t at) { \
    before;                                                                 \
    if (at == path.steps.size()) {                                          \
      bench_launch();                                                       \
    } else {                                                                \
      kStepOf[path.steps[at]](path, at + 1);                                \
    }                                                                       \
    after;                                                                  \
    asm volatile("" ::: "memory");                                          \
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

[[gnu::noinline]] void bench_run(const Path& path) {
  kStepOf[path.steps[0]](path, 1);
  asm volatile("" ::: "memory");
}
}

namespace {

[[noreturn]] void usage(const std::string& what) {
  std::fprintf(stderr, "benchmark_10k_stacks: %s\n", what.c_str());
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] {
      if (i + 1 == argc) usage(word + " needs a value");
      return argv[++i];
    };
    if (word == "-n") {
      o.launches = static_cast<uint32_t>(std::strtoul(value(), nullptr, 10));
    } else if (word == "--seed") {
      o.seed = static_cast<uint32_t>(std::strtoul(value(), nullptr, 10));
    } else if (word == "--expect") {
      o.expect = value();
    } else if (word == "--result") {
      o.result = value();
    } else if (word == "--api") {
      o.api = value();
      if (o.api != "opencl" && o.api != "cuda") usage("--api is opencl or cuda");
    } else if (word == "--work") {
      o.work = std::atoi(value());
      if (o.work < 1) usage("--work is 1 or more");
    } else if (word == "--real-gpu") {
      o.real_gpu = true;
    } else {
      usage("there is no option " + word);
    }
  }
  return o;
}

/// 64 different paths.
std::vector<Path> drawPaths(std::mt19937& random) {
  std::vector<Path> paths;
  while (paths.size() < kPaths) {
    Path path;
    const size_t length = 4 + random() % 9;
    for (size_t i = 0; i < length; ++i) path.steps.push_back(random() % kSteps);
    bool known = false;
    for (const Path& other : paths) known = known || other.steps == path.steps;
    if (!known) paths.push_back(std::move(path));
  }
  return paths;
}

/// Innermost function first, as in call stacks.
void writeExpected(const Options& o, const std::vector<Path>& paths,
                   const std::vector<uint32_t>& order) {
  if (o.expect.empty()) return;
  std::FILE* const file = std::fopen(o.expect.c_str(), "w");
  if (file == nullptr) benchmark::die("opening the file of --expect", 1);
  for (size_t i = 0; i < paths.size(); ++i) {
    std::fprintf(file, "path %zu bench_launch", i);
    for (size_t k = paths[i].steps.size(); k-- > 0;) {
      std::fprintf(file, " bench_step_%d", paths[i].steps[k]);
    }
    std::fprintf(file, " bench_run main\n");
  }
  for (const uint32_t path : order) std::fprintf(file, "launch %u\n", path);
  std::fclose(file);
}

/// Ends the program with code 3 if there is no device.
std::unique_ptr<benchmark::Device> pickDevice(const Options& o) {
  std::unique_ptr<benchmark::Device> device;
  std::string why;
#ifdef BENCHMARK_OPENCL
  const bool any_opencl = o.api != "cuda" && !o.real_gpu;
  std::string no_gpu;
  if (o.api != "cuda") device = benchmark::openOpenCl(true, o.real_gpu ? why : no_gpu);
#else
  const bool any_opencl = false;
  if (o.api != "cuda") why += "OpenCL: this program was built without its headers\n";
#endif
  if (device == nullptr && o.api != "opencl") device = benchmark::openCuda(why);
#ifdef BENCHMARK_OPENCL
  if (device == nullptr && any_opencl) device = benchmark::openOpenCl(false, why);
#endif
  if (device != nullptr) return device;
  std::fprintf(stderr, "benchmark_10k_stacks: no %s was found\n%s", any_opencl ? "device" : "GPU",
               why.c_str());
  std::exit(3);
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);
  std::mt19937 random(o.seed);
  const std::vector<Path> paths = drawPaths(random);
  std::vector<uint32_t> order(o.launches);
  for (uint32_t& path : order) path = random() % kPaths;
  writeExpected(o, paths, order);

  const std::unique_ptr<benchmark::Device> device = pickDevice(o);
  g_device = device.get();
  g_work = o.work;
  // Compile the kernel before the timing starts.
  device->launch(0, 1);
  device->finish();

  const auto begin = std::chrono::steady_clock::now();
  for (const uint32_t path : order) bench_run(paths[path]);
  device->finish();
  const auto ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin)
          .count();

  if (!o.result.empty()) {
    std::FILE* const file = std::fopen(o.result.c_str(), "w");
    if (file == nullptr) benchmark::die("opening the file of --result", 1);
    std::fprintf(file, "ns %lld\ngpu %d\napi %s\ndevice %s\n", static_cast<long long>(ns),
                 device->is_gpu ? 1 : 0, device->api, device->name.c_str());
    std::fclose(file);
  } else {
    std::printf("%u launches through %u call paths (seed %u) on %s: %.1f ms, %.0f launches/s\n",
                o.launches, kPaths, o.seed, device->name.c_str(), static_cast<double>(ns) / 1e6,
                o.launches * 1e9 / static_cast<double>(ns));
  }
  return 0;
}
