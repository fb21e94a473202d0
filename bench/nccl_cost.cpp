// SPDX-License-Identifier: Apache-2.0
// Calls the profiler plugin of NCCL_PROFILER_PLUGIN as NCCL does for collectives of four channels, and
// prints the ns of each event (all calls from its start to its end), by kind.
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tracesmith/capture/agents/nccl/event_records.hpp"
#include "tracesmith/capture/agents/nccl/profiler_api.hpp"

using namespace tracesmith::agent::nccl;  // NOLINT: the layouts

namespace {

using Symbol = Api<7>::Symbol;
using Descriptor = Api<7>::Descriptor;

constexpr int kRounds = 60, kOperations = 2000, kChannels = 4;

double nowNs() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  void* const library = dlopen(getenv("NCCL_PROFILER_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fprintf(stderr, "%s\n", dlerror()), 1;
  const auto* const plugin = static_cast<const Symbol*>(dlsym(library, "ncclProfiler_v7"));
  if (plugin == nullptr) return fprintf(stderr, "%s\n", dlerror()), 1;
  void* context = nullptr;
  int mask = 0;
  plugin->init(&context, 1, &mask, "world", 1, 8, 0, nullptr);
  std::vector<double> calls, collectives, channels;
  std::vector<void*> tasks(kOperations);
  for (int round = 0; round < kRounds; ++round) {
    const double start = nowNs();
    for (void*& task : tasks) {
      Descriptor d{};
      d.type = bitOf(Event::kCollectiveCall);
      d.collective_call.function = "AllReduce";
      d.collective_call.count = 1024;
      d.collective_call.data_type = "ncclFloat32";
      plugin->start(context, &task, &d);
      if (task != nullptr) plugin->stop(task);
    }
    const double called = nowNs();
    for (void*& task : tasks) {
      Descriptor d{};
      d.type = bitOf(Event::kCollective);
      d.parent = task;
      d.collective.function = "AllReduce";
      d.collective.data_type = "ncclFloat32";
      d.collective.algorithm = "RING";
      d.collective.protocol = "SIMPLE";
      d.collective.channels = kChannels;
      plugin->start(context, &task, &d);
      if (task != nullptr) plugin->stop(task);
    }
    const double enqueued = nowNs();
    for (void* const task : tasks) {
      for (int channel = 0; channel < kChannels; ++channel) {
        Descriptor d{};
        d.type = bitOf(Event::kKernelChannel);
        d.parent = task;
        d.kernel_channel = {static_cast<uint8_t>(channel), 1'000'000};
        void* handle = nullptr;
        plugin->start(context, &handle, &d);
        if (handle == nullptr) continue;
        Api<7>::Arguments arguments{};
        arguments.kernel_channel.device_time = 2'000'000;
        plugin->state(handle, kStateKernelChannelStop, &arguments);
        plugin->stop(handle);
      }
    }
    const double ended = nowNs();
    calls.push_back((called - start) / kOperations);
    collectives.push_back((enqueued - called) / kOperations);
    channels.push_back((ended - enqueued) / (kOperations * kChannels));
    const timespec pause{0, 20'000'000};  // for the collector
    nanosleep(&pause, nullptr);
  }
  plugin->finalize(context);
  printf("call %.1f collective %.1f channel %.1f\n", median(calls), median(collectives), median(channels));
}
