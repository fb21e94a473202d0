// SPDX-License-Identifier: Apache-2.0
// Preparing a recording for replay: the plan, its dependencies, and a random legal order; for 100
// thousand, one and ten million operations, because time must be linear. For comparison, the lower
// bound: decoding each command once.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/replay/plan/memory_use.hpp"
#include "tracesmith/replay/plan/step_order.hpp"

using namespace tracesmith;             // NOLINT: a program of few functions
using namespace tracesmith::recording;  // NOLINT

namespace {

constexpr uint32_t kQueues = 8, kBuffers = 64, kKernels = 16;

class Stream {
 public:
  template <class Command>
  void add(Command command) {
    CommandHeader header;
    header.sequence = count_++;
    header.start_ns = static_cast<int64_t>(count_) * 1000;
    header.end_ns = header.start_ns + 500;
    const size_t at = bytes_.size();
    bytes_.resize(at + encodedBytes(command));
    encode(header, command, bytes_.data() + at);
  }
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
  uint64_t count_ = 0;
};

/// Launches in eight queues, one of them out-of-order. Each sets an argument and creates an event;
/// every third waits for a recent one; every 500 the host waits for a queue. Event handles are
/// reused, as by drivers.
Bytes streamOf(uint32_t operations) {
  constexpr Handle kDevice = 1, kContext = 2, kProgram = 3, kQueue = 100, kBuffer = 200,
                   kKernel = 300, kEvent = 1000;
  Stream stream;
  stream.add(Device{.handle = kDevice, .type = 4});
  const Handle devices[] = {kDevice};
  stream.add(CreateContext{.context = kContext, .devices = devices});
  for (uint32_t q = 0; q < kQueues; ++q) {
    stream.add(CreateQueue{
        .queue = kQueue + q, .context = kContext, .device = kDevice, .properties = q == 0});
  }
  for (uint32_t b = 0; b < kBuffers; ++b) {
    stream.add(
        CreateBuffer{.buffer = kBuffer + b, .context = kContext, .flags = 1, .bytes = 1 << 20});
  }
  stream.add(CreateProgram{.program = kProgram, .context = kContext});
  stream.add(BuildProgram{.program = kProgram});
  for (uint32_t k = 0; k < kKernels; ++k) {
    stream.add(CreateKernel{.kernel = kKernel + k, .program = kProgram});
  }
  std::mt19937_64 random(1);
  for (uint32_t i = 0; i < operations; ++i) {
    const Handle kernel = kKernel + random() % kKernels;
    const Handle buffer = kBuffer + random() % kBuffers;
    stream.add(SetArgument{.kernel = kernel,
                           .index = i % 4,
                           .bytes = sizeof buffer,
                           .value = {reinterpret_cast<const uint8_t*>(&buffer), sizeof buffer}});
    const Handle wait = kEvent + (i + 512 - 1 - random() % 64) % 512;
    const uint64_t global[] = {1024};
    Launch launch{.queue = kQueue + random() % kQueues, .kernel = kernel, .global = global};
    if (i % 3 == 0 && i > 64) launch.waits = {&wait, 1};
    launch.event = kEvent + i % 512;
    stream.add(launch);
    if (i % 500 == 499) stream.add(Finish{.queue = kQueue + random() % kQueues});
  }
  return stream.take();
}

double msSince(int64_t from) {
  return static_cast<double>(clockNs(CLOCK_PROCESS_CPUTIME_ID) - from) / 1e6;
}

void measure(uint32_t operations) {
  Bytes commands = streamOf(operations);
  const double megabytes = static_cast<double>(commands.size()) / 1e6;
  int64_t from = clockNs(CLOCK_PROCESS_CPUTIME_ID);
  uint64_t waits = 0;
  forEachCommand(commands, [&](const CommandHeader& header, ByteView fields) {
    Launch launch;
    if (header.kind == CommandKind::kLaunch && decode(fields, launch)) waits += launch.waits.size();
    return true;
  });
  const double decode_ms = msSince(from);
  from = clockNs(CLOCK_PROCESS_CPUTIME_ID);
  const auto plan = ReplayPlan::make(std::move(commands));
  if (!plan || plan->launches() != operations) std::abort();
  const double plan_ms = msSince(from);
  from = clockNs(CLOCK_PROCESS_CPUTIME_ID);
  const StepDependencies dependencies = StepDependencies::of(*plan);
  const double dependencies_ms = msSince(from);
  from = clockNs(CLOCK_PROCESS_CPUTIME_ID);
  const std::vector<StepIndex> order = randomLegalOrder(*plan, dependencies, 1);
  const double order_ms = msSince(from);
  from = clockNs(CLOCK_PROCESS_CPUTIME_ID);
  std::vector<bool> wanted(plan->steps().size());
  wanted[plan->launch(operations)] = true;
  const std::vector<bool> needed = stepsNeeded(*plan, wanted);
  const double needed_ms = msSince(from);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "%9u operations (%6.1f MB, %zu steps, %zu edges): decoding alone %7.1f ms, plan %7.1f ms,\n"
      "          dependencies %7.1f ms, together %7.1f ms; an order %7.1f ms, %5.0f ns a "
      "decision;\n"
      "          what the last launch needs %6.1f ms; %ld MiB\n",
      operations, megabytes, plan->steps().size(), dependencies.edges(), decode_ms, plan_ms,
      dependencies_ms, plan_ms + dependencies_ms, order_ms,
      order_ms * 1e6 / static_cast<double>(order.size()), needed_ms, usage.ru_maxrss / 1024);
}

}  // namespace

int main() {
  for (const uint32_t operations : {100'000u, 1'000'000u, 10'000'000u}) measure(operations);
  return 0;
}
