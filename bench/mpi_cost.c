// SPDX-License-Identifier: Apache-2.0
// What a call of MPI costs that goes nowhere. Pauses let the collector empty the rings.
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int v = 0;
  enum { N = 10000 };
  double best[3] = {1e9, 1e9, 1e9};
  for (int round = 0; round < 40; ++round) {
    usleep(30000);
    double t = now();
    for (int i = 0; i < N; ++i) MPI_Send(&v, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    double a = (now() - t) / N;
    if (a < best[0]) best[0] = a;
    t = now();
    for (int i = 0; i < N; ++i)
      MPI_Recv(&v, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    a = (now() - t) / N;
    if (a < best[1]) best[1] = a;
    t = now();
    for (int i = 0; i < N; ++i) MPI_Barrier(MPI_COMM_SELF);
    a = (now() - t) / N;
    if (a < best[2]) best[2] = a;
  }
  printf("MPI_Send %.1f MPI_Recv %.1f MPI_Barrier %.1f\n", best[0], best[1], best[2]);
  MPI_Finalize();
}
