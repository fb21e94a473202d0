// SPDX-License-Identifier: Apache-2.0
// Captures itself with createProfiler(PlatformType::OpenCL) and prints what it was given. A program
// of its own because the profiler must come before the process's first OpenCL call.
// Usage: in_process [late]   late: OpenCL first, which must be refused
#include <cstring>
#include <map>
#include <string>

#include "cl_program.hpp"
#include "tracesmith/capture/profiler.hpp"

namespace ts = tracesmith;

namespace {

void launch(const ClProgram& cl, cl_command_queue queue, cl_kernel kernel, int times) {
  const size_t items = 4096;
  for (int i = 0; i < times; ++i) {
    check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
  }
  check(clFinish(queue), "clFinish");
  (void)cl;
}

struct Tally {
  std::map<uint64_t, int> launches, kernels;  // by correlation id
  int copies = 0;
  int bad = 0;
};

Tally tally(ts::IPlatformProfiler& profiler) {
  std::vector<ts::TraceEvent> events;
  profiler.getEvents(events);
  Tally t;
  for (const ts::TraceEvent& e : events) {
    if (e.type == ts::EventType::KernelLaunch) ++t.launches[e.correlation_id];
    if (e.type == ts::EventType::KernelComplete) {
      ++t.kernels[e.correlation_id];
      if (e.duration == 0 || e.name != "twice") ++t.bad;
    }
    if (e.type == ts::EventType::MemcpyD2H) ++t.copies;
  }
  return t;
}

void print(const char* what, const Tally& t) {
  std::printf(
      "%s: %zu launches, %zu kernels, %s, %d copies back, %d bad\n", what, t.launches.size(),
      t.kernels.size(),
      [&] {
        for (const auto& [id, n] : t.launches)
          if (n != 1 || t.kernels.count(id) == 0) return "not paired";
        return t.launches.size() == t.kernels.size() ? "paired" : "not paired";
      }(),
      t.copies, t.bad);
}

}  // namespace

int main(int argc, char** argv) {
  const char* source =
      "__kernel void twice(__global float* x) { size_t i = get_global_id(0); x[i] += x[i]; }";
  const bool late = argc > 1 && std::strcmp(argv[1], "late") == 0;
  const auto profiler = ts::createProfiler(ts::PlatformType::OpenCL);
  if (late) {
    const ClProgram first(source);
    const bool accepted = profiler->initialize();
    std::printf("late: %s: %s\n", accepted ? "accepted" : "refused", profiler->lastError().c_str());
    return 0;
  }
  if (!profiler->initialize()) {
    std::printf("initialize: %s\n", profiler->lastError().c_str());
    return 1;
  }
  const auto second = ts::createProfiler(ts::PlatformType::OpenCL);
  std::printf("second: %s\n", second->initialize() ? "accepted" : "refused");

  const ClProgram cl(source);
  const cl_command_queue queue = cl.queue();
  const cl_mem buffer = cl.buffer(4096 * sizeof(float));
  const cl_kernel kernel = cl.kernel("twice");
  check(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");

  launch(cl, queue, kernel, 3);  // before the capture
  profiler->startCapture();
  launch(cl, queue, kernel, 7);
  std::string back(4096 * sizeof(float), 0);
  check(
      clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, back.size(), back.data(), 0, nullptr, nullptr),
      "clEnqueueReadBuffer");
  profiler->stopCapture();
  launch(cl, queue, kernel, 2);  // after it
  print("first", tally(*profiler));

  profiler->startCapture();
  launch(cl, queue, kernel, 5000);
  profiler->stopCapture();
  print("again", tally(*profiler));

  // Another profiler may have it once this one is through.
  profiler->finalize();
  if (!second->initialize()) {
    std::printf("second: %s\n", second->lastError().c_str());
    return 1;
  }
  second->startCapture();
  launch(cl, queue, kernel, 4);
  second->stopCapture();
  print("second", tally(*second));
  std::printf("dropped: %llu\n", static_cast<unsigned long long>(second->eventsDropped()));
  return 0;
}
