// SPDX-License-Identifier: Apache-2.0
// Captures itself with createProfiler(PlatformType::CUDA) and prints what it was given, one JSON
// object for each capture. A program of its own because the agent enters a process once.
// Usage: cuda_in_process MODE [WITHOUT...]
//   window    work before, within, between and after two captures; then another profiler's
//   first     the capture begins before the process's first CUDA call
//   late      the profiler comes when CUDA is in use
//   idle N    N launches while nothing is captured, then ten that are; whether another tool would
//             be let in before and after
//   small     more events than the buffer has room for
//   fork      a child ends while the parent captures
//   child     a child asks for the profiler of its parent
//   stacks    with the call stacks of launches
//   devices   what is there, before CUDA is used and after
// WITHOUT: kernels, memcpy, memset, sync, kernel_params, memory_params: fields of ProfilerConfig
// that are switched off.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tracesmith/capture/cupti_profiler.hpp"

namespace ts = tracesmith;

namespace {

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: CUDA error %d\n", what, static_cast<int>(result));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

CUfunction twice = nullptr;
CUstream stream = nullptr;

void start() {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, ".version 8.0\n.visible .entry twice() { ret; }\n"));
  CHECK(cuModuleGetFunction(&twice, module, "twice"));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

extern "C" [[gnu::noinline]] void launch(unsigned times) {
  int argument = 1;
  void* arguments[] = {&argument};
  for (unsigned i = 0; i < times; ++i) {
    CHECK(cuLaunchKernel(twice, 2, 3, 1, 64, 1, 1, 256, stream, arguments, nullptr));
  }
  CHECK(cuStreamSynchronize(stream));
}

/// Two copies of each direction, one fill, one wait for the context.
void move() {
  constexpr size_t kBytes = 4096;
  static char host[kBytes];
  CUdeviceptr a = 0, b = 0;
  CHECK(cuMemAlloc(&a, kBytes));
  CHECK(cuMemAlloc(&b, kBytes));
  for (int i = 0; i < 2; ++i) {
    CHECK(cuMemcpyHtoD(a, host, kBytes));
    CHECK(cuMemcpyDtoD(b, a, kBytes));
    CHECK(cuMemcpyDtoH(host, b, kBytes));
  }
  CHECK(cuMemsetD32(a, 7, kBytes / 4));
  CHECK(cuCtxSynchronize());
  CHECK(cuMemFree(a));
  CHECK(cuMemFree(b));
}

std::vector<ts::TraceEvent> take(ts::IPlatformProfiler& profiler) {
  std::vector<ts::TraceEvent> events;
  profiler.getEvents(events);
  return events;
}

/// Counts by type, and whether launches and kernels belong together one by one.
void print(const char* what, ts::IPlatformProfiler& profiler) {
  std::map<std::string, int> counts;
  std::multiset<uint64_t> launches, kernels;
  int bad = 0, with_shape = 0, with_bytes = 0;
  for (const ts::TraceEvent& e : take(profiler)) {
    ++counts[ts::eventTypeToString(e.type)];
    if (e.type == ts::EventType::KernelLaunch) launches.insert(e.correlation_id);
    if (e.type == ts::EventType::KernelComplete) {
      kernels.insert(e.correlation_id);
      if (e.duration == 0 || e.name != "twice") ++bad;
      if (e.kernel_params && e.kernel_params->grid_x == 2 && e.kernel_params->grid_y == 3 &&
          e.kernel_params->block_x == 64 && e.kernel_params->shared_mem_bytes == 256) {
        ++with_shape;
      }
    }
    if (e.memory_params && e.memory_params->size_bytes == 4096) ++with_bytes;
  }
  std::printf(
      "{\"what\": \"%s\", \"paired\": %s, \"bad\": %d, \"with_shape\": %d, "
      "\"with_bytes\": %d, \"dropped\": %" PRIu64,
      what, launches == kernels ? "true" : "false", bad, with_shape, with_bytes,
      profiler.eventsDropped());
  for (const auto& [type, count] : counts) std::printf(", \"%s\": %d", type.c_str(), count);
  std::printf("}\n");
  std::fflush(stdout);
}

/// Says on standard error why `ok` is false, and ends.
void require(bool ok, const char* what, const ts::IPlatformProfiler& profiler) {
  if (ok) return;
  std::fprintf(stderr, "%s: %s\n", what, profiler.lastError().c_str());
  std::exit(3);
}

template <class Body>
int inChild(Body body) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) std::exit(body());
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void capture(ts::IPlatformProfiler& profiler, const char* what, unsigned launches) {
  require(profiler.startCapture(), "startCapture", profiler);
  launch(launches);
  require(profiler.stopCapture(), "stopCapture", profiler);
  print(what, profiler);
}

void printStack(ts::IPlatformProfiler& profiler) {
  for (const ts::TraceEvent& e : take(profiler)) {
    if (e.type != ts::EventType::KernelLaunch || !e.call_stack) continue;
    std::printf("{\"depth\": %zu", e.call_stack->depth());
    std::printf(", \"functions\": [");
    const char* between = "";
    for (const ts::StackFrame& f : e.call_stack->frames) {
      std::printf("%s\"%s\"", between, f.function_name.c_str());
      between = ", ";
    }
    std::printf("]}\n");
    return;
  }
}

void printDevices(const char* what) {
  std::printf("{\"what\": \"%s\", \"available\": %s, \"count\": %d, \"driver\": %d", what,
              ts::isCUDAAvailable() ? "true" : "false", ts::getCUDADeviceCount(),
              ts::getCUDADriverVersion());
  const ts::CUPTIProfiler profiler;
  std::printf(", \"profiler\": %s, \"cupti\": %u", profiler.isAvailable() ? "true" : "false",
              profiler.getCuptiVersion());
  for (const ts::DeviceInfo& d : profiler.getDeviceInfo()) {
    std::printf(", \"name\": \"%s\", \"vendor\": \"%s\", \"memory\": %" PRIu64
                ", \"compute\": \"%u.%u\", \"multiprocessors\": %u, \"warp\": %u",
                d.name.c_str(), d.vendor.c_str(), d.total_memory, d.compute_major, d.compute_minor,
                d.multiprocessor_count, d.warp_size);
  }
  std::printf("}\n");
}

ts::ProfilerConfig configOf(int argc, char** argv, const std::string& mode) {
  ts::ProfilerConfig config;
  if (mode == "small") config.buffer_size = 10;
  if (mode == "stacks") {
    config.capture_callstacks = true;
    config.callstack_depth = 2;
  }
  for (int i = 2; i < argc; ++i) {
    const std::string field = argv[i];
    if (field == "kernels") config.capture_kernels = false;
    if (field == "memcpy") config.capture_memcpy = false;
    if (field == "memset") config.capture_memset = false;
    if (field == "sync") config.capture_sync = false;
    if (field == "kernel_params") config.capture_kernel_params = false;
    if (field == "memory_params") config.capture_memory_params = false;
  }
  return config;
}

// Another tool would be let in, as by a library that lets in one at a time.
bool cuptiIsFree() {
  const char* const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
  void* library = nullptr;
  for (const char* const name : names) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
  }
  if (library == nullptr) return false;
  const auto subscribe =
      reinterpret_cast<int (*)(void**, void (*)(), void*)>(dlsym(library, "cuptiSubscribe"));
  const auto unsubscribe = reinterpret_cast<int (*)(void*)>(dlsym(library, "cuptiUnsubscribe"));
  void* subscriber = nullptr;
  const bool is_free = subscribe != nullptr && subscribe(
                                                   &subscriber, [] {}, nullptr) == 0;
  if (is_free && unsubscribe != nullptr) unsubscribe(subscriber);
  return is_free;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "devices") {
    printDevices("before");
    start();
    printDevices("after");
    return 0;
  }
  if (mode == "late") {
    start();
    launch(3);
  }
  const auto profiler = ts::createProfiler(ts::PlatformType::CUDA);
  std::atomic<uint64_t> seen = 0;
  profiler->setEventCallback([&](const ts::TraceEvent&) { ++seen; });
  require(profiler->initialize(configOf(argc, argv, mode)), "initialize", *profiler);

  if (mode == "first") {
    require(profiler->startCapture(), "startCapture", *profiler);
    start();
    launch(20);
    require(profiler->stopCapture(), "stopCapture", *profiler);
    print("first", *profiler);
    return 0;
  }
  if (mode == "child") {
    const int code = inChild([&] {
      if (profiler->startCapture()) return 1;
      std::fprintf(stderr, "%s\n", profiler->lastError().c_str());
      const auto own = ts::createProfiler(ts::PlatformType::CUDA);
      if (own->initialize()) return 2;
      std::fprintf(stderr, "%s\n", own->lastError().c_str());
      return 7;
    });
    std::printf("{\"child\": %d}\n", code);
    return 0;
  }
  if (mode != "late") start();
  if (mode == "idle") {
    for (int left = std::atoi(argv[2]); left > 0; left -= 1000) launch(1000);
    const bool free_before = cuptiIsFree();
    capture(*profiler, "idle", 10);
    std::printf("{\"free_before\": %d, \"free_after\": %d}\n", free_before, cuptiIsFree());
    return 0;
  }

  launch(3);
  require(profiler->startCapture(), "startCapture", *profiler);
  if (mode == "fork") std::printf("{\"child\": %d}\n", inChild([] { return 7; }));
  launch(7);
  move();
  require(profiler->stopCapture(), "stopCapture", *profiler);
  launch(2);
  if (mode == "stacks") {
    printStack(*profiler);
    return 0;
  }
  if (mode == "small") {
    std::printf("{\"captured\": %" PRIu64 ", \"dropped\": %" PRIu64 ", \"seen\": %" PRIu64 "}\n",
                profiler->eventsCaptured(), profiler->eventsDropped(), seen.load());
    return 0;
  }
  print("window", *profiler);
  if (mode != "window" || argc > 2) return 0;
  capture(*profiler, "again", 5000);

  const auto second = ts::createProfiler(ts::PlatformType::CUDA);
  if (second->initialize()) return 4;  // one at a time
  profiler->finalize();
  require(second->initialize(), "second", *second);
  capture(*second, "second", 4);
  second->finalize();
  const auto other = ts::createProfiler(ts::PlatformType::OpenCL);
  if (other->initialize()) return 5;
  std::fprintf(stderr, "%s\n", other->lastError().c_str());
  return 0;
}
