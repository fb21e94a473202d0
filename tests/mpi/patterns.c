// SPDX-License-Identifier: Apache-2.0
// Calls of every kind whose traffic is known. Prints a checksum of what it received. The argument
// `abort` ends the job by MPI_Abort, `fail` with exit code 3; with `first` rank 0 just exits with
// 5, while the others wait for it.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long sum = 0;

static void add(const int* values, int count) {
  for (int i = 0; i < count; ++i) sum = sum * 31 + (unsigned)values[i];
}

int main(int argc, char** argv) {
  int provided, rank, ranks;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  int out[64], in[64 * 16];
  for (int i = 0; i < 64; ++i) out[i] = rank * 100 + i;

  // Communicators.
  MPI_Comm half, copy;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm_set_name(half, rank % 2 ? "odd" : "even");
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);

  // Collectives: 100 doubles, 50 ints of rank 1, 3 ints of each.
  double numbers[100], sums[100];
  for (int i = 0; i < 100; ++i) numbers[i] = rank + i;
  for (int i = 0; i < 5; ++i)
    MPI_Allreduce(numbers, sums, 100, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, numbers, 10, MPI_DOUBLE, MPI_MAX, half);
  MPI_Bcast(out, 50, MPI_INT, 1, copy);
  // What is not significant in a rank may be anything.
  MPI_Gather(out, 3, MPI_INT, rank == 0 ? in : NULL, rank == 0 ? 3 : -7,
             rank == 0 ? MPI_INT : MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
  if (rank == 0) add(in, 3 * ranks);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 2, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, MPI_COMM_WORLD);
  add(in, 2 * ranks);
  MPI_Barrier(half);

  // Messages: a ring of 16 ints in requests, whose statuses are ignored; one from anywhere.
  MPI_Request requests[2];
  MPI_Irecv(in, 20, MPI_INT, previous, 7, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, 16, MPI_INT, next, 7, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  add(in, 16);
  MPI_Status status;
  if (rank != 0) {
    MPI_Send(out, rank, MPI_INT, 0, 20 + rank, MPI_COMM_WORLD);
  } else {
    for (int i = 1; i < ranks; ++i) {
      MPI_Recv(in, 64, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      int count;
      MPI_Get_count(&status, MPI_INT, &count);
      if (count != status.MPI_SOURCE || status.MPI_TAG != 20 + count) abort();
    }
  }
  MPI_Sendrecv(out, 8, MPI_INT, next, 1, in, 9, MPI_INT, previous, 1, copy, MPI_STATUS_IGNORE);
  add(in, 8);
  MPI_Send(out, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);

  MPI_Barrier(MPI_COMM_WORLD);  // what follows is not for the receives from anywhere

  // Persistent ones, three times.
  MPI_Recv_init(in, 4, MPI_INT, previous, 5, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(out, 4, MPI_INT, next, 5, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 3; ++i) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    add(in, 4);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);

  // A derived type: every other int of 10, 20 bytes of them.
  MPI_Datatype every_other;
  MPI_Type_vector(5, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  MPI_Irecv(in, 5, MPI_INT, previous, 9, MPI_COMM_WORLD, &requests[0]);
  MPI_Send(out, 1, every_other, next, 9, MPI_COMM_WORLD);
  int done = 0;
  while (!done) MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
  add(in, 5);
  MPI_Type_free(&every_other);

  // A collective in a request.
  MPI_Iallreduce(numbers, sums, 100, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);

  // More requests than fit a record.
  enum { kMany = 200 };
  static int many_in[kMany], many_out[kMany];
  static MPI_Request many[2 * kMany];
  for (int i = 0; i < kMany; ++i) {
    many_out[i] = rank * 1000 + i;
    MPI_Irecv(&many_in[i], 1, MPI_INT, previous, 100 + i, MPI_COMM_WORLD, &many[i]);
  }
  for (int i = 0; i < kMany; ++i) {
    MPI_Isend(&many_out[i], 1, MPI_INT, next, 100 + i, MPI_COMM_WORLD, &many[kMany + i]);
  }
  MPI_Waitall(2 * kMany, many, MPI_STATUSES_IGNORE);
  add(many_in, kMany);

  // Between two groups, where arguments that are not significant may be anything.
  MPI_Comm between;
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 77, &between);
  const int counts[16] = {2, 2, 2, 2, 2, 2, 2, 2}, places[16] = {0, 2, 4, 6, 8, 10, 12, 14};
  if (rank == 0) {
    MPI_Gatherv(NULL, -7, MPI_DATATYPE_NULL, in, counts, places, MPI_INT, MPI_ROOT, between);
    add(in, ranks);
  } else if (rank % 2 == 0) {
    MPI_Gatherv(NULL, -7, MPI_DATATYPE_NULL, NULL, NULL, NULL, MPI_DATATYPE_NULL, MPI_PROC_NULL,
                between);
  } else {
    MPI_Gatherv(out, 2, MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, 0, between);
  }
  MPI_Comm_free(&between);

  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
  printf("rank %d of %d received %lu\n", rank, ranks, sum);
  fflush(stdout);
  if (argc > 1 && strcmp(argv[1], "first") == 0) {
    if (rank == 0) _exit(5);
    MPI_Recv(in, 1, MPI_INT, 0, 998, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (argc > 1 && strcmp(argv[1], "abort") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 9);
    MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return argc > 1 ? 3 : 0;
}
