// SPDX-License-Identifier: Apache-2.0
// Captures its own work on two devices with MultiGPUProfiler and prints what it was given, as JSON:
// three kernels on the first device, five on the second, then three copies from the first to the
// second and one back, all executed by the first.
#include <cuda.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tracesmith/cluster/multi_gpu_profiler.hpp"

namespace ts = tracesmith;

namespace {

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: CUDA error %d\n", what, static_cast<int>(result));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

constexpr size_t kBytes = 1 << 20;

struct Gpu {
  CUcontext context = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr memory = 0;

  explicit Gpu(int ordinal) {
    CUmodule module = nullptr;
    CHECK(cuDevicePrimaryCtxRetain(&context, ordinal));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, ".version 8.0\n.visible .entry twice() { ret; }\n"));
    CHECK(cuModuleGetFunction(&function, module, "twice"));
    CHECK(cuMemAlloc(&memory, kBytes));
  }
  void launch(int times) const {
    CHECK(cuCtxSetCurrent(context));
    int argument = 1;
    void* arguments[] = {&argument};
    for (int i = 0; i < times; ++i) {
      CHECK(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
    }
    CHECK(cuCtxSynchronize());
  }
};

void require(bool ok, const ts::MultiGPUProfiler& profiler, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "%s: %s\n", what, profiler.lastError().c_str());
  std::exit(1);
}

void print(ts::MultiGPUProfiler& profiler, int transfers_called) {
  std::vector<ts::TraceEvent> all;
  std::map<uint32_t, int> kernels;
  profiler.getEvents(all);
  for (const ts::TraceEvent& event : all) {
    if (event.type == ts::EventType::KernelComplete) ++kernels[event.device_id];
  }
  const ts::MultiGPUStats stats = profiler.getStatistics();
  std::printf("{\"kernels\": [%d, %d], \"taken\": %zu, \"captured\": %" PRIu64
              ", \"dropped\": %" PRIu64 ", \"per_gpu\": [%" PRIu64 ", %" PRIu64
              "], \"transfers\": %" PRIu64 ", \"transfer_bytes\": %" PRIu64
              ", \"transfers_called\": %d, \"topology\": [",
              kernels[0], kernels[1], all.size(), stats.total_events, stats.total_dropped,
              stats.events_per_gpu.at(0), stats.events_per_gpu.at(1), stats.nvlink_transfers,
              stats.nvlink_bytes, transfers_called);
  for (uint32_t gpu : {0u, 1u}) {
    std::printf("%s%d", gpu == 0 ? "" : ", ",
                static_cast<int>(profiler.topologyGPU(gpu).value_or(~0u)));
  }
  std::printf("], \"listed\": [");
  const char* comma = "";
  for (const ts::NVLinkTransfer& t : profiler.getNVLinkTransfers()) {
    std::printf("%s[%u, %u, %" PRIu64 ", %u]", comma, t.src_gpu, t.dst_gpu, t.bytes, t.link_id);
    comma = ", ";
  }
  std::printf("], \"accesses\": [");
  comma = "";
  for (const ts::PeerAccess& a : profiler.getPeerAccesses()) {
    std::printf("%s[%u, %u, %" PRIu64 ", %s]", comma, a.src_gpu, a.dst_gpu, a.bytes,
                a.is_write ? "true" : "false");
    comma = ", ";
  }
  std::printf("]}\n");
}

}  // namespace

int main() {
  ts::MultiGPUProfiler profiler({.platform = ts::PlatformType::CUDA});
  int transfers_called = 0;
  profiler.setNVLinkCallback([&](const ts::NVLinkTransfer&) { ++transfers_called; });
  require(profiler.initialize(), profiler, "initialize");
  require(profiler.startCapture(), profiler, "startCapture");
  CHECK(cuInit(0));
  const Gpu first(0), second(1);
  first.launch(3);
  second.launch(5);
  CHECK(cuCtxSetCurrent(first.context));
  for (int i = 0; i < 3; ++i) {
    CHECK(cuMemcpyPeer(second.memory, second.context, first.memory, first.context, kBytes));
  }
  CHECK(cuMemcpyPeer(first.memory, first.context, second.memory, second.context, kBytes / 2));
  CHECK(cuCtxSynchronize());
  require(profiler.stopCapture(), profiler, "stopCapture");
  print(profiler, transfers_called);
  return 0;
}
