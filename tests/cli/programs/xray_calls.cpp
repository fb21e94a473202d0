// SPDX-License-Identifier: Apache-2.0
// Calls functions as often as it says, from several threads, in forked children, by way of
// exceptions and longjmp, and leaves threads in the middle of calls. Prints what it did.
// Usage: xray_calls [CALLS]   with a number: 41 times so many calls of leaf(); prints ns for one.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <thread>
#include <vector>

#define TRACED [[gnu::noinline, clang::xray_always_instrument]]

TRACED int leaf(int n) {
  asm volatile("");
  return n + 1;
}
TRACED int inner(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += leaf(i);
  return sum;
}
TRACED void thrower(int n) {
  leaf(n);
  throw std::runtime_error("out");
}
TRACED int catcher(int n) {
  try {
    thrower(n);
  } catch (const std::exception&) {
    return leaf(n);
  }
  return 0;
}
static jmp_buf g_back;
TRACED void jumper() { longjmp(g_back, 1); }
TRACED int jumped() {
  if (setjmp(g_back) == 0) jumper();
  return leaf(0);
}
TRACED void never_left() {
  leaf(1);
  pthread_exit(nullptr);
}
TRACED void slow() {
  usleep(3000);
  asm volatile("");
}

TRACED void batch(int calls) {
  for (int i = 0; i < calls; ++i) leaf(i);
}

static double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

/// ns for one call of leaf(): the median of 41 batches.
TRACED double timed(int calls) {
  std::vector<double> ns;
  for (int i = 0; i < 41; ++i) {
    const double begin = now();
    batch(calls);
    ns.push_back((now() - begin) / calls);
    usleep(20'000);  // for what was recorded to be read
  }
  std::sort(ns.begin(), ns.end());
  return ns[ns.size() / 2];
}

int main(int argc, char** argv) {
  if (argc > 1) {
    std::printf("%.1f\n", timed(std::atoi(argv[1])));
    return 0;
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) inner(10);
    });
  }
  for (std::thread& t : threads) t.join();
  for (int i = 0; i < 5; ++i) catcher(i);
  for (int i = 0; i < 7; ++i) jumped();
  std::thread(never_left).join();
  slow();
  const pid_t child = fork();
  if (child == 0) {
    inner(20);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::puts("done");
  return 3;
}
