// SPDX-License-Identifier: Apache-2.0
// MPI-4: communicators from two sessions, without MPI_Init and without MPI_COMM_WORLD.
#include <mpi.h>
#include <stdio.h>

enum { kTag = 4, kCalls = 3 };

static MPI_Comm communicatorOf(MPI_Session session, const char* name) {
  MPI_Group group;
  MPI_Comm comm;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  return comm;
}

int main(void) {
  MPI_Session first, second;
  int rank = 0, size = 0, sum = 0, got = -1;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &first);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second);
  MPI_Comm a = communicatorOf(first, "a"), b = communicatorOf(second, "b");
  MPI_Comm_rank(a, &rank);
  MPI_Comm_size(a, &size);
  for (int i = 0; i < kCalls; ++i) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, a);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, kTag, &got, 1, MPI_INT,
               (rank + size - 1) % size, kTag, b, MPI_STATUS_IGNORE);
  MPI_Comm_free(&a);
  MPI_Comm_free(&b);
  MPI_Session_finalize(&first);
  MPI_Session_finalize(&second);
  printf("rank %d of %d: sum %d, got %d\n", rank, size, sum, got);
  return 0;
}
