// SPDX-License-Identifier: Apache-2.0
// Modes of standin_program in which a process ends, forks, executes another or is interrupted.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <string>
#include <thread>
#include <vector>

#include "standin_program.hpp"

namespace program {
namespace {

void sleepMs(unsigned ms) {
  timespec left{ms / 1000, static_cast<long>(ms % 1000) * 1'000'000};
  while (nanosleep(&left, &left) != 0) continue;
}

uint64_t nowMs() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000 + static_cast<uint64_t>(t.tv_nsec) / 1'000'000;
}

// A child that ends as programs do, with what runs at exit.
void child() {
  const uint64_t began = nowMs();
  const pid_t pid = fork();
  if (pid == 0) std::exit(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
  int status = -1;
  expect(waitpid(pid, &status, 0) == pid && status == 0, "the child did not end well");
  ++counts.children;
  counts.child_ms += nowMs() - began;
}

// By the system call itself: nothing that is called at a fork hears of it.
pid_t bareFork() { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }

CUfunction kernelNamed(const char* name) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CHECK(cuModuleLoadData(&module, ".version 8.0\n.visible .entry any() { ret; }\n"));
  CHECK(cuModuleGetFunction(&function, module, name));
  ++counts.modules;
  return function;
}

CUresult launchOnce(CUfunction function) {
  return cuLaunchKernel(function, 1, 1, 1, kBlock, 1, 1, 0, nullptr, nullptr, nullptr);
}

void waitFor(const std::vector<pid_t>& children) {
  for (const pid_t pid : children) {
    int status = -1;
    expect(waitpid(pid, &status, 0) == pid && status == 0, "a child did not end well");
    ++counts.children;
  }
}

// Children call CUDA, of no use there, with a kernel of their own, when their parent has launched
// one that it launches again afterwards.
void childrenThatCallCuda(unsigned children) {
  const CUfunction parents = kernelNamed("parentsKernel"), childs = kernelNamed("childsKernel");
  int begin[2];
  expect(pipe(begin) == 0, "no pipe");
  std::vector<pid_t> all;
  for (unsigned i = 0; i < children; ++i) {
    const pid_t pid = bareFork();
    if (pid == 0) {
      char any = 0;
      const bool begun = read(begin[0], &any, 1) == 1;
      _exit(begun && launchOnce(childs) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
    }
    all.push_back(pid);
  }
  for (int i = 0; i < 20; ++i) {
    if (i == 10) {
      const std::string word(children, '!');
      expect(write(begin[1], word.data(), children) == static_cast<ssize_t>(children),
             "the children cannot be told");
      waitFor(all);
    }
    CHECK(launchOnce(parents));
    ++counts.kernels;
    synchronize();
  }
}

// Children that execute this program, at once; the ith launches so many kernels and i more.
void childrenThatExecute(unsigned children, unsigned kernels, pid_t (*make)()) {
  std::vector<pid_t> all;
  for (unsigned i = 0; i < children; ++i) {
    const pid_t pid = make();
    if (pid == 0) {
      char self[] = "standin_program", mode[] = "launches", streams[] = "1";
      std::string number = std::to_string(kernels + i);
      char* const arguments[] = {self, mode, number.data(), streams, nullptr};
      execv("/proc/self/exe", arguments);
      _exit(127);
    }
    all.push_back(pid);
  }
  launches(kernels, 1);
  waitFor(all);
}

// Threads that end before the next ones begin.
void waves(unsigned times, unsigned threads) {
  for (unsigned wave = 0; wave < times; ++wave) {
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t) {
      all.emplace_back([] {
        CHECK(cuCtxSetCurrent(context));
        for (unsigned i = 0; i < 4; ++i) launch(i, nullptr);
      });
    }
    for (std::thread& thread : all) thread.join();
    counts.threads += threads;
  }
  synchronize();
}

void busy(unsigned kernels, unsigned wait_ms) {
  launches(100, 2);
  sleepMs(200);  // CUPTI writes records a while after the work has ended
  counts.synchronized_kernels = counts.kernels.load();
  CUstream on = stream();
  for (unsigned i = 0; i < kernels; ++i) launchLong(on);
  counts.queued_kernels = kernels;
  say("busy");
  sleepMs(wait_ms);
  raise(SIGKILL);
}

void execute(unsigned wait_ms) {
  if (std::getenv("STANDIN_BEFORE") == nullptr) {
    launches(100, 2);
    sleepMs(wait_ms);
    std::string before;
#define STANDIN_COUNT(name) \
  before += ", \"before_" #name "\": " + std::to_string(counts.name.load());
    STANDIN_COUNTS(STANDIN_COUNT)
#undef STANDIN_COUNT
    setenv("STANDIN_BEFORE", before.c_str(), 1);
    setenv("STANDIN_KERNEL", "vectorScale", 1);
    char self[] = "standin_program", mode[] = "exec";
    char* const arguments[] = {self, mode, nullptr};
    execv("/proc/self/exe", arguments);
    expect(false, "the program cannot be executed");
  }
  launches(50, 2);
}

sigjmp_buf out_of_the_call;

void jump(int) { siglongjmp(out_of_the_call, 1); }

// The call began and never ends, as far as a tool can see.
void leaveACall() {
  launches(100, 2);
  CUstream on = stream();
  launchLong(on);
  struct sigaction action {};
  action.sa_handler = jump;
  sigaction(SIGALRM, &action, nullptr);
  if (sigsetjmp(out_of_the_call, 1) == 0) {
    const itimerval soon{{0, 0}, {0, 10'000}};
    setitimer(ITIMER_REAL, &soon, nullptr);
    CHECK(cuStreamSynchronize(on));
    expect(false, "the kernel was not long enough");
  }
  ++counts.abandoned_calls;
  launches(100, 2);
}

void manyThreads(unsigned threads) {
  pthread_barrier_t all_are_there;
  pthread_barrier_init(&all_are_there, nullptr, threads);
  std::vector<std::thread> all;
  for (unsigned t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      CHECK(cuCtxSetCurrent(context));
      CUstream own = stream();
      pthread_barrier_wait(&all_are_there);
      for (unsigned i = 0; i < 4; ++i) launch(i, own);
      pthread_barrier_wait(&all_are_there);
    });
  }
  for (std::thread& thread : all) thread.join();
  counts.threads += threads;
  synchronize();
}

CUevent event() {
  CUevent made = nullptr;
  CHECK(cuEventCreate(&made, CU_EVENT_DISABLE_TIMING));
  return made;
}

void record(CUevent what, CUstream on) {
  CHECK(cuEventRecord(what, on));
  ++counts.event_records;
}

void waitFor(CUevent what, CUstream on) {
  CHECK(cuStreamWaitEvent(on, what, 0));
  ++counts.stream_waits;
}

// Kernels are 1, 2, 3... by their grids. Each round: the second stream's waits for the first's
// first, and not for its second; another thread has the second stream wait for the same event once
// it is recorded anew.
void events(unsigned rounds) {
  CUstream first = stream(), second = stream();
  CUevent reused = event();
  waitFor(event(), second);  // never recorded: nothing to wait for
  for (unsigned i = 0; i < rounds; ++i) {
    launch(5 * i, first);
    record(reused, first);
    launch(5 * i + 1, first);
    waitFor(reused, second);
    launch(5 * i + 2, second);
    record(reused, first);
    std::thread other([&] {
      CHECK(cuCtxSetCurrent(context));
      waitFor(reused, second);
    });
    other.join();
    launch(5 * i + 3, second);
    CHECK(cuEventSynchronize(reused));
    ++counts.event_syncs;
    launch(5 * i + 4, first);
  }
  counts.threads += rounds;
  synchronize();
}

}  // namespace

bool processMode(const char* name, unsigned first, unsigned second) {
  const std::string mode = name;
  if (mode == "fork") {
    launches(100, 2);
    child();
    launches(100, 2);
  } else if (mode == "bare_fork") {
    childrenThatCallCuda(first);
  } else if (mode == "children") {
    childrenThatExecute(first, second, fork);
  } else if (mode == "bare_children") {
    childrenThatExecute(first, second, bareFork);
  } else if (mode == "waves") {
    waves(first, second);
  } else if (mode == "child_exit") {
    launches(100, 2);
    CUstream on = stream();
    for (int i = 0; i < 10; ++i) launchLong(on);
    child();
    CHECK(cuStreamSynchronize(on));
    ++counts.stream_syncs;
  } else if (mode == "abort") {
    launches(1000, 2);
    sleepMs(200);  // CUPTI writes records a while after the work has ended
    for (unsigned i = 0; i < 1000; ++i) launch(i, nullptr);
    say("abort");
    raise(SIGKILL);
  } else if (mode == "busy") {
    busy(first, second);
  } else if (mode == "pause") {
    launches(100, 2);
    sleepMs(first);
    launches(100, 2);
  } else if (mode == "exec") {
    execute(first);
  } else if (mode == "longjmp") {
    leaveACall();
  } else if (mode == "many_threads") {
    manyThreads(first);
  } else if (mode == "events") {
    events(first);
    if (second != 0) {
      say("events");
      raise(SIGKILL);
    }
  } else {
    return false;
  }
  return true;
}

}  // namespace program
