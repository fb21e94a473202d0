// SPDX-License-Identifier: Apache-2.0
// Launches thousands of real kernels, each through one of 64 call paths that are drawn by a seed,
// so that a profiler which attaches host call stacks can be checked: every launch must have the
// stack it was launched through. `tracesmith benchmark` runs it, profiled and not, and checks.
//
// Usage: benchmark_10k_stacks [-n LAUNCHES] [--seed N] [--expect FILE] [--result FILE] [--real-gpu]
// FILE of --expect becomes the paths and which launch took which; that of --result, the time of the
// launches (to the end of the last kernel), both as lines of words.
#include <CL/cl.h>
#include <alloca.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr const char* kSource = R"(
__kernel void benchmark_kernel(__global float* data, int id) {
  const size_t i = get_global_id(0);
  data[i] = data[i] * 0.5f + (float)id;
}
)";
constexpr uint32_t kPaths = 64;
constexpr uint32_t kSteps = 8;
constexpr size_t kItems = 64;

struct Options {
  uint32_t launches = 10'000;
  uint32_t seed = 1;
  std::string expect;
  std::string result;
  bool real_gpu = false;
};

cl_command_queue g_queue = nullptr;
cl_kernel g_kernel = nullptr;
int g_number = 0;

/// The functions between main() and the launch, by number, and which comes next.
struct Path {
  std::vector<uint8_t> steps;
};

/// It may be read and written here, for all that the compiler knows.
inline void keep(void* p) { asm volatile("" : : "r"(p) : "memory"); }

[[noreturn]] void die(const char* what, int code) {
  std::fprintf(stderr, "benchmark_10k_stacks: %s failed with %d\n", what, code);
  std::exit(1);
}
void check(cl_int code, const char* what) {
  if (code != CL_SUCCESS) die(what, code);
}

}  // namespace

// With names that a symbol table shows as they are. None is a tail call: what a function leaves
// behind for after the call keeps its frame.
extern "C" {

[[gnu::noinline]] void bench_launch() {
  const size_t items = kItems;
  check(clSetKernelArg(g_kernel, 1, sizeof g_number, &g_number), "clSetKernelArg");
  check(clEnqueueNDRangeKernel(g_queue, g_kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
  ++g_number;
}

using Step = void (*)(const Path&, size_t);
extern const Step kStepOf[kSteps];

// Frames of different kinds: small, large, of a size that shows at run time, aligned.
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

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] {
      if (i + 1 == argc) die((word + " (needs a value)").c_str(), 2);
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
    } else if (word == "--real-gpu") {
      o.real_gpu = true;
    } else {
      die(("option " + word).c_str(), 2);
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

/// Innermost first, as stacks are read.
void writeExpected(const Options& o, const std::vector<Path>& paths,
                   const std::vector<uint32_t>& order) {
  if (o.expect.empty()) return;
  std::FILE* const file = std::fopen(o.expect.c_str(), "w");
  if (file == nullptr) die("opening the file of --expect", 1);
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

/// A GPU if there is one, else (unless one is asked for) the first device.
cl_device_id pickDevice(bool real_gpu, bool& is_gpu, std::string& name) {
  cl_platform_id platforms[16];
  cl_uint count = 0;
  check(clGetPlatformIDs(16, platforms, &count), "clGetPlatformIDs");
  cl_device_id chosen = nullptr;
  constexpr cl_device_type kTypes[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ALL};
  for (const cl_device_type type : kTypes) {
    if (type != CL_DEVICE_TYPE_GPU && real_gpu) break;
    for (cl_uint i = 0; i < count && i < 16 && chosen == nullptr; ++i) {
      if (clGetDeviceIDs(platforms[i], type, 1, &chosen, nullptr) != CL_SUCCESS) chosen = nullptr;
    }
    is_gpu = type == CL_DEVICE_TYPE_GPU && chosen != nullptr;
    if (chosen != nullptr) break;
  }
  if (chosen == nullptr) {
    std::fprintf(stderr, real_gpu ? "benchmark_10k_stacks: no OpenCL GPU was found\n"
                                  : "benchmark_10k_stacks: no OpenCL device was found\n");
    std::exit(3);
  }
  char text[256] = {};
  clGetDeviceInfo(chosen, CL_DEVICE_NAME, sizeof text - 1, text, nullptr);
  name = text;
  return chosen;
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);
  std::mt19937 random(o.seed);
  const std::vector<Path> paths = drawPaths(random);
  std::vector<uint32_t> order(o.launches);
  for (uint32_t& path : order) path = random() % kPaths;
  writeExpected(o, paths, order);

  bool is_gpu = false;
  std::string name;
  cl_device_id device = pickDevice(o.real_gpu, is_gpu, name);
  cl_int e = CL_SUCCESS;
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &e);
  check(e, "clCreateContext");
  g_queue = clCreateCommandQueue(context, device, 0, &e);
  check(e, "clCreateCommandQueue");
  const char* source = kSource;
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &e);
  check(e, "clCreateProgramWithSource");
  check(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
  g_kernel = clCreateKernel(program, "benchmark_kernel", &e);
  check(e, "clCreateKernel");
  cl_mem data = clCreateBuffer(context, CL_MEM_READ_WRITE, kItems * sizeof(float), nullptr, &e);
  check(e, "clCreateBuffer");
  const float zero = 0;
  check(clEnqueueFillBuffer(g_queue, data, &zero, sizeof zero, 0, kItems * sizeof(float), 0,
                            nullptr, nullptr),
        "clEnqueueFillBuffer");
  check(clSetKernelArg(g_kernel, 0, sizeof data, static_cast<const void*>(&data)),
        "clSetKernelArg");
  // Compiled before time is taken.
  const size_t items = kItems;
  check(clSetKernelArg(g_kernel, 1, sizeof g_number, &g_number), "clSetKernelArg");
  check(clEnqueueNDRangeKernel(g_queue, g_kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
  check(clFinish(g_queue), "clFinish");

  const auto begin = std::chrono::steady_clock::now();
  for (const uint32_t path : order) bench_run(paths[path]);
  check(clFinish(g_queue), "clFinish");
  const auto ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin)
          .count();

  if (!o.result.empty()) {
    std::FILE* const file = std::fopen(o.result.c_str(), "w");
    if (file == nullptr) die("opening the file of --result", 1);
    std::fprintf(file, "ns %lld\ngpu %d\ndevice %s\n", static_cast<long long>(ns), is_gpu,
                 name.c_str());
    std::fclose(file);
  } else {
    std::printf("%u launches through %u call paths (seed %u) on %s: %.1f ms, %.0f launches/s\n",
                o.launches, kPaths, o.seed, name.c_str(), static_cast<double>(ns) / 1e6,
                o.launches * 1e9 / static_cast<double>(ns));
  }
  clReleaseMemObject(data);
  clReleaseKernel(g_kernel);
  clReleaseProgram(program);
  clReleaseCommandQueue(g_queue);
  clReleaseContext(context);
  return 0;
}
