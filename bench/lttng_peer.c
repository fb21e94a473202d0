/* SPDX-License-Identifier: Apache-2.0
 * What a span (two tracepoints) costs with LTTng-UST; see bench/lttng.sh. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { kBursts = 61, kSpans = 20000 };

static double cpuNs(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a;
  const double y = *(const double *)b;
  return x < y ? -1 : x > y;
}

int main(void) {
  double ns[kBursts];
  for (int b = 0; b < kBursts; ++b) {
    const double begin = cpuNs();
    for (uint64_t i = 0; i < kSpans; ++i) {
      lttng_ust_tracepoint(tracesmith_peer, begin, i & 3);
      lttng_ust_tracepoint(tracesmith_peer, end, i & 3);
    }
    ns[b] = (cpuNs() - begin) / kSpans;
    usleep(12000);
  }
  const int first = kBursts / 4;
  qsort(ns + first, kBursts - first, sizeof ns[0], compare);
  printf("LTTng-UST: a span (two tracepoints)                        %7.1f ns  (best %.1f)\n",
         ns[first + (kBursts - first) / 2], ns[first]);
  return 0;
}
