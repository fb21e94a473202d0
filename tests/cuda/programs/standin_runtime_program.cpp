// SPDX-License-Identifier: Apache-2.0
// A program of CUDA's runtime API, as nvcc makes them: its kernels are registered before main. It
// does a known amount of work and says what, with the keys of standin_program; runtime_calls are
// all its calls of the runtime. Usage: standin_runtime_program MODE [NUMBER...]
//   launches KERNELS [STREAMS]
//   threads THREADS KERNELS_EACH
//   capture LAUNCHES           a graph of two kernels that is captured
//   memory ROUNDS              allocates and frees in four ways
//   reset                      cudaDeviceReset between two halves of its work
//   two_devices                cudaSetDevice between them (STANDIN_SCRIPT=devices=2)
//   longjmp                    leaves cudaStreamSynchronize by siglongjmp, has the driver capture a
//                              graph, and works on
//   mixed KERNELS              launches by the runtime and by the driver in turn
#include <cuda_runtime_api.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include <string>
#include <thread>
#include <vector>

#include "standin_cudart.hpp"
#include "standin_program.hpp"

extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*,
                            void*, int*);
}

namespace program {
namespace {

// What host code calls a kernel by: only its address matters.
char add_symbol, wait_symbol;

[[maybe_unused]] const bool registered = [] {
  static StandinFatBinary binary{0x466243b1, 1, ".version 8.0\n.visible .entry vectorAdd()\n",
                                 nullptr};
  void** const handle = __cudaRegisterFatBinary(&binary);
  const auto add = [handle](char* symbol, const char* name) {
    __cudaRegisterFunction(handle, symbol, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr,
                           nullptr);
  };
  add(&add_symbol, "_Z9vectorAddPKfS0_Pfi");
  add(&wait_symbol, kStandinLongKernel);
  __cudaRegisterFatBinaryEnd(handle);
  return true;
}();

void checkRuntime(cudaError_t result, const char* what) {
  ++counts.runtime_calls;
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: CUDA error %d\n", what, static_cast<int>(result));
  std::exit(1);
}

#define RUN(call) checkRuntime(call, #call)

cudaStream_t newStream() {
  cudaStream_t made = nullptr;
  RUN(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  ++counts.streams;
  return made;
}

// Every fourth launch is one of cudaLaunchKernelExC.
void launchKernel(unsigned i, cudaStream_t on) {
  int argument = 1;
  void* arguments[] = {&argument};
  if (i % 4 == 3) {
    cudaLaunchConfig_t config{};
    config.gridDim = {i + 1, 1, 1};
    config.blockDim = {kBlock, 1, 1};
    config.stream = on;
    RUN(cudaLaunchKernelExC(&config, &add_symbol, arguments));
    ++counts.extended_launches;
  } else {
    RUN(cudaLaunchKernel(&add_symbol, {i + 1, 1, 1}, {kBlock, 1, 1}, arguments, 0, on));
  }
  ++counts.kernels;
}

void copyAndFill(cudaStream_t on) {
  std::vector<unsigned char> host(kBytes, 3), back(kBytes);
  void *a = nullptr, *b = nullptr;
  RUN(cudaMalloc(&a, kBytes));
  RUN(cudaMalloc(&b, kBytes));
  counts.allocations += 2;
  counts.allocated_bytes += 2 * kBytes;
  RUN(cudaMemcpy(a, host.data(), kBytes, cudaMemcpyHostToDevice));
  ++counts.htod, counts.htod_bytes += kBytes;
  RUN(cudaMemcpyAsync(b, a, kBytes, cudaMemcpyDeviceToDevice, on));
  ++counts.dtod, counts.dtod_bytes += kBytes;
  RUN(cudaStreamSynchronize(on));
  ++counts.stream_syncs;
  RUN(cudaMemcpy(back.data(), b, kBytes, cudaMemcpyDefault));
  ++counts.dtoh, counts.dtoh_bytes += kBytes;
  expect(host == back, "what came back is not what was copied");
  RUN(cudaMemset(a, 7, kBytes));
  ++counts.fills, counts.fill_bytes += kBytes;
  RUN(cudaFree(a));
  RUN(cudaFree(b));
  counts.frees += 2;
}

void synchronizeDevice() {
  RUN(cudaDeviceSynchronize());
  ++counts.context_syncs;
}

void launchAll(unsigned kernels, unsigned streams) {
  std::vector<cudaStream_t> on;
  for (unsigned i = 0; i < streams; ++i) on.push_back(newStream());
  copyAndFill(on.front());
  for (unsigned i = 0; i < kernels; ++i) launchKernel(i, on[i % streams]);
  expect(cudaLaunchKernel(&add_symbol, {0, 1, 1}, {kBlock, 1, 1}, nullptr, 0, on.front()) !=
             cudaSuccess,
         "an empty grid was launched");
  expect(cudaGetLastError() != cudaSuccess, "the last error is not known");
  counts.runtime_calls += 2;
  ++counts.failed_launches;
  cudaEvent_t event = nullptr;
  RUN(cudaEventCreate(&event));
  RUN(cudaEventRecord(event, on.front()));
  ++counts.event_records;
  RUN(cudaStreamWaitEvent(on.back(), event, 0));
  ++counts.stream_waits;
  RUN(cudaEventSynchronize(event));
  ++counts.event_syncs;
  synchronizeDevice();
}

void inThreadsOfTheRuntime(unsigned threads, unsigned kernels) {
  std::vector<std::thread> all;
  for (unsigned t = 0; t < threads; ++t) {
    all.emplace_back([kernels] {
      cudaStream_t own = newStream();
      for (unsigned i = 0; i < kernels; ++i) launchKernel(i, own);
      copyAndFill(own);
    });
  }
  for (std::thread& thread : all) thread.join();
  counts.threads += threads;
  synchronizeDevice();
}

void captureGraph(unsigned times) {
  cudaStream_t on = newStream();
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t exec = nullptr;
  RUN(cudaStreamBeginCapture(on, cudaStreamCaptureModeGlobal));
  for (unsigned i = 0; i < 2; ++i) {
    RUN(cudaLaunchKernel(&add_symbol, {i + 1, 1, 1}, {kBlock, 1, 1}, nullptr, 0, on));
    ++counts.captured_launches;
  }
  RUN(cudaStreamEndCapture(on, &captured));
#if CUDART_VERSION >= 12000
  RUN(cudaGraphInstantiate(&exec, captured, 0));
#else
  RUN(cudaGraphInstantiate(&exec, captured, nullptr, nullptr, 0));
#endif
  for (unsigned i = 0; i < times; ++i) {
    RUN(cudaGraphLaunch(exec, on));
    ++counts.graph_launches;
    counts.graph_kernels += 2;
  }
  RUN(cudaStreamSynchronize(on));
  ++counts.stream_syncs;
  RUN(cudaGraphExecDestroy(exec));
  RUN(cudaGraphDestroy(captured));
}

// A launch of the driver's becomes a graph.
void captureByTheDriver() {
  cudaStream_t on = newStream();
  CHECK(cuCtxGetCurrent(&context));
  loadModule();
  CUgraph captured = nullptr;
  CHECK(cuStreamBeginCapture(on, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cuLaunchKernel(vector_add, 1, 1, 1, kBlock, 1, 1, 0, on, nullptr, nullptr));
  ++counts.captured_launches, ++counts.driver_launches;
  CHECK(cuStreamEndCapture(on, &captured));
  RUN(cudaGraphLaunch(instantiate(captured), on));
  ++counts.graph_launches, ++counts.graph_kernels;
}

void allocateAndFree(unsigned rounds) {
  cudaStream_t on = newStream();
  for (unsigned i = 1; i <= rounds; ++i) {
    const size_t bytes = kBytes * i;
    void *plain = nullptr, *managed = nullptr, *pinned = nullptr, *async = nullptr;
    RUN(cudaMalloc(&plain, bytes));
    RUN(cudaMallocManaged(&managed, bytes, cudaMemAttachGlobal));
    RUN(cudaMallocHost(&pinned, bytes));
    RUN(cudaMallocAsync(&async, bytes, on));
    counts.allocations += 4;
    counts.allocated_bytes += 4 * bytes;
    ++counts.managed_allocations, ++counts.pinned_allocations, ++counts.async_allocations;
    RUN(cudaFreeAsync(async, on));
    ++counts.async_frees;
    RUN(cudaFreeHost(pinned));
    RUN(cudaFree(managed));
    RUN(cudaFree(plain));
    counts.frees += 4;
  }
  RUN(cudaStreamSynchronize(on));
  ++counts.stream_syncs;
}

sigjmp_buf out_of_the_call;

void leaveACall() {
  cudaStream_t on = newStream();
  RUN(cudaLaunchKernel(&wait_symbol, {1, 1, 1}, {kBlock, 1, 1}, nullptr, 0, on));
  ++counts.kernels;
  struct sigaction action {};
  action.sa_handler = [](int) { siglongjmp(out_of_the_call, 1); };
  sigaction(SIGALRM, &action, nullptr);
  if (sigsetjmp(out_of_the_call, 1) == 0) {
    const itimerval soon{{0, 0}, {0, 10'000}};
    setitimer(ITIMER_REAL, &soon, nullptr);
    RUN(cudaStreamSynchronize(on));
    expect(false, "the kernel was not long enough");
  }
  ++counts.abandoned_calls;
}

// Calls of the driver that are the program's own, in a context of the runtime.
void mixed(unsigned kernels) {
  cudaStream_t on = newStream();
  CHECK(cuCtxGetCurrent(&context));
  loadModule();
  for (unsigned i = 0; i < kernels; ++i) {
    if (i % 2 == 0) {
      launchKernel(i, on);
    } else {
      launch(i, on);
      ++counts.driver_launches;
    }
  }
  synchronizeDevice();
}

bool work(const std::string& mode, unsigned first, unsigned second) {
  if (mode == "launches") {
    launchAll(first, second != 0 ? second : 3);
  } else if (mode == "threads") {
    inThreadsOfTheRuntime(first, second);
  } else if (mode == "capture") {
    captureGraph(first);
  } else if (mode == "memory") {
    allocateAndFree(first);
  } else if (mode == "reset") {
    launchAll(50, 2);
    RUN(cudaDeviceReset());
    ++counts.resets;
    launchAll(50, 2);
    counts.contexts = 2;
  } else if (mode == "two_devices") {
    launchAll(30, 2);
    RUN(cudaSetDevice(1));
    launchAll(20, 2);
    counts.second_device_kernels = 20;
    counts.devices = counts.contexts = 2;
  } else if (mode == "longjmp") {
    launchAll(50, 2);
    leaveACall();
    captureByTheDriver();
    mixed(10);
    launchAll(50, 2);
  } else if (mode == "mixed") {
    mixed(first);
  } else {
    return false;
  }
  return true;
}

}  // namespace
}  // namespace program

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const unsigned first = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 0;
  const unsigned second = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 0;
  if (!program::work(mode, first, second)) {
    std::fprintf(stderr, "usage: see the head of standin_runtime_program.cpp\n");
    return 2;
  }
  program::say(mode.c_str());
}
