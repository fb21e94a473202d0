// SPDX-License-Identifier: Apache-2.0
// Captures itself with createProfiler(PlatformType::OpenCL) and prints what it was given. A program
// of its own because the profiler must come before the process's first OpenCL call.
// Usage: in_process [late | first | small | fork | stacks | idle]
//   late    OpenCL first, which must be refused
//   first   the capture begins before the first OpenCL call
//   small   more events than the buffer has room for
//   fork    a child ends while the parent captures
//   stacks  with the call stacks of launches
//   idle    how often it wakes up between two captures
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <thread>

#include "cl_program.hpp"
#include "tracesmith/capture/profiler.hpp"

namespace ts = tracesmith;

namespace {

/// The functions of a launch's stack, innermost first.
void printStack(ts::IPlatformProfiler& profiler) {
  std::vector<ts::TraceEvent> events;
  profiler.getEvents(events);
  for (const ts::TraceEvent& e : events) {
    if (e.type != ts::EventType::KernelLaunch || !e.call_stack) continue;
    std::printf("stack of %zu:", e.call_stack->depth());
    for (const ts::StackFrame& f : e.call_stack->frames)
      std::printf(" %s", f.function_name.c_str());
    std::printf("\n");
    return;
  }
  std::printf("no stack\n");
}

extern "C" [[gnu::noinline]] void launch(cl_command_queue queue, cl_kernel kernel, int times) {
  const size_t items = 4096;
  for (int i = 0; i < times; ++i) {
    check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
  }
  check(clFinish(queue), "clFinish");
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

/// Before the first OpenCL call: the child then has nothing but the profiler to end with.
int endOfForkedChild() {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) std::exit(7);
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// How often a thread of this process, which does nothing, went to sleep.
long waitsOfASecond() {
  std::this_thread::sleep_for(std::chrono::seconds(1));  // until all is at rest
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  getrusage(RUSAGE_SELF, &after);
  return after.ru_nvcsw - before.ru_nvcsw;
}

}  // namespace

int main(int argc, char** argv) {
  const char* source =
      "__kernel void twice(__global float* x) { size_t i = get_global_id(0); x[i] += x[i]; }";
  const std::string mode = argc > 1 ? argv[1] : "";
  // Asking what there is must not be an OpenCL call of this process.
  if (!ts::isOpenCLAvailable()) return 1;
  const auto profiler = ts::createProfiler(ts::PlatformType::OpenCL);
  if (mode == "late") {
    const ClProgram first(source);
    const bool accepted = profiler->initialize();
    std::printf("late: %s: %s\n", accepted ? "accepted" : "refused", profiler->lastError().c_str());
    return 0;
  }
  ts::ProfilerConfig config;
  if (mode == "small") config.buffer_size = 10;
  if (mode == "stacks") {
    config.capture_callstacks = true;
    config.callstack_depth = 2;
  }
  std::atomic<uint64_t> seen = 0;
  profiler->setEventCallback([&](const ts::TraceEvent&) { ++seen; });
  if (!profiler->isAvailable() || !profiler->initialize(config)) {
    std::printf("initialize: %s\n", profiler->lastError().c_str());
    return 1;
  }
  const auto second = ts::createProfiler(ts::PlatformType::OpenCL);
  std::printf("second: %s\n", second->initialize() ? "accepted" : "refused");
  if (mode == "fork") {
    profiler->startCapture();
    std::printf("child: %d\n", endOfForkedChild());
    profiler->stopCapture();
  }

  if (mode == "first") profiler->startCapture();
  const ClProgram cl(source);
  const cl_command_queue queue = cl.queue();
  const cl_mem buffer = cl.buffer(4096 * sizeof(float));
  const cl_kernel kernel = cl.kernel("twice");
  check(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");

  if (mode == "first") {
    launch(queue, kernel, 20);
    profiler->stopCapture();
    print("first", tally(*profiler));
    return 0;
  }
  if (mode == "idle") {
    profiler->startCapture();
    launch(queue, kernel, 20);
    profiler->stopCapture();
    profiler->finalize();
    const long waits = waitsOfASecond();
    std::printf("waits: %s\n", waits < 60 ? "few" : std::to_string(waits).c_str());
    second->initialize();
    second->startCapture();
    launch(queue, kernel, 5000);
    second->stopCapture();
    print("second", tally(*second));
    return 0;
  }
  launch(queue, kernel, 3);  // before the capture
  profiler->startCapture();
  launch(queue, kernel, 7);
  std::string back(4096 * sizeof(float), 0);
  check(
      clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, back.size(), back.data(), 0, nullptr, nullptr),
      "clEnqueueReadBuffer");
  profiler->stopCapture();
  launch(queue, kernel, 2);  // after it
  if (mode == "stacks") {
    printStack(*profiler);
    return 0;
  }
  if (mode == "small") {
    const uint64_t captured = profiler->eventsCaptured(), dropped = profiler->eventsDropped();
    std::printf("captured %llu, dropped %s, together %s\n",
                static_cast<unsigned long long>(captured), dropped > 0 ? "some" : "none",
                captured + dropped == seen ? "what happened" : "something else");
    return 0;
  }
  print("first", tally(*profiler));

  profiler->startCapture();
  launch(queue, kernel, 5000);
  profiler->stopCapture();
  print("again", tally(*profiler));

  // Another profiler may have it once this one is through.
  profiler->finalize();
  if (!second->initialize()) {
    std::printf("second: %s\n", second->lastError().c_str());
    return 1;
  }
  second->startCapture();
  launch(queue, kernel, 4);
  second->stopCapture();
  print("second", tally(*second));
  std::printf("dropped: %llu\n", static_cast<unsigned long long>(second->eventsDropped()));
  return 0;
}
