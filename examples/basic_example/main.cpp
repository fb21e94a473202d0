// SPDX-License-Identifier: Apache-2.0
// A program that captures its own work on an OpenCL device, examines it and saves it.
//   basic_example [TRACE]     (default basic_example.sbt)
// Without an OpenCL device it captures the simulation, and says so. Exits with 1 if anything
// failed.
#include <cinttypes>
#include <cstdio>
#include <string>
#include <tracesmith/tracesmith.hpp>
#include <vector>

#include "../opencl_demo/compute.hpp"

namespace {

constexpr const char* kSource =
    "kernel void saxpy(float a, global const float* x, global float* y) {"
    "  size_t i = get_global_id(0);"
    "  y[i] = a * x[i] + y[i];"
    "}";

/// Computes y = 2x + y five times. True if y is correct.
bool compute() {
  const Device device = pickDevice();
  Compute opencl(device, kSource);
  const size_t count = 1 << 18, bytes = count * sizeof(float);
  std::vector<float> x(count, 1.0f), y(count, 0.5f);
  cl_mem device_x = opencl.buffer(CL_MEM_READ_ONLY, bytes);
  cl_mem device_y = opencl.buffer(CL_MEM_READ_WRITE, bytes);
  cl_command_queue queue = opencl.queue(0);
  auto write = [&](cl_mem to, const std::vector<float>& from) {
    check(clEnqueueWriteBuffer(queue, to, CL_TRUE, 0, bytes, from.data(), 0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
  };
  write(device_x, x);
  write(device_y, y);
  cl_kernel saxpy = opencl.kernel("saxpy");
  setArguments(saxpy, 2.0f, device_x, device_y);
  for (int i = 0; i < 5; ++i) {
    check(clEnqueueNDRangeKernel(queue, saxpy, 1, nullptr, &count, nullptr, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
  }
  check(clEnqueueReadBuffer(queue, device_y, CL_TRUE, 0, bytes, y.data(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  std::printf("device   %s\n", device.name.c_str());
  return y.front() == 10.5f && y.back() == 10.5f;
}

int fail(const std::string& why) {
  std::fprintf(stderr, "basic_example: %s\n", why.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  namespace ts = tracesmith;
  const std::string path = argc > 1 ? argv[1] : "basic_example.sbt";

  const bool opencl = ts::isOpenCLAvailable();
  if (!opencl) std::printf("there is no OpenCL device: capturing the simulation instead\n");
  auto profiler =
      ts::createProfiler(opencl ? ts::PlatformType::OpenCL : ts::PlatformType::Simulation);
  // Call this before the process uses OpenCL: the driver loads the agent when it is loaded itself.
  if (!profiler->initialize() || !profiler->startCapture()) return fail(profiler->lastError());
  if (opencl && !compute()) return fail("the device computed something else");
  if (!profiler->stopCapture()) return fail(profiler->lastError());

  std::vector<ts::TraceEvent> events;
  profiler->getEvents(events);
  std::printf("events   %zu, %" PRIu64 " dropped\n", events.size(), profiler->eventsDropped());
  size_t kernels = 0;
  for (const ts::TraceEvent& event : events) {
    if (event.type != ts::EventType::KernelComplete || ++kernels > 5) continue;
    std::printf("kernel   %s, stream %u, %.1f us\n", event.name.c_str(), event.stream_id,
                static_cast<double>(event.duration) / 1000);
  }
  if (kernels == 0) return fail("no kernel was captured");

  ts::TimelineBuilder builder;
  builder.addEvents(events);
  std::fputs(ts::TimelineViewer().render(builder.build()).c_str(), stdout);

  ts::SBTWriter writer(path);
  if (!writer.writeEvents(events) || !writer.finalize()) return fail(path + ": was not written");
  ts::SBTReader reader(path);
  ts::TraceRecord record;
  if (!reader.readAll(record) || record.size() != events.size())
    return fail(path + ": does not give back what was written");
  std::printf("trace    %s: tracesmith view --stats %s\n", path.c_str(), path.c_str());
  return 0;
}
