// SPDX-License-Identifier: Apache-2.0
// A program that uses every kind of command from several threads and queues, and says how many of
// each it made. Usage: cl_mix COUNTS_FILE THREADS LAUNCHES_PER_QUEUE
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "cl_program.hpp"

namespace {

constexpr const char* kSource = R"(
__kernel void add(__global int* a, int by) { a[get_global_id(0)] += by; }
__kernel void empty(void) {}
)";
constexpr size_t kInts = 1024;
constexpr size_t kBytes = kInts * sizeof(int);

struct Counts {
  std::atomic<uint64_t> launches{0}, failed{0}, copies{0}, fills{0}, maps{0}, unmaps{0}, markers{0},
      barriers{0}, waits{0}, finishes{0}, tasks{0}, allocations{0}, freed{0}, sub_buffers{0};
} counts;

void failingCalls(cl_command_queue q, cl_kernel k, cl_mem m) {
  const size_t one = 1;
  const size_t too_large = 1u << 30;
  int host = 0;
  // Each with the code that the standard asks for; all must be in the trace with theirs.
  const cl_int codes[] = {
      clEnqueueNDRangeKernel(q, k, 0, nullptr, &one, nullptr, 0, nullptr, nullptr),
      clEnqueueNDRangeKernel(q, k, 1, nullptr, &one, &too_large, 0, nullptr, nullptr),
      clEnqueueReadBuffer(q, m, CL_TRUE, kBytes, 4, &host, 0, nullptr, nullptr),
      clEnqueueWriteBuffer(q, m, CL_TRUE, 0, kBytes + 4, &host, 0, nullptr, nullptr),
      clEnqueueCopyBuffer(q, m, m, 0, 4, 8, 0, nullptr, nullptr),
      clEnqueueFillBuffer(q, m, &host, 3, 0, 12, 0, nullptr, nullptr),
      clEnqueueMarkerWithWaitList(q, 1, nullptr, nullptr)};
  for (cl_int code : codes) {
    if (code == CL_SUCCESS) {
      std::fprintf(stderr, "a wrong call succeeded\n");
      std::exit(1);
    }
    ++counts.failed;
  }
}

void work(const ClProgram& cl, int launches) {
  // Two queues that wait for each other's events, one of them with the program's own profiling.
  cl_command_queue queues[] = {cl.queue(), cl.queue(CL_QUEUE_PROFILING_ENABLE)};
  cl_kernel add = cl.kernel("add");
  cl_kernel empty = cl.kernel("empty");
  cl_mem a = cl.buffer(kBytes);
  cl_mem b = cl.buffer(kBytes);
  counts.allocations += 2;
  for (cl_mem m : {a, b}) {
    clSetMemObjectDestructorCallback(
        m, [](cl_mem, void*) { ++counts.freed; }, nullptr);
  }
  const cl_buffer_region half{kBytes / 2, kBytes / 2};
  cl_int e = CL_SUCCESS;
  cl_mem sub = clCreateSubBuffer(a, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, &e);
  check(e, "clCreateSubBuffer");
  ++counts.sub_buffers;
  const int by = 1;
  check(clSetKernelArg(add, 0, sizeof a, &a), "clSetKernelArg");
  check(clSetKernelArg(add, 1, sizeof by, &by), "clSetKernelArg");
  std::vector<int> host(kInts);
  const size_t global = kInts;
  const size_t local = 64;
  const size_t origin[3] = {0, 0, 0};
  const size_t region[3] = {64, 8, 1};
  const int pattern = 7;
  cl_event previous = nullptr;
  for (int i = 0; i < launches; ++i) {
    for (int which = 0; which < 2; ++which) {
      cl_command_queue q = queues[which];
      // Some launches give the program an event, some wait for the other queue, some neither.
      cl_event event = nullptr;
      const bool wants_event = i % 3 != 0;
      const bool waits = previous != nullptr && i % 2 == 0;
      check(clEnqueueNDRangeKernel(q, i % 5 == 0 ? empty : add, 1, nullptr, &global,
                                   i % 4 == 0 ? &local : nullptr, waits ? 1 : 0,
                                   waits ? &previous : nullptr, wants_event ? &event : nullptr),
            "launch");
      ++counts.launches;
      counts.waits += waits;
      if (wants_event) {
        if (previous != nullptr) clReleaseEvent(previous);
        previous = event;
      }
      if (i % 16 == 0) {
        check(clFlush(q), "clFlush");
        check(clEnqueueFillBuffer(q, a, &pattern, sizeof pattern, 0, kBytes, 0, nullptr, nullptr),
              "fill");
        ++counts.fills;
        check(
            clEnqueueWriteBuffer(q, sub, CL_FALSE, 0, kBytes / 2, host.data(), 0, nullptr, nullptr),
            "write");
        check(clEnqueueCopyBuffer(q, a, b, 0, 0, kBytes, 0, nullptr, nullptr), "copy");
        check(clEnqueueCopyBufferRect(q, a, b, origin, origin, region, 64, 0, 64, 0, 0, nullptr,
                                      nullptr),
              "copy rect");
        check(clEnqueueReadBufferRect(q, b, CL_TRUE, origin, origin, region, 64, 0, 64, 0,
                                      host.data(), 0, nullptr, nullptr),
              "read rect");
        check(clEnqueueReadBuffer(q, b, CL_TRUE, 0, kBytes, host.data(), 0, nullptr, nullptr),
              "read");
        counts.copies += 5;
        void* p =
            clEnqueueMapBuffer(q, b, CL_TRUE, CL_MAP_READ, 0, kBytes, 0, nullptr, nullptr, &e);
        check(e, "map");
        ++counts.maps;
        check(clEnqueueUnmapMemObject(q, b, p, 0, nullptr, nullptr), "unmap");
        ++counts.unmaps;
        check(clEnqueueMarkerWithWaitList(q, 0, nullptr, nullptr), "marker");
        ++counts.markers;
        // Behind its own queue and the other one, whose event has long been asked for.
        cl_event task = nullptr;
        check(clEnqueueTask(q, empty, 0, nullptr, &task), "task");
        ++counts.tasks;
        const cl_event both[] = {task, previous};
        const cl_uint n = previous != nullptr ? 2 : 1;
        check(clEnqueueMarkerWithWaitList(q, n, both, nullptr), "marker");
        check(clEnqueueBarrierWithWaitList(q, n, both, nullptr), "barrier");
        ++counts.markers;
        ++counts.barriers;
        counts.waits += 2 * n;
        clReleaseEvent(task);
        check(clEnqueueBarrierWithWaitList(q, 0, nullptr, nullptr), "barrier");
        ++counts.barriers;
        failingCalls(q, add, a);
        check(clFinish(q), "clFinish");
        ++counts.finishes;
      }
    }
  }
  for (cl_command_queue q : queues) {
    check(clFinish(q), "clFinish");
    ++counts.finishes;
    clReleaseCommandQueue(q);
  }
  if (previous != nullptr) clReleaseEvent(previous);
  clReleaseKernel(add);
  clReleaseKernel(empty);
  clReleaseMemObject(sub);
  clReleaseMemObject(a);
  clReleaseMemObject(b);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const ClProgram cl(kSource);
  std::vector<std::thread> threads;
  for (int t = 0; t < std::atoi(argv[2]); ++t) {
    threads.emplace_back([&] { work(cl, std::atoi(argv[3])); });
  }
  for (std::thread& t : threads) t.join();
  // The driver's threads release what their commands used, maybe later.
  for (int i = 0; i < 10'000 && counts.freed < counts.allocations; ++i) usleep(1'000);
  FILE* f = std::fopen(argv[1], "w");
  if (f == nullptr) return 1;
  const std::pair<const char*, uint64_t> all[] = {{"launches", counts.launches},
                                                  {"tasks", counts.tasks},
                                                  {"failed", counts.failed},
                                                  {"copies", counts.copies},
                                                  {"fills", counts.fills},
                                                  {"maps", counts.maps},
                                                  {"unmaps", counts.unmaps},
                                                  {"markers", counts.markers},
                                                  {"barriers", counts.barriers},
                                                  {"waits", counts.waits},
                                                  {"finishes", counts.finishes},
                                                  {"allocations", counts.allocations},
                                                  {"sub_buffers", counts.sub_buffers}};
  for (const auto& [name, count] : all) {
    std::fprintf(f, "%s %llu\n", name, static_cast<unsigned long long>(count));
  }
  std::fclose(f);
  return 0;
}
