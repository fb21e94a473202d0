// SPDX-License-Identifier: Apache-2.0
// Two ranks start two more processes, which are a job of their own, and exchange messages with
// them. With the argument "merge" all four become one communicator first.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kChildren = 2, kTag = 5, kBytes = 48 };

int main(int argc, char** argv) {
  MPI_Comm parent, other;
  int rank = 0, total = 0;
  char message[kBytes];
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (parent == MPI_COMM_NULL) {
    MPI_Comm_spawn(argv[0], argc > 1 ? argv + 1 : MPI_ARGV_NULL, kChildren, MPI_INFO_NULL, 0,
                   MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
  } else {
    other = parent;
  }
  memset(message, rank, sizeof message);
  MPI_Sendrecv_replace(message, kBytes, MPI_CHAR, rank, kTag, rank, kTag, other, MPI_STATUS_IGNORE);
  if (argc > 1 && strcmp(argv[1], "merge") == 0) {
    MPI_Comm all;
    MPI_Intercomm_merge(other, parent != MPI_COMM_NULL, &all);
    MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, all);
    MPI_Comm_free(&all);
  }
  MPI_Comm_disconnect(&other);
  if (parent == MPI_COMM_NULL) printf("rank %d got %d, sum %d\n", rank, message[0], total);
  MPI_Finalize();
  return 0;
}
