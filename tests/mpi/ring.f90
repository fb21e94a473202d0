! SPDX-License-Identifier: Apache-2.0
! A ring of 10 reals, and a sum, in Fortran.
program ring
  use mpi
  implicit none
  integer :: error, rank, ranks, request, status(MPI_STATUS_SIZE)
  real :: out(10), in(10), total(10)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  out = rank
  call MPI_Irecv(in, 10, MPI_REAL, mod(rank + ranks - 1, ranks), 3, MPI_COMM_WORLD, request, error)
  call MPI_Send(out, 10, MPI_REAL, mod(rank + 1, ranks), 3, MPI_COMM_WORLD, error)
  call MPI_Wait(request, status, error)
  call MPI_Allreduce(in, total, 10, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Allreduce(MPI_IN_PLACE, total, 10, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, error)
  print '(a,i0,a,f8.1)', 'rank ', rank, ' has ', total(1)
  call MPI_Finalize(error)
end program ring
