// SPDX-License-Identifier: Apache-2.0
// Programs of unusual shapes, one per word. Each says how many launches succeeded, on standard
// output and from whichever process made them: lines "launches N".
// Usage: cl_shapes SHAPE [N]
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "cl_program.hpp"

namespace {

constexpr const char* kSource = "__kernel void one(void) {}";
const size_t kItems = 1;

void say(long launches) {
  char line[64];
  const int n = std::snprintf(line, sizeof line, "launches %ld\n", launches);
  [[maybe_unused]] const ssize_t done = write(1, line, static_cast<size_t>(n));
}

long launch(cl_command_queue queue, cl_kernel kernel, long times) {
  for (long i = 0; i < times; ++i) {
    check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kItems, nullptr, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
  }
  return times;
}

int launches(long n) {
  const ClProgram cl(kSource);
  const cl_command_queue queue = cl.queue();
  launch(queue, cl.kernel("one"), n);
  check(clFinish(queue), "clFinish");
  say(n);
  return 0;
}

/// The agent is in the parent already when it forks; the driver has not begun to work yet.
int forks(long n) {
  cl_uint platforms = 0;
  check(clGetPlatformIDs(0, nullptr, &platforms), "clGetPlatformIDs");
  const pid_t child = fork();
  if (child == 0) return launches(n);
  int status = 0;
  waitpid(child, &status, 0);
  launches(2 * n);
  return WEXITSTATUS(status);
}

int execs(char** argv, long n) {
  launches(n);
  char word[] = "launches", number[32];
  std::snprintf(number, sizeof number, "%ld", 2 * n);
  char* next[] = {argv[0], word, number, nullptr};
  execv(argv[0], next);
  return 1;
}

/// `n` threads one after another, each gone right after its last enqueue.
int shortThreads(long n) {
  const ClProgram cl(kSource);
  const cl_command_queue queue = cl.queue();
  const cl_kernel kernel = cl.kernel("one");
  for (long i = 0; i < n; ++i) std::thread([&] { launch(queue, kernel, 2); }).join();
  check(clFinish(queue), "clFinish");
  say(2 * n);
  return 0;
}

/// `n` threads that all launch at the same time.
int manyThreads(long n) {
  const ClProgram cl(kSource);
  std::atomic<long> waiting{n}, done{0};
  std::vector<std::thread> threads;
  for (long i = 0; i < n; ++i) {
    threads.emplace_back([&] {
      const cl_command_queue queue = cl.queue();
      const cl_kernel kernel = cl.kernel("one");
      waiting.fetch_sub(1);
      while (waiting.load() > 0) std::this_thread::yield();
      done += launch(queue, kernel, 20);
      check(clFinish(queue), "clFinish");
    });
  }
  for (std::thread& t : threads) t.join();
  say(done.load());
  return 0;
}

/// Threads that end while what they launched is still to be done.
int threadsAtExit(long n) {
  const ClProgram cl(kSource);
  for (long i = 0; i < n; ++i) {
    std::thread([&] { launch(cl.queue(), cl.kernel("one"), 5); }).detach();
  }
  usleep(200'000);
  say(5 * n);
  return 0;
}

struct AtTheVeryEnd {
  cl_command_queue queue = nullptr;
  cl_kernel kernel = nullptr;
  ~AtTheVeryEnd() {
    if (queue == nullptr) return;
    say(launch(queue, kernel, 3));
    check(clFinish(queue), "clFinish");
  }
};
AtTheVeryEnd g_at_the_very_end;

void atExit() {
  say(launch(g_at_the_very_end.queue, g_at_the_very_end.kernel, 4));
  check(clFinish(g_at_the_very_end.queue), "clFinish");
}

int destructors(long n) {
  static const ClProgram kProgram(kSource);
  g_at_the_very_end.queue = kProgram.queue();
  g_at_the_very_end.kernel = kProgram.kernel("one");
  std::atexit(atExit);
  say(launch(g_at_the_very_end.queue, g_at_the_very_end.kernel, n));
  return 0;
}

/// The main thread leaves by pthread_exit() while another launches for a second; the process is
/// then a zombie with threads. Everything of OpenCL is loaded by that thread when `late`.
void leaderLeaves(long n, bool late) {
  const auto work = [n] {
    const ClProgram cl(kSource);
    const cl_command_queue queue = cl.queue();
    const cl_kernel kernel = cl.kernel("one");
    for (long i = 0; i < n; ++i) {
      launch(queue, kernel, 1);
      usleep(static_cast<useconds_t>(1'000'000 / n));
    }
    check(clFinish(queue), "clFinish");
    say(n);
  };
  if (!late) launches(1);
  std::thread([work, late] {
    if (late) usleep(200'000);
    work();
    std::exit(0);  // the driver's threads would keep the process
  }).detach();
  pthread_exit(nullptr);
}

// The driver's own locks are none of our business: these calls fail before they take one.
std::atomic<long> g_calls{0};
void call() {
  clEnqueueNDRangeKernel(nullptr, nullptr, 1, nullptr, &kItems, nullptr, 0, nullptr, nullptr);
  g_calls.fetch_add(1);
}

/// A child of the bare system call: no pthread_atfork() handler runs in it.
int bareClone(long n) {
  cl_uint platforms = 0;
  check(clGetPlatformIDs(0, nullptr, &platforms), "clGetPlatformIDs");
  for (long i = 0; i < n; ++i) call();
  const long child = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  for (long i = 0; i < 2 * n; ++i) call();
  say(g_calls.load());
  if (child == 0) _exit(0);
  int status = 0;
  waitpid(static_cast<pid_t>(child), &status, 0);
  return WEXITSTATUS(status);
}

sigjmp_buf g_before_call;

/// A handler that leaves by siglongjmp(), wherever it has interrupted the main thread.
int jumps(long n) {
  cl_uint platforms = 0;
  check(clGetPlatformIDs(0, nullptr, &platforms), "clGetPlatformIDs");
  call();
  struct sigaction action {};
  action.sa_handler = [](int) { siglongjmp(g_before_call, 1); };
  sigaction(SIGUSR1, &action, nullptr);
  const pthread_t main_thread = pthread_self();
  std::atomic<bool> over{false};
  std::atomic<bool> ready{false};
  std::thread shooter([&] {
    while (!ready.load()) sched_yield();
    for (int i = 0; i < 300; ++i) {
      pthread_kill(main_thread, SIGUSR1);
      usleep(500);
    }
    over = true;
  });
  sigsetjmp(g_before_call, 1);
  ready = true;
  while (!over.load()) call();
  shooter.join();
  for (long i = 0; i < n; ++i) call();
  say(g_calls.load());
  return 0;
}

/// Threads that jump out of a call and end without another one; then calls of the main thread.
int jumpsAway(long n) {
  alarm(60);  // where a thread waits for ever
  cl_uint platforms = 0;
  check(clGetPlatformIDs(0, nullptr, &platforms), "clGetPlatformIDs");
  call();
  static thread_local sigjmp_buf before_call;
  struct sigaction action {};
  action.sa_handler = [](int) { siglongjmp(before_call, 1); };
  sigaction(SIGUSR1, &action, nullptr);
  for (int i = 0; i < 4; ++i) {
    std::atomic<int> made{0};
    std::thread jumper([&made] {
      if (sigsetjmp(before_call, 1) != 0) return;
      for (;;) {
        call();
        ++made;
      }
    });
    while (made.load() == 0) sched_yield();
    usleep(2000);
    pthread_kill(jumper.native_handle(), SIGUSR1);
    jumper.join();
  }
  for (long i = 0; i < n; ++i) call();
  say(g_calls.load());
  return 0;
}

int signals(long n) {
  cl_uint platforms = 0;  // the loader asks for layers only now
  check(clGetPlatformIDs(0, nullptr, &platforms), "clGetPlatformIDs");
  struct sigaction action {};
  action.sa_handler = [](int) { call(); };
  sigaction(SIGUSR1, &action, nullptr);
  const pthread_t main_thread = pthread_self();
  std::atomic<bool> over{false};
  std::thread shooter([&] {
    while (!over.load()) {
      pthread_kill(main_thread, SIGUSR1);
      const timespec pause{0, 5000};
      nanosleep(&pause, nullptr);
    }
  });
  for (long i = 0; i < n; ++i) call();
  over = true;
  shooter.join();
  say(g_calls.load());
  return 0;
}

/// Children that each make their process's first call while a signal handler makes others. Each
/// says its calls in a line "calls PID N".
int firstCallInterrupted(long children) {
  cl_uint platforms = 0;  // the loader asks for layers only now
  check(clGetPlatformIDs(0, nullptr, &platforms), "clGetPlatformIDs");
  static std::atomic<bool> begun{false};
  static std::atomic<int> arrived{0};
  struct sigaction action {};
  action.sa_handler = [](int) {
    arrived.fetch_add(1);
    if (begun.load()) call();
  };
  sigaction(SIGUSR1, &action, nullptr);
  for (long i = 0; i < children; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      std::atomic<bool> over{false};
      std::thread shooter([&over, main_thread = pthread_self()] {
        while (!over.load()) pthread_kill(main_thread, SIGUSR1);
      });
      while (arrived.load() == 0) sched_yield();
      begun = true;
      for (int calls = 0; calls < 20; ++calls) call();
      sigset_t no_more;
      sigemptyset(&no_more);
      sigaddset(&no_more, SIGUSR1);
      pthread_sigmask(SIG_BLOCK, &no_more, nullptr);
      over = true;
      shooter.join();
      char line[64];
      const int n = std::snprintf(line, sizeof line, "calls %d %ld\n", getpid(), g_calls.load());
      [[maybe_unused]] const ssize_t done = write(1, line, static_cast<size_t>(n));
      std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string shape = argc > 1 ? argv[1] : "";
  const long n = argc > 2 ? std::atol(argv[2]) : 10;
  if (shape == "launches") return launches(n);
  if (shape == "forks") return forks(n);
  if (shape == "execs") return execs(argv, n);
  if (shape == "short_threads") return shortThreads(n);
  if (shape == "many_threads") return manyThreads(n);
  if (shape == "threads_at_exit") return threadsAtExit(n);
  if (shape == "destructors") return destructors(n);
  if (shape == "signals") return signals(n);
  if (shape == "first_call_interrupted") return firstCallInterrupted(n);
  if (shape == "jumps") return jumps(n);
  if (shape == "jumps_away") return jumpsAway(n);
  if (shape == "bare_clone") return bareClone(n);
  if (shape == "leader_leaves") leaderLeaves(n, false);
  if (shape == "leader_leaves_first") leaderLeaves(n, true);
  std::fprintf(stderr, "no such shape: %s\n", shape.c_str());
  return 2;
}
