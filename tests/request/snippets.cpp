// SPDX-License-Identifier: Apache-2.0
// Runs one C++ snippet of the request: request_cases NAME
#include "snippets.hpp"

#undef createProfiler

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "../../examples/opencl_demo/compute.hpp"

// One for each snippet; CMake lists them.
#define SNIPPET(name) int name();
#include "snippet_list.inc"
#undef SNIPPET

namespace tracesmith {
namespace {

size_t g_kernels = 0;

constexpr const char* kSource = "kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }";

/// Three kernels, when the driver has been loaded by nobody before.
void compute() {
  Compute device(pickDevice(), kSource);
  const size_t count = 4096;
  cl_mem buffer = device.buffer(CL_MEM_READ_WRITE, count * sizeof(float));
  cl_kernel kernel = device.kernel("twice");
  setArguments(kernel, buffer);
  for (int i = 0; i < 3; ++i) {
    check(clEnqueueNDRangeKernel(device.queue(0), kernel, 1, nullptr, &count, nullptr, 0, nullptr,
                                 nullptr),
          "clEnqueueNDRangeKernel");
  }
  check(clFinish(device.queue(0)), "clFinish");
}

class WorkingProfiler : public IPlatformProfiler {
 public:
  explicit WorkingProfiler(std::unique_ptr<IPlatformProfiler> inner) : inner_(std::move(inner)) {}
  PlatformType platformType() const override { return inner_->platformType(); }
  bool isAvailable() const override { return inner_->isAvailable(); }
  bool initialize(const ProfilerConfig& config) override { return inner_->initialize(config); }
  void finalize() override { inner_->finalize(); }
  bool startCapture() override {
    const bool started = inner_->startCapture();
    if (started && platformType() == PlatformType::OpenCL) compute();
    // What it makes up happens as time goes by.
    if (started && platformType() == PlatformType::Simulation)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return started;
  }
  bool stopCapture() override { return inner_->stopCapture(); }
  bool isCapturing() const override { return inner_->isCapturing(); }
  size_t getEvents(std::vector<TraceEvent>& events, size_t max) override {
    const size_t taken = inner_->getEvents(events, max);
    for (size_t i = events.size() - taken; i < events.size(); ++i)
      g_kernels += events[i].type == EventType::KernelComplete;
    return taken;
  }
  std::vector<DeviceInfo> getDeviceInfo() const override { return inner_->getDeviceInfo(); }
  void setEventCallback(EventCallback callback) override {
    inner_->setEventCallback(std::move(callback));
  }
  uint64_t eventsCaptured() const override { return inner_->eventsCaptured(); }
  uint64_t eventsDropped() const override { return inner_->eventsDropped(); }
  std::string lastError() const override { return inner_->lastError(); }

 private:
  std::unique_ptr<IPlatformProfiler> inner_;
};

}  // namespace

std::unique_ptr<IPlatformProfiler> createWorkingProfiler(PlatformType platform) {
  auto profiler = createProfiler(platform);
  if (!profiler->isAvailable() && std::getenv("REQUEST_AS_WRITTEN") == nullptr) {
    std::printf("there is no %s here: OpenCL instead\n", platformTypeToString(platform));
    profiler = createProfiler(PlatformType::OpenCL);
  }
  return std::make_unique<WorkingProfiler>(std::move(profiler));
}

std::vector<TraceEvent> captureEvents() {
  auto profiler = createWorkingProfiler(PlatformType::OpenCL);
  std::vector<TraceEvent> events;
  if (!profiler->initialize({}) || !profiler->startCapture() || !profiler->stopCapture())
    std::printf("%s\n", profiler->lastError().c_str());
  profiler->getEvents(events, 0);
  return events;
}

size_t kernelsSeen() { return g_kernels; }

}  // namespace tracesmith

int main(int argc, char** argv) {
#define SNIPPET(name) \
  if (argc == 2 && std::strcmp(argv[1], #name) == 0) code = name();
  int code = 125;
#include "snippet_list.inc"
  if (code == 125) std::fprintf(stderr, "usage: request_cases NAME\n");
  std::printf("\n%zu kernels captured\n", tracesmith::kernelsSeen());
  // As written, where the platform is missing, the snippets go on with nothing.
  const bool may_be_none = std::getenv("REQUEST_AS_WRITTEN") != nullptr;
  return code == 0 && tracesmith::kernelsSeen() == 0 && !may_be_none ? 1 : code;
}
