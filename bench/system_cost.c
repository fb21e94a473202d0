// SPDX-License-Identifier: Apache-2.0
// Work whose time is measured without and with profile --system:
//   busy: two threads that compute; ms in all      calls: short system calls; ns of each
//   switches: two threads that wake each other; ns of each wakeup
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static long g_times;
static int g_to[2], g_back[2];

static __attribute__((noinline)) uint64_t mix(uint64_t x) {
  for (int i = 0; i < 1000; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  return x;
}
static void* compute(void* seed) {
  uint64_t x = (uint64_t)(uintptr_t)seed;
  for (long i = 0; i < g_times; ++i) x = mix(x);
  return (void*)(uintptr_t)(x | 1);
}
static void* answer(void* unused) {
  char c;
  while (read(g_to[0], &c, 1) == 1 && write(g_back[1], &c, 1) == 1) {
  }
  return unused;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  pthread_t other;
  g_times = atol(argv[2]);
  const double begin = now();
  if (strcmp(argv[1], "busy") == 0) {
    pthread_create(&other, NULL, compute, argv);
    void* const own = compute(argv + 1);
    pthread_join(other, NULL);
    printf("%.3f\n", own == NULL ? 0 : (now() - begin) / 1e6);
  } else if (strcmp(argv[1], "calls") == 0) {
    for (long i = 0; i < g_times; ++i) syscall(SYS_getppid);
    printf("%.1f\n", (now() - begin) / g_times);
  } else {
    char c = 0;
    if (pipe(g_to) != 0 || pipe(g_back) != 0) return 1;
    pthread_create(&other, NULL, answer, NULL);
    for (long i = 0; i < g_times; ++i) {
      if (write(g_to[1], &c, 1) != 1 || read(g_back[0], &c, 1) != 1) return 1;
    }
    printf("%.1f\n", (now() - begin) / g_times / 2);
    close(g_to[1]);
    pthread_join(other, NULL);
  }
  return 0;
}
