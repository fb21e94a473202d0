// SPDX-License-Identifier: Apache-2.0
// CUDA through the driver API only, declared here as in cuda.h. Building this needs neither a
// toolkit nor its headers; the driver compiles the kernel.
#include <dlfcn.h>

#include "device.hpp"

namespace benchmark {
namespace {

// Repeats `work` times: data[i] = data[i] * 0.5f + (float)id
constexpr const char* kImage = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry benchmark_kernel(.param .u64 data, .param .u32 id, .param .u32 work)
{
  .reg .pred %p<2>;
  .reg .b32 %r<5>;
  .reg .f32 %f<3>;
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [data];
  ld.param.u32 %r1, [id];
  ld.param.u32 %r3, [work];
  cvta.to.global.u64 %d1, %d1;
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %d2, %r2, 4;
  add.s64 %d1, %d1, %d2;
  cvt.rn.f32.s32 %f1, %r1;
  ld.global.f32 %f2, [%d1];
  mov.u32 %r4, 0;
again:
  fma.rn.f32 %f2, %f2, 0f3F000000, %f1;
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p1, %r4, %r3;
  @%p1 bra again;
  st.global.f32 [%d1], %f2;
  ret;
}
)";

using Pointer = uint64_t;  // CUdeviceptr

/// The driver functions used here; CUresult is an int.
struct Driver {
  void* handle = dlopen("libcuda.so.1", RTLD_NOW);

  template <typename Function>
  Function find(const char* name) const {
    void* const found = handle != nullptr ? dlsym(handle, name) : nullptr;
    if (found == nullptr && handle != nullptr) die(name, 1);
    return reinterpret_cast<Function>(found);
  }
#define FIND(member, name, ...) int (*const member)(__VA_ARGS__) = find<int (*)(__VA_ARGS__)>(name)
  FIND(init, "cuInit", unsigned);
  FIND(deviceCount, "cuDeviceGetCount", int*);
  FIND(deviceName, "cuDeviceGetName", char*, int, int);
  FIND(retainContext, "cuDevicePrimaryCtxRetain", void**, int);
  FIND(setContext, "cuCtxSetCurrent", void*);
  FIND(loadModule, "cuModuleLoadData", void**, const void*);
  FIND(findFunction, "cuModuleGetFunction", void**, void*, const char*);
  FIND(allocate, "cuMemAlloc_v2", Pointer*, size_t);
  FIND(fill, "cuMemsetD32_v2", Pointer, unsigned, size_t);
  FIND(release, "cuMemFree_v2", Pointer);
  FIND(launchKernel, "cuLaunchKernel", void*, unsigned, unsigned, unsigned, unsigned, unsigned,
       unsigned, unsigned, void*, void**, void**);
  FIND(synchronize, "cuCtxSynchronize");
#undef FIND
};

void check(int code, const char* what) {
  if (code != 0) die(what, code);
}

class CudaDevice : public Device {
 public:
  explicit CudaDevice(const Driver& driver) : cuda_(driver) {
    api = "CUDA";
    is_gpu = true;
    char text[256] = {};
    check(cuda_.deviceName(text, sizeof text - 1, 0), "cuDeviceGetName");
    name = text;
    void* context = nullptr;
    check(cuda_.retainContext(&context, 0), "cuDevicePrimaryCtxRetain");
    check(cuda_.setContext(context), "cuCtxSetCurrent");
    void* module = nullptr;
    check(cuda_.loadModule(&module, kImage), "cuModuleLoadData");
    check(cuda_.findFunction(&function_, module, "benchmark_kernel"), "cuModuleGetFunction");
    check(cuda_.allocate(&data_, kItems * sizeof(float)), "cuMemAlloc");
    check(cuda_.fill(data_, 0, kItems), "cuMemsetD32");
  }

  ~CudaDevice() override { cuda_.release(data_); }

  void launch(int number, int work) override {
    void* arguments[] = {&data_, &number, &work};
    check(cuda_.launchKernel(function_, 1, 1, 1, kItems, 1, 1, 0, nullptr, arguments, nullptr),
          "cuLaunchKernel");
  }

  void finish() override { check(cuda_.synchronize(), "cuCtxSynchronize"); }

 private:
  Driver cuda_;
  void* function_ = nullptr;
  Pointer data_ = 0;
};

}  // namespace

std::unique_ptr<Device> openCuda(std::string& why) {
  const Driver driver;
  if (driver.handle == nullptr) {
    why += "CUDA: libcuda.so.1 was not found (it comes with NVIDIA's driver)\n";
    return nullptr;
  }
  int count = 0;
  const int code = driver.init(0);
  if (code != 0) {
    why += "CUDA: the driver says error " + std::to_string(code) + " to cuInit\n";
    return nullptr;
  }
  if (driver.deviceCount(&count) != 0 || count == 0) {
    why += "CUDA: the driver has no device\n";
    return nullptr;
  }
  return std::make_unique<CudaDevice>(driver);
}

}  // namespace benchmark
