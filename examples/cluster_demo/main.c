// SPDX-License-Identifier: Apache-2.0
// Ranks of MPI that compute with OpenCL: each relaxes its part of a rod, exchanges the ends with
// its neighbours and agrees with all others on how much changed. Rank 1 has more to do, so that the
// others wait for it.
//
//   mpicc main.c -lOpenCL -o cluster_demo && mpirun -n 4 ./cluster_demo
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCells = 1 << 18, kSteps = 40 };

static const char* const kSource =
    "kernel void relax(global const float* from, global float* to, global float* change) {\n"
    "  size_t i = get_global_id(0) + 1;\n"
    "  to[i] = 0.5f * from[i] + 0.25f * (from[i - 1] + from[i + 1]);\n"
    "  change[i] = fabs(to[i] - from[i]);\n"
    "}\n";

static void check(cl_int error, const char* what) {
  if (error == CL_SUCCESS) return;
  fprintf(stderr, "cluster_demo: %s: OpenCL error %d\n", what, error);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  check(error, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  check(error, "clCreateCommandQueue");
  cl_program program = clCreateProgramWithSource(context, 1, (const char**)&kSource, NULL, &error);
  check(error, "clCreateProgramWithSource");
  check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, "relax", &error);
  check(error, "clCreateKernel");

  const size_t bytes = (kCells + 2) * sizeof(float), last = kCells * sizeof(float);
  float* const cells = calloc(kCells + 2, sizeof(float));
  float* const changes = calloc(kCells + 2, sizeof(float));
  for (int i = 0; i < kCells + 2; ++i) cells[i] = (float)((i * 37 + rank * 11) % 100);
  cl_mem buffers[3];
  for (int i = 0; i < 3; ++i) {
    buffers[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    check(error, "clCreateBuffer");
    check(clEnqueueWriteBuffer(queue, buffers[i], CL_TRUE, 0, bytes, cells, 0, NULL, NULL),
          "clEnqueueWriteBuffer");
  }
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  const size_t size = kCells;
  float all = 0;
  for (int step = 0; step < kSteps; ++step) {
    cl_mem* const from = &buffers[step % 2];
    cl_mem* const to = &buffers[1 - step % 2];
    check(clSetKernelArg(kernel, 0, sizeof *from, from), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof *to, to), "clSetKernelArg");
    check(clSetKernelArg(kernel, 2, sizeof buffers[2], &buffers[2]), "clSetKernelArg");
    for (int times = rank == 1 ? 96 : 16; times > 0; --times) {
      check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL),
            "clEnqueueNDRangeKernel");
    }
    check(clEnqueueReadBuffer(queue, *to, CL_TRUE, 0, bytes, cells, 0, NULL, NULL),
          "clEnqueueReadBuffer");
    check(clEnqueueReadBuffer(queue, buffers[2], CL_TRUE, 0, bytes, changes, 0, NULL, NULL),
          "clEnqueueReadBuffer");
    MPI_Request requests[4];
    MPI_Irecv(&cells[0], 1, MPI_FLOAT, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&cells[kCells + 1], 1, MPI_FLOAT, right, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(&cells[kCells], 1, MPI_FLOAT, right, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(&cells[1], 1, MPI_FLOAT, left, 2, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    check(clEnqueueWriteBuffer(queue, *to, CL_TRUE, 0, sizeof(float), &cells[0], 0, NULL, NULL),
          "clEnqueueWriteBuffer");
    check(clEnqueueWriteBuffer(queue, *to, CL_TRUE, last + sizeof(float), sizeof(float),
                               &cells[kCells + 1], 0, NULL, NULL),
          "clEnqueueWriteBuffer");
    float own = 0;
    for (int i = 1; i <= kCells; ++i) own = changes[i] > own ? changes[i] : own;
    MPI_Allreduce(&own, &all, 1, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
  }
  printf("rank %d of %d: the most that changed in the last step was %g\n", rank, ranks, all);
  for (int i = 0; i < 3; ++i) clReleaseMemObject(buffers[i]);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  free(cells);
  free(changes);
  MPI_Finalize();
  return 0;
}
