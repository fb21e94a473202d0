// SPDX-License-Identifier: Apache-2.0
// A program that captures its own CUDA work through CUPTI. It loads the driver at run time, so it
// can be built on every machine.
//   cupti_example [TRACE]     (default cupti_example.sbt)
// Exit codes: 0 captured; 1 something failed; 77 capturing is impossible: this machine has no CUDA
// or no CUPTI, or another tool uses it. (Not yet run on hardware: docs/capture_cuda.md.)
#include <dlfcn.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tracesmith/capture/cupti_profiler.hpp>
#include <tracesmith/tracesmith.hpp>
#include <vector>

namespace {

constexpr int kNoCuda = 77;

// y[i] = y[i] + y[i]
constexpr const char* kPtx = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry twice(.param .u64 values, .param .u32 count) {
  .reg .pred %p;
  .reg .b32 %r<5>;
  .reg .f32 %f<2>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [values];
  ld.param.u32 %r0, [count];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  setp.ge.u32 %p, %r4, %r0;
  @%p bra done;
  cvta.to.global.u64 %d1, %d0;
  mul.wide.u32 %d2, %r4, 4;
  add.s64 %d3, %d1, %d2;
  ld.global.f32 %f0, [%d3];
  add.f32 %f1, %f0, %f0;
  st.global.f32 [%d3], %f1;
done:
  ret;
}
)";

/// The functions of CUDA's driver API used here, declared as in its documentation.
class Driver {
 public:
  Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {}

  template <class... Args>
  void operator()(const char* name, Args... arguments) const {
    using Function = int (*)(Args...);
    auto function = reinterpret_cast<Function>(dlsym(library_, name));
    const int code = function == nullptr ? -1 : function(arguments...);
    if (code == 0) return;
    std::fprintf(stderr, "cupti_example: %s failed with %d\n", name, code);
    std::exit(1);
  }

 private:
  void* library_;
};

/// Doubles numbers on the device three times. True if they are correct.
bool compute() {
  const Driver cuda;
  void *context = nullptr, *module = nullptr, *twice = nullptr;
  cuda("cuInit", 0u);
  cuda("cuDevicePrimaryCtxRetain", &context, 0);
  cuda("cuCtxSetCurrent", context);
  cuda("cuModuleLoadData", &module, static_cast<const void*>(kPtx));
  cuda("cuModuleGetFunction", &twice, module, "twice");
  uint32_t count = 1 << 20;
  std::vector<float> values(count, 1.5f);
  const size_t bytes = count * sizeof(float);
  uint64_t on_device = 0;
  cuda("cuMemAlloc_v2", &on_device, bytes);
  cuda("cuMemcpyHtoD_v2", on_device, static_cast<const void*>(values.data()), bytes);
  void* arguments[] = {&on_device, &count};
  for (int i = 0; i < 3; ++i) {
    cuda("cuLaunchKernel", twice, (count + 255) / 256, 1u, 1u, 256u, 1u, 1u, 0u,
         static_cast<void*>(nullptr), static_cast<void**>(arguments), static_cast<void**>(nullptr));
  }
  cuda("cuMemcpyDtoH_v2", static_cast<void*>(values.data()), on_device, bytes);
  cuda("cuCtxSynchronize");
  cuda("cuMemFree_v2", on_device);
  return values.front() == 12.0f && values.back() == 12.0f;
}

int end(int code, const std::string& why) {
  std::fprintf(stderr, "cupti_example: %s\n", why.c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  namespace ts = tracesmith;
  const std::string path = argc > 1 ? argv[1] : "cupti_example.sbt";
  ts::CUPTIProfiler profiler;
  if (!profiler.isAvailable()) {
    profiler.initialize();
    return end(kNoCuda, "there is no CUDA here: " + profiler.lastError());
  }
  if (!profiler.initialize() || !profiler.startCapture())
    return end(kNoCuda, "no CUDA is captured: " + profiler.lastError());
  const bool right = compute();
  if (!profiler.stopCapture()) return end(kNoCuda, "no CUDA is captured: " + profiler.lastError());
  for (const ts::DeviceInfo& device : profiler.getDeviceInfo())
    std::printf("device   %s\n", device.name.c_str());
  std::printf("CUPTI    %u\n", profiler.getCuptiVersion());

  std::vector<ts::TraceEvent> events;
  profiler.getEvents(events);
  size_t kernels = 0;
  for (const ts::TraceEvent& event : events) {
    if (event.type != ts::EventType::KernelComplete) continue;
    ++kernels;
    std::printf("kernel   %s, stream %u, %" PRIu64 " ns\n", event.name.c_str(), event.stream_id,
                event.duration);
  }
  ts::SBTWriter writer(path);
  if (!writer.writeEvents(events) || !writer.finalize()) return end(1, path + ": was not written");
  std::printf("trace    %s, %zu events\n", path.c_str(), events.size());
  if (!right) return end(1, "the device computed something else");
  if (kernels != 3) return end(1, std::to_string(kernels) + " of 3 kernels were captured");
  return 0;
}
