// SPDX-License-Identifier: Apache-2.0
// Programs whose signal handlers do not simply return, one per word: the handler comes while the
// agent writes a record. Each says how many calls it made: "launches N".
// Usage: cl_handlers SHAPE [N]
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "cl_program.hpp"

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

namespace {

const size_t kItems = 1;
volatile sig_atomic_t g_handled = 0;
std::atomic<long> g_calls{0};

/// It fails, quickly, and is recorded.
void call() {
  clEnqueueNDRangeKernel(nullptr, nullptr, 1, nullptr, &kItems, nullptr, 0, nullptr, nullptr);
  g_calls.fetch_add(1);
}

void say(long number) {
  std::printf("launches %ld\n", number);
  std::fflush(stdout);
}

void handle(int signal, void (*handler)(int), int flags = 0) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

constexpr size_t kStackBytes = 1u << 18;

/// Calls until the handler has run `wanted` times on `stack`.
void callOn(void* stack, int flags, long wanted) {
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = kStackBytes;
  alternate.ss_flags = flags;
  sigaltstack(&alternate, nullptr);
  while (g_handled < wanted) call();
}

/// The handler runs on a stack of its own. `within`: it is a part of the thread's; else it lies
/// above that, and the system does not say that it is in use (SS_AUTODISARM).
int onOwnStack(bool within, long signals) {
  handle(
      SIGUSR1,
      [](int) {
        g_handled = g_handled + 1;
        call();
      },
      SA_ONSTACK);
  static long wanted;
  wanted = signals;
  pthread_t thread;
  const auto outside = [](void*) -> void* {
    callOn(mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
           static_cast<int>(SS_AUTODISARM), wanted);
    return nullptr;
  };
  const auto inside = [](void*) -> void* {
    alignas(64) char stack[kStackBytes];
    callOn(stack, 0, wanted);
    return nullptr;
  };
  pthread_create(&thread, nullptr, within ? +inside : +outside, nullptr);
  while (g_handled < signals) {
    pthread_kill(thread, SIGUSR1);
    usleep(200);
  }
  pthread_join(thread, nullptr);
  say(g_calls.load());
  return 0;
}

sigjmp_buf g_back;

/// The handler jumps out of waits for room in a small ring. A second line says how often the thread
/// could not be cancelled afterwards.
int waits(long jumps) {
  static volatile long uncancellable = 0;
  handle(SIGALRM, [](int) { siglongjmp(g_back, 1); });
  if (sigsetjmp(g_back, 1) != 0) {
    g_handled = g_handled + 1;
    int before = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    if (before != PTHREAD_CANCEL_ENABLE) uncancellable = uncancellable + 1;
  }
  if (g_handled < jumps) {
    const itimerval timer{{0, 0}, {0, 1000}};
    setitimer(ITIMER_REAL, &timer, nullptr);
    for (;;) call();
  }
  say(g_calls.load());
  say(uncancellable);
  return 0;
}

/// The handler jumps out of calls that make memory. Says how many calls of that kind fail then.
int creations(long jumps) {
  handle(SIGALRM, [](int) { siglongjmp(g_back, 1); });
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  check(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
  static cl_context context;
  context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  constexpr size_t kBytes = 64u << 20;
  if (sigsetjmp(g_back, 1) != 0) g_handled = g_handled + 1;
  if (g_handled < jumps) {
    const itimerval timer{{0, 0}, {0, 10'000}};
    setitimer(ITIMER_REAL, &timer, nullptr);
    for (;;) clReleaseMemObject(clCreateBuffer(context, 0, kBytes, nullptr, nullptr));
  }
  long failed = 0;
  for (int i = 0; i < 50; ++i) {
    cl_int error = CL_SUCCESS;
    clCreateBuffer(context, CL_MEM_USE_HOST_PTR, kBytes, nullptr, &error);
    failed += error != CL_SUCCESS;
  }
  say(failed);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string shape = argc > 1 ? argv[1] : "";
  const long n = argc > 2 ? std::atol(argv[2]) : 100;
  cl_uint platforms = 0;  // the loader asks for layers only now
  check(clGetPlatformIDs(0, nullptr, &platforms), "clGetPlatformIDs");
  call();
  if (shape == "disarmed") return onOwnStack(false, n);
  if (shape == "within") return onOwnStack(true, n);
  if (shape == "creations") return creations(n);
  if (shape == "waits") return waits(n);
  std::fprintf(stderr, "no such shape: %s\n", shape.c_str());
  return 2;
}
