// SPDX-License-Identifier: Apache-2.0
// Ranks that compute with OpenCL and meet in a collective each step. Rank RANK has a fault:
//
//   straggler FAULT RANK STEPS SLOW_US
//     none   no fault
//     work   its kernels have more work-items, for about SLOW_US more
//     stop   it is stopped for SLOW_US * 4 in every fourth step; a process of its own lets it go on
//     lock   a thread of it holds a lock that each step needs, for SLOW_US
//
// Prints the time that a step takes without the collective, us: its mean and standard deviation.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char* const kSource =
    "kernel void churn(global float* data, int rounds) {\n"
    "  size_t i = get_global_id(0);\n"
    "  float x = data[i];\n"
    "  for (int k = 0; k < rounds; ++k) x = x * 0.999f + 0.5f;\n"
    "  data[i] = x;\n"
    "}\n";
enum { kItems = 1 << 12, kMost = 1 << 18 };

static void check(cl_int error, const char* what) {
  if (error == CL_SUCCESS) return;
  fprintf(stderr, "straggler: %s: OpenCL error %d\n", what, error);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double nowUs(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void sleepUs(double us) {
  const struct timespec t = {(time_t)(us / 1e6), (long)(fmod(us, 1e6) * 1e3)};
  nanosleep(&t, NULL);
}

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t g_both;
static double g_slow_us;

/// Takes the lock before each step of the program, and keeps it for a while.
static void* holdLock(void* steps) {
  for (int step = 0; step < *(int*)steps; ++step) {
    pthread_mutex_lock(&g_lock);
    pthread_barrier_wait(&g_both);
    sleepUs(g_slow_us);
    pthread_mutex_unlock(&g_lock);
    pthread_barrier_wait(&g_both);
  }
  return NULL;
}

/// A process that lets this one go on, a while after it said with a byte that it stops, until it
/// says that it does.
static int startStopper(double us, pid_t* stopper) {
  int ends[2];
  if (pipe(ends) != 0) exit(1);
  const pid_t victim = getpid();
  *stopper = fork();
  if (*stopper == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[1]);
    char byte;
    while (read(ends[0], &byte, 1) == 1) {
      sleepUs(us);
      struct pollfd more = {.fd = ends[0], .events = POLLIN};
      do {
        kill(victim, SIGCONT);
      } while (poll(&more, 1, 1) == 0);
      if (read(ends[0], &byte, 1) != 1) break;
    }
    _exit(0);
  }
  close(ends[0]);
  return ends[1];
}

/// At once, and not when another process has come to it.
static void stop(int to_stopper) {
  if (write(to_stopper, "s", 1) != 1 || raise(SIGSTOP) != 0 || write(to_stopper, "c", 1) != 1) {
    exit(1);
  }
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const char* const fault = argv[1];
  const int faulty = atoi(argv[2]);
  int steps = atoi(argv[3]), rank;
  g_slow_us = atof(argv[4]);
  // Before MPI and OpenCL have threads.
  pid_t stopper = 0;
  int to_stopper = -1;
  if (strcmp(fault, "stop") == 0) to_stopper = startStopper(g_slow_us * 4, &stopper);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int has_fault = rank == faulty;
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
  cl_kernel kernel = clCreateKernel(program, "churn", &error);
  check(error, "clCreateKernel");
  cl_mem data = clCreateBuffer(context, CL_MEM_READ_WRITE, kMost * sizeof(float), NULL, &error);
  check(error, "clCreateBuffer");
  cl_int rounds = 2000;
  check(clSetKernelArg(kernel, 0, sizeof data, &data), "clSetKernelArg");
  check(clSetKernelArg(kernel, 1, sizeof rounds, &rounds), "clSetKernelArg");
  size_t size = kItems;

  // How long the kernel takes here, for the one that has more work.
  double usual_us = 1e9;
  for (int i = 0; i < 10; ++i) {
    const double start = nowUs();
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL),
          "clEnqueueNDRangeKernel");
    check(clFinish(queue), "clFinish");
    usual_us = fmin(usual_us, nowUs() - start);
  }
  const int has_more = has_fault && strcmp(fault, "work") == 0;
  if (has_more) {
    size = (size_t)(kItems * (1 + g_slow_us / usual_us)) / 64 * 64;
    if (size > kMost) size = kMost;
  }
  pthread_t holder;
  const int has_lock = has_fault && strcmp(fault, "lock") == 0;
  if (has_lock) {
    pthread_barrier_init(&g_both, NULL, 2);
    pthread_create(&holder, NULL, holdLock, &steps);
  }
  double sum = 0, squares = 0, value = 0, all = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int step = 0; step < steps; ++step) {
    const double start = nowUs();
    if (has_lock) {
      pthread_barrier_wait(&g_both);
      pthread_mutex_lock(&g_lock);
      pthread_mutex_unlock(&g_lock);
      pthread_barrier_wait(&g_both);
    }
    if (has_fault && to_stopper >= 0 && step % 4 == 3) stop(to_stopper);
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL),
          "clEnqueueNDRangeKernel");
    check(clFinish(queue), "clFinish");
    const double us = nowUs() - start;
    sum += us;
    squares += us * us;
    value = us;
    MPI_Allreduce(&value, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  if (has_lock) pthread_join(holder, NULL);
  printf("rank %d: %.1f us a step, deviation %.1f\n", rank, sum / steps,
         sqrt(fmax(0, squares / steps - (sum / steps) * (sum / steps))));
  fflush(stdout);
  if (to_stopper >= 0) {
    close(to_stopper);
    waitpid(stopper, NULL, 0);
  }
  MPI_Finalize();
  return 0;
}
