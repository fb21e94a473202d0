// SPDX-License-Identifier: Apache-2.0
// An OpenCL layer that shares nothing with the agent: it forwards everything and, when
// COUNTING_LAYER_FILE is set, counts the calls that started a kernel. The independent count that a
// trace must equal, and (without the file) the bare forwarding layer that the agent's cost is
// measured beside. COUNTING_LAYER_WRITE_MS holds up each write of a buffer for so long.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

namespace {

cl_icd_dispatch g_next;
cl_icd_dispatch g_table;
std::atomic<uint64_t> g_launched{0};
std::atomic<uint64_t> g_failed{0};

cl_int CL_API_CALL launch(cl_command_queue q, cl_kernel k, cl_uint dim, const size_t* offset,
                          const size_t* global, const size_t* local, cl_uint n,
                          const cl_event* waits, cl_event* event) {
  const cl_int r = g_next.clEnqueueNDRangeKernel(q, k, dim, offset, global, local, n, waits, event);
  (r == CL_SUCCESS ? g_launched : g_failed).fetch_add(1, std::memory_order_relaxed);
  return r;
}

cl_int CL_API_CALL task(cl_command_queue q, cl_kernel k, cl_uint n, const cl_event* waits,
                        cl_event* event) {
  const cl_int r = g_next.clEnqueueTask(q, k, n, waits, event);
  (r == CL_SUCCESS ? g_launched : g_failed).fetch_add(1, std::memory_order_relaxed);
  return r;
}

cl_int CL_API_CALL write(cl_command_queue q, cl_mem m, cl_bool blocking, size_t offset,
                         size_t bytes, const void* from, cl_uint n, const cl_event* waits,
                         cl_event* event) {
  const char* const text = getenv("COUNTING_LAYER_WRITE_MS");
  if (text != nullptr) usleep(static_cast<useconds_t>(atoi(text)) * 1000);
  return g_next.clEnqueueWriteBuffer(q, m, blocking, offset, bytes, from, n, waits, event);
}

void report() {
  const char* path = getenv("COUNTING_LAYER_FILE");
  if (path == nullptr) return;
  FILE* f = fopen(path, "a");
  if (f == nullptr) return;
  fprintf(f, "%d %llu %llu\n", getpid(), static_cast<unsigned long long>(g_launched.load()),
          static_cast<unsigned long long>(g_failed.load()));
  fclose(f);
}

}  // namespace

extern "C" {

cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void* value, size_t* size_ret) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  const char name[] = "counting";
  const void* from = what == CL_LAYER_API_VERSION ? static_cast<const void*>(&version) : name;
  const size_t bytes = what == CL_LAYER_API_VERSION ? sizeof version : sizeof name;
  if (what != CL_LAYER_API_VERSION && what != CL_LAYER_NAME) return CL_INVALID_VALUE;
  if (value != nullptr && size >= bytes) memcpy(value, from, bytes);
  if (size_ret != nullptr) *size_ret = bytes;
  return CL_SUCCESS;
}

cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* target, cl_uint* entries_ret,
                               const cl_icd_dispatch** layer_ret) {
  const size_t known = sizeof g_table / sizeof(void*);
  const size_t count = entries < known ? entries : known;
  memcpy(&g_next, target, count * sizeof(void*));
  g_table = g_next;
  g_table.clEnqueueNDRangeKernel = launch;
  g_table.clEnqueueTask = task;
  g_table.clEnqueueWriteBuffer = write;
  atexit(report);
  *entries_ret = static_cast<cl_uint>(count);
  *layer_ret = &g_table;
  return CL_SUCCESS;
}

}  // extern "C"
