! SPDX-License-Identifier: Apache-2.0
! A ring of 10 reals, and a sum, in Fortran 2008, without errors.
program ring_2008
  use mpi_f08
  implicit none
  integer :: rank, ranks
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  real :: out(10), in(10), total(10)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  out = rank
  call MPI_Irecv(in, 10, MPI_REAL, mod(rank + ranks - 1, ranks), 3, MPI_COMM_WORLD, request)
  call MPI_Send(out, 10, MPI_REAL, mod(rank + 1, ranks), 3, MPI_COMM_WORLD)
  call MPI_Wait(request, status)
  call MPI_Allreduce(in, total, 10, MPI_REAL, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Allreduce(MPI_IN_PLACE, total, 10, MPI_REAL, MPI_SUM, MPI_COMM_WORLD)
  print '(a,i0,a,f8.1)', 'rank ', rank, ' has ', total(1)
  call MPI_Finalize()
end program ring_2008
