// SPDX-License-Identifier: Apache-2.0
// Cost of a Python stack as a number, compared with a walk of the same frames through the
// interpreter's public functions. That walk gives code objects and instructions, but no number.
// Usage: python_frames_bench [LIBPYTHON]
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/stacks/python/python_frames.hpp"

using namespace tracesmith;          // NOLINT: a program of few functions
using namespace tracesmith::stacks;  // NOLINT

namespace {

constexpr int kRounds = 1'000'000;

struct PublicFunctions {
  void* (*thread)();
  void* (*frame)(void*);
  void* (*back)(void*);
  void* (*code)(void*);
  int (*instruction)(void*);
  void (*release)(void*);
};

PythonFrames* g_python = nullptr;
PythonFrames* g_unlocked = nullptr;  // never sees the lock held
PublicFunctions g_public;
std::vector<int64_t> g_changed_ns;

int64_t now() { return clockNs(CLOCK_MONOTONIC); }

/// Cost of reading the clock, which is part of each single measurement.
int64_t clockCost() {
  std::vector<int64_t> costs(10000);
  for (int64_t& cost : costs) {
    const int64_t from = now();
    cost = now() - from;
  }
  std::nth_element(costs.begin(), costs.begin() + 5000, costs.end());
  return costs[5000];
}

template <class F>
double nsEach(const F& f) {
  double best = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const int64_t from = now();
    for (int i = 0; i < kRounds; ++i) f();
    best = std::min(best, static_cast<double>(now() - from) / kRounds);
  }
  return best;
}

uint64_t walkPublicly() {
  uint64_t sum = 0;
  void* frame = g_public.frame(g_public.thread());
  while (frame != nullptr) {
    void* const code = g_public.code(frame);
    sum += reinterpret_cast<uint64_t>(code) + static_cast<uint64_t>(g_public.instruction(frame));
    g_public.release(code);
    void* const back = g_public.back(frame);
    g_public.release(frame);
    frame = back;
  }
  return sum;
}

/// Called by Python code, `depth` functions deep.
void measure(int depth) {
  volatile uint64_t sink = 0;
  if (g_python->capture() == 0) {
    std::printf("frames cannot be told: status %d\n", static_cast<int>(pythonStatus()));
    std::exit(1);
  }
  const double own = nsEach([&] { sink = sink + g_python->capture(); });
  const double merged = nsEach([&] { sink = sink + g_python->captureOnto(1); });
  const double publicly = nsEach([&] { sink = sink + walkPublicly(); });
  std::printf("%3d frames: number %6.1f ns, with native %6.1f ns, public functions %7.1f ns\n",
              depth, own, merged, publicly);
}

/// The same for a function called without the interpreter's lock, whose code was not seen before.
void measureWithoutLock(int depth) {
  volatile uint64_t sink = 0;
  if (g_unlocked->capture() == 0) std::exit(1);
  const double own = nsEach([&] { sink = sink + g_unlocked->capture(); });
  std::printf("%3d frames, without the lock: number %6.1f ns\n", depth, own);
}

/// Called by Python code alternately from two places.
void changed() {
  const int64_t from = now();
  const uint32_t id = g_python->capture();
  g_changed_ns.push_back(now() - from);
  if (id == 0) std::exit(1);
}

void reportChanged(int depth) {
  std::nth_element(g_changed_ns.begin(), g_changed_ns.begin() + g_changed_ns.size() / 2,
                   g_changed_ns.end());
  std::printf("%3d frames, of which the innermost is another each time: %lld ns\n", depth,
              static_cast<long long>(g_changed_ns[g_changed_ns.size() / 2] - clockCost()));
  g_changed_ns.clear();
}

template <class T>
void find(void* library, const char* name, T& out) {
  out = reinterpret_cast<T>(dlsym(library, name));
  if (out == nullptr) {
    std::printf("%s was not found\n", name);
    std::exit(1);
  }
}

std::string program() {
  const auto number = [](auto* function) {
    return std::to_string(reinterpret_cast<uint64_t>(function));
  };
  return "import ctypes\n"
         "measure = ctypes.PYFUNCTYPE(None, ctypes.c_int)(" +
         number(measure) +
         ")\n"
         "changed = ctypes.PYFUNCTYPE(None)(" +
         number(changed) +
         ")\n"
         "report = ctypes.PYFUNCTYPE(None, ctypes.c_int)(" +
         number(reportChanged) +
         ")\n"
         "unlocked = ctypes.CFUNCTYPE(None, ctypes.c_int)(" +
         number(measureWithoutLock) +
         ")\n"
         R"(
def a(): changed()
def b(): changed()
def deep(n, depth, f):
  if n > 1: deep(n - 1, depth, f)
  else: f(depth)
def turns(depth):
  for _ in range(20000):
    a()
    b()
for depth in 7, 30, 100:
  deep(depth - 1, depth, measure)
  deep(depth - 1, depth, unlocked)
for depth in 7, 30, 100:
  deep(depth - 3, depth, turns)
  report(depth)
)";
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names = {"libpython3.11.so.1.0", "libpython3.12.so.1.0",
                                    "libpython3.13.so.1.0"};
  if (argc > 1) names = {argv[1]};
  void* library = nullptr;
  for (const std::string& name : names) {
    if (library == nullptr) library = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
  }
  if (library == nullptr) {
    std::printf("there is no library of Python (libpython3.11); nothing was measured\n");
    return 0;
  }
  void (*initialize)(int) = nullptr;
  int (*run)(const char*) = nullptr;
  const char* (*version)() = nullptr;
  find(library, "Py_InitializeEx", initialize);
  find(library, "PyRun_SimpleString", run);
  find(library, "Py_GetVersion", version);
  find(library, "PyThreadState_Get", g_public.thread);
  find(library, "PyThreadState_GetFrame", g_public.frame);
  find(library, "PyFrame_GetBack", g_public.back);
  find(library, "PyFrame_GetCode", g_public.code);
  find(library, "PyFrame_GetLasti", g_public.instruction);
  find(library, "Py_DecRef", g_public.release);
  initialize(0);
  std::printf("Python %.*s\n", 6, version());

  CallPathCache* const paths = CallPathCache::make(
      {}, {.path = [](void*, uint32_t, uint32_t, const uint64_t*, uint32_t) { return true; },
           .object = nullptr,
           .context = nullptr});
  g_python = PythonFrames::make(paths, {},
                                {.code = [](void*, const PythonCode&) { return true; },
                                 .interpreter = nullptr,
                                 .context = nullptr});
  g_unlocked = PythonFrames::make(paths, {},
                                  {.code = [](void*, const PythonCode&) { return true; },
                                   .interpreter = nullptr,
                                   .context = nullptr});
  const int failed = run(program().c_str());
  PythonFrames::destroy(g_unlocked);
  PythonFrames::destroy(g_python);
  CallPathCache::destroy(paths);
  return failed == 0 ? 0 : 1;
}
