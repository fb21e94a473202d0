// SPDX-License-Identifier: Apache-2.0
// Programs that make it hard to take their call stacks, one for each name that is given; see
// bad_days_test.py. Each says what it did, and ends as it would without anybody who looks.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "../capture/cl_program.hpp"

namespace {

constexpr const char* kSource = "__kernel void one(void) {}";

struct Device {
  ClProgram cl{kSource};
  cl_command_queue queue = cl.queue();
  cl_kernel kernel = cl.kernel("one");
};
Device* g_device = nullptr;
std::atomic<int> g_launches{0};
std::atomic<long> g_nothings{0};

}  // namespace

#define KEPT extern "C" __attribute__((noinline))
// Nothing after a call would make it a jump.
#define CALLED __asm__ volatile("")

KEPT void launch() {
  const size_t items = 1;
  check(clEnqueueNDRangeKernel(g_device->queue, g_device->kernel, 1, nullptr, &items, nullptr, 0,
                               nullptr, nullptr),
        "clEnqueueNDRangeKernel");
  check(clFinish(g_device->queue), "clFinish");
  ++g_launches;
}

/// A launch of no dimensions, which fails before any lock is taken: it may be made in a signal
/// handler.
KEPT void launchNothing() {
  const size_t items = 1;
  if (clEnqueueNDRangeKernel(g_device->queue, g_device->kernel, 0, nullptr, &items, nullptr, 0,
                             nullptr, nullptr) == CL_SUCCESS) {
    _exit(40);
  }
  ++g_nothings;
}

KEPT void recurse(int depth, void (*last)()) {
  if (depth == 0) {
    last();
  } else {
    recurse(depth - 1, last);
  }
  CALLED;
}

namespace {

void plain() {
  for (int i = 0; i < 10; ++i) recurse(i, launch);
}

/// One library after the other in one place, with one code but for its names.
void replaced(const char* first, const char* second) {
  uintptr_t places[2];
  int i = 0;
  for (const char* const path : {first, second}) {
    void* const library = dlopen(path, RTLD_NOW);
    if (library == nullptr) std::exit(41);
    auto* const run = reinterpret_cast<void (*)(void (*)())>(dlsym(library, "run"));
    places[i++] = reinterpret_cast<uintptr_t>(run);
    run(launch);
    run(launch);
    dlclose(library);
  }
  std::puts(places[0] == places[1] ? "same place" : "other place");
}

KEPT int overflow(int depth) {
  volatile char room[256];
  room[0] = static_cast<char>(depth);
  if (depth % 2000 == 0) launch();
  if (depth < 0) return 0;
  const int deeper = overflow(depth + 1);
  return deeper + room[0];
}

void overflowWithHandler() {
  static char stack[65536];
  const stack_t alternate{stack, 0, sizeof stack};
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_handler = [](int) {
    launchNothing();
    _exit(7);
  };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  overflow(1);
}

void deep() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256u << 20);
  pthread_t thread;
  pthread_create(
      &thread, &attributes,
      [](void*) -> void* {
        for (int i = 0; i < 3; ++i) recurse(100'000, launch);
        return nullptr;
      },
      nullptr);
  pthread_join(thread, nullptr);
}

#ifdef __x86_64__
extern "C" void call_on_stack(void* top, void (*function)());
extern "C" void call_with_frame_pointer(uint64_t fp, void (*function)());
__asm__(R"(
.text
.globl call_on_stack
call_on_stack:
  push %rbx
  mov %rsp, %rbx
  mov %rdi, %rsp
  call *%rsi
  mov %rbx, %rsp
  pop %rbx
  ret
.globl call_with_frame_pointer
call_with_frame_pointer:
  push %rbp
  mov %rdi, %rbp
  call *%rsi
  pop %rbp
  ret
)");

/// Functions that no table describes, on stacks that nobody registered, above them rubbish.
void corrupt() {
  std::vector<uint64_t> stack(1 << 17);
  uint64_t random = 88172645463325252u;
  for (int i = 0; i < 200; ++i) {
    for (size_t k = stack.size() - 4096; k < stack.size(); ++k) {
      random ^= random << 13, random ^= random >> 7, random ^= random << 17;
      stack[k] = k % 3 == 0   ? reinterpret_cast<uint64_t>(&recurse) + random % 64
                 : k % 3 == 1 ? reinterpret_cast<uint64_t>(&stack[random % stack.size()])
                              : random;
    }
    call_on_stack(&stack[(stack.size() - 512) & ~size_t{1}], launch);
    call_with_frame_pointer(random, launch);
    call_with_frame_pointer(8, launch);
    call_with_frame_pointer(reinterpret_cast<uint64_t>(&stack[random % stack.size()]), launch);
  }
  // The topmost word of memory: what lies above it is not there.
  auto* const page = static_cast<char*>(
      mmap(nullptr, 1u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(page + (1u << 20) - 4096, 4096, PROT_NONE);
  call_on_stack(page + (1u << 20) - 4096, launch);
}
#else
void corrupt() {}
#endif

}  // namespace

ucontext_t g_main_context;
ucontext_t g_contexts[16];
KEPT void coroutine() {
  const auto self = static_cast<size_t>(g_launches.load()) % 16;
  for (int i = 0; i < 10; ++i) {
    recurse(i % 3, launch);
    swapcontext(&g_contexts[self], &g_main_context);
  }
}

namespace {

void coroutines() {
  std::vector<std::vector<char>> stacks(16, std::vector<char>(256u << 10));
  for (size_t i = 0; i < 16; ++i) {
    getcontext(&g_contexts[i]);
    g_contexts[i].uc_stack.ss_sp = stacks[i].data();
    g_contexts[i].uc_stack.ss_size = stacks[i].size();
    g_contexts[i].uc_link = &g_main_context;
    makecontext(&g_contexts[i], coroutine, 0);
    swapcontext(&g_main_context, &g_contexts[i]);
  }
  for (int round = 1; round < 10; ++round) {
    for (auto& context : g_contexts) swapcontext(&g_main_context, &context);
  }
}

/// Threads that are gone as soon as they have launched, and ones that the end of the program meets.
void threads() {
  for (int round = 0; round < 50; ++round) {
    std::thread all[4];
    for (std::thread& t : all) {
      t = std::thread([] {
        recurse(3, launch);
        pthread_exit(nullptr);
      });
    }
    for (std::thread& t : all) t.join();
  }
  static std::atomic<int> begun{0};
  for (int i = 0; i < 2; ++i) {
    std::thread([] {
      ++begun;
      for (;;) recurse(2, launchNothing);
    }).detach();
  }
  while (begun < 2) sched_yield();
  usleep(20'000);
}

/// Threads that are cancelled wherever they are in a launch, the first one of a thread included.
void cancelled() {
  for (int i = 0; i < 200; ++i) {
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          for (;;) {
            recurse(3, launchNothing);
            pthread_testcancel();
          }
        },
        nullptr);
    const long enough = i % 2 == 0 ? g_nothings + 5 : 0;
    while (g_nothings < enough) sched_yield();
    if (i % 4 == 1) usleep(static_cast<useconds_t>(i));
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
  }
}

void forked() {
  recurse(2, launch);
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      recurse(2, launchNothing);
      recurse(4, launchNothing);
      _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) std::exit(42);
    recurse(2, launch);
  }
}

std::atomic<int> g_signals{0};

/// Signals as often as they come, whose handler launches too.
void signals() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    const int before = errno;
    ++g_signals;
    recurse(5, launchNothing);
    errno = before;
  };
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  const itimerval often{{0, 50}, {0, 50}};
  setitimer(ITIMER_PROF, &often, nullptr);
  uint64_t random = 1;
  for (int i = 0; i < 400'000; ++i) {
    random = random * 6364136223846793005u + 1;
    errno = 77;
    recurse(static_cast<int>(random >> 60), launchNothing);
    if (errno != 77) std::exit(43);
  }
  const itimerval never{};
  setitimer(ITIMER_PROF, &never, nullptr);
  if (g_signals == 0) std::exit(44);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string day = argc > 1 ? argv[1] : "";
  // Where the system sets no limit an overflow would take all memory first.
  const rlimit stack{8u << 20, RLIM_INFINITY};
  if (day.rfind("overflow", 0) == 0) setrlimit(RLIMIT_STACK, &stack);
  g_device = new Device;
  if (day == "plain")
    plain();
  else if (day == "replaced" && argc == 4)
    replaced(argv[2], argv[3]);
  else if (day == "overflow")
    overflow(1);
  else if (day == "overflow_with_handler")
    overflowWithHandler();
  else if (day == "deep")
    deep();
  else if (day == "corrupt")
    corrupt();
  else if (day == "coroutines")
    coroutines();
  else if (day == "threads")
    threads();
  else if (day == "cancelled")
    cancelled();
  else if (day == "forked")
    forked();
  else if (day == "signals")
    signals();
  else
    return 45;
  std::printf("%d launches\n", g_launches.load());
  return 0;
}
