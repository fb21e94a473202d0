// SPDX-License-Identifier: Apache-2.0
// A program that runs for long, as trainings do, and is told what to do: for tests that capture it
// while it runs. Usage: standin_training [THREADS]; each line of its input is a command, answered
// by one JSON object with the counts so far:
//   start    initialises CUDA (first of all, or later)
//   run N    each thread does N steps: a range, in it a range with a registered name of a domain,
//            four kernels, a copy, and a wait for them
//   go, halt steps without end, until halt
//   long N   N kernels of a long time are put into a queue, and not waited for
//   fork     a child, which makes ranges of its own; and ends
//   worker   a child, which annotates, is the first to use CUDA, and does 10 steps after a line of
//            its own comes
//   spawn    a process of this program, which does 10 steps after a line of its own comes
//   exec     executes itself
//   kineto_start, kineto_stop  PyTorch's profiler (standin_kineto.cpp) begins, and ends; how many
//            kernels it has seen is in the next answers
//   quit     ends
#include <cuda.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

struct {
  std::atomic<uint64_t> steps{0}, kernels{0}, copies{0}, kineto_kernels{0};
} counts;

template <class F>
F* kineto(const char* name) {
  static void* const library = dlopen("libtorch_cuda.so", RTLD_NOW);
  void* const function = library != nullptr ? dlsym(library, name) : nullptr;
  if (function == nullptr) {
    std::fprintf(stderr, "no %s in libtorch_cuda.so\n", name);
    std::exit(3);
  }
  return reinterpret_cast<F*>(function);
}

CUcontext context = nullptr;
CUfunction kernel = nullptr, long_kernel = nullptr;
nvtxDomainHandle_t domain = nullptr;
nvtxStringHandle_t work = nullptr;

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: CUDA error %d\n", what, static_cast<int>(result));
  std::exit(1);
}

void startCuda() {
  CUmodule module = nullptr;
  check(cuInit(0), "cuInit");
  check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuModuleLoadData(&module, "text"), "cuModuleLoadData");
  check(cuModuleGetFunction(&kernel, module, "trainStep"), "cuModuleGetFunction");
  check(cuModuleGetFunction(&long_kernel, module, "busyWait"), "cuModuleGetFunction");
}

void nameThings() {
  domain = nvtxDomainCreateA("training");
  work = nvtxDomainRegisterStringA(domain, "work");
}

struct Worker {
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;

  void prepare() {
    if (context == nullptr) return;
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    if (stream != nullptr) return;
    check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    check(cuMemAlloc(&memory, 4096), "cuMemAlloc");
  }

  void step() {
    nvtxRangePushA("step");
    nvtxEventAttributes_t a{};
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = work;
    nvtxDomainRangePushEx(domain, &a);
    if (stream != nullptr) {
      for (int i = 0; i < 4; ++i) {
        check(cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, stream, nullptr, nullptr), "launch");
        ++counts.kernels;
      }
      char host[256] = {};
      check(cuMemcpyHtoDAsync(memory, host, sizeof host, stream), "copy");
      ++counts.copies;
      check(cuStreamSynchronize(stream), "cuStreamSynchronize");
    }
    nvtxDomainRangePop(domain);
    nvtxRangePop();
    ++counts.steps;
  }
};

std::vector<Worker> workers;
std::atomic<bool> halted{true};

template <class Do>
void inEach(Do&& work_of) {
  std::vector<std::thread> threads;
  for (Worker& worker : workers) threads.emplace_back([&work_of, &worker] { work_of(worker); });
  for (std::thread& thread : threads) thread.join();
}

void answer() {
  std::printf(
      "{\"pid\": %d, \"steps\": %llu, \"kernels\": %llu, \"copies\": %llu, "
      "\"kineto_kernels\": %llu}\n",
      static_cast<int>(getpid()), static_cast<unsigned long long>(counts.steps.load()),
      static_cast<unsigned long long>(counts.kernels.load()),
      static_cast<unsigned long long>(counts.copies.load()),
      static_cast<unsigned long long>(counts.kineto_kernels.load()));
  std::fflush(stdout);
}

void forkChild() {
  const pid_t pid = fork();
  if (pid == 0) {
    for (int i = 0; i < 10; ++i) {
      nvtxRangePushA("of the child");
      nvtxRangePop();
    }
    std::exit(0);
  }
  int status = -1;
  if (waitpid(pid, &status, 0) != pid || status != 0) std::exit(3);
}

void forkWorker() {
  const pid_t pid = fork();
  if (pid == 0) {
    nvtxMarkA("of the worker");
    startCuda();
    std::string line;
    std::getline(std::cin, line);
    workers[0].prepare();
    for (int i = 0; i < 10; ++i) workers[0].step();
    std::exit(0);
  }
  int status = -1;
  if (waitpid(pid, &status, 0) != pid || status != 0) std::exit(3);
}

void spawn() {
  int in[2];
  if (pipe(in) != 0) std::exit(3);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(in[0], 0);
    dup2(2, 1);  // what it answers is not for our reader
    close(in[0]);
    close(in[1]);
    execl("/proc/self/exe", "standin_training", static_cast<char*>(nullptr));
    _exit(3);
  }
  close(in[0]);
  std::string line;
  std::getline(std::cin, line);
  const std::string commands = "start\nrun 10\nquit\n";
  if (write(in[1], commands.data(), commands.size()) < 0) std::exit(3);
  close(in[1]);
  int status = -1;
  if (waitpid(pid, &status, 0) != pid || status != 0) std::exit(3);
}

}  // namespace

int main(int argc, char** argv) {
  workers.resize(argc > 1 ? static_cast<size_t>(std::atoi(argv[1])) : 1);
  nameThings();
  std::thread endless;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string command;
    unsigned n = 0;
    words >> command >> n;
    if (command == "start") {
      startCuda();
    } else if (command == "run") {
      inEach([n](Worker& worker) {
        worker.prepare();
        for (unsigned i = 0; i < n; ++i) worker.step();
      });
    } else if (command == "go") {
      halted = false;
      endless = std::thread([] {
        inEach([](Worker& worker) {
          worker.prepare();
          while (!halted) worker.step();
        });
      });
    } else if (command == "halt") {
      halted = true;
      endless.join();
    } else if (command == "long") {
      workers[0].prepare();
      for (unsigned i = 0; i < n; ++i, ++counts.kernels) {
        check(
            cuLaunchKernel(long_kernel, 1, 1, 1, 64, 1, 1, 0, workers[0].stream, nullptr, nullptr),
            "launch");
      }
    } else if (command == "await") {  // until "halt", which takes as long as that
      endless = std::thread([] {
        check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
        check(cuStreamSynchronize(workers[0].stream), "cuStreamSynchronize");
      });
    } else if (command == "fork") {
      forkChild();
    } else if (command == "worker") {
      forkWorker();
    } else if (command == "spawn") {
      spawn();
    } else if (command == "exec") {
      execv("/proc/self/exe", argv);
      return 3;
    } else if (command == "kineto_start") {
      kineto<void()>("kinetoStart")();
    } else if (command == "kineto_stop") {
      counts.kineto_kernels = kineto<unsigned long()>("kinetoStop")();
    } else if (command == "quit") {
      break;
    }
    answer();
  }
  if (endless.joinable()) {
    halted = true;
    endless.join();
  }
}
