// SPDX-License-Identifier: Apache-2.0
// Ranks that others wait for. Rank 2 comes 20 ms late to each of ten barriers, rank 1 30 ms late to
// one all-reduce; rank 0 sends 100 ms late to rank 1, and rank 3 receives 100 ms late from rank 2.
// With `hang FILE`, rank 3 writes its pid to the file and never calls the last all-reduce.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kLarge = 1 << 20 };

static void sleepMs(int ms) { usleep(ms * 1000); }

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double* const numbers = calloc(kLarge, sizeof *numbers);
  double* const sums = calloc(kLarge, sizeof *sums);

  for (int i = 0; i < 10; ++i) {
    if (rank == 2) sleepMs(20);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 1) sleepMs(30);
  MPI_Allreduce(numbers, sums, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

  if (rank == 0) {
    sleepMs(100);
    MPI_Send(numbers, 100, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(numbers, 100, MPI_DOUBLE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 2) {  // too large to be buffered
    MPI_Send(numbers, kLarge, MPI_DOUBLE, 3, 5, MPI_COMM_WORLD);
  } else if (rank == 3) {
    sleepMs(100);
    MPI_Recv(sums, kLarge, MPI_DOUBLE, 2, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Alltoall(numbers, 16, MPI_DOUBLE, sums, 16, MPI_DOUBLE, MPI_COMM_WORLD);

  // Hidden by what the thread does meanwhile.
  MPI_Request request;
  MPI_Iallreduce(numbers, sums, 100, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  sleepMs(20);
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  if (argc > 2 && strcmp(argv[1], "hang") == 0 && rank == 3) {
    FILE* const file = fopen(argv[2], "w");
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
    for (;;) pause();
  }
  MPI_Allreduce(numbers, sums, 10, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  free(numbers);
  free(sums);
  MPI_Finalize();
  return 0;
}
