// SPDX-License-Identifier: Apache-2.0
// Modes of standin_program with more than one device or context, and without CUPTI.
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "standin_program.hpp"

namespace program {
namespace {

CUcontext createContext(CUdevice device) {
  CUcontext made = nullptr;
#if CUDA_VERSION >= 13000
  CHECK(cuCtxCreate(&made, nullptr, 0, device));
#else
  CHECK(cuCtxCreate(&made, 0, device));
#endif
  ++counts.contexts;
  return made;
}

// Two copies from the first device to the second, one of them asynchronous.
void copyAcross(CUcontext from, CUcontext to) {
  CUdeviceptr source = 0, target = 0;
  CHECK(cuCtxPushCurrent(from));
  CHECK(cuMemAlloc(&source, kBytes));
  CHECK(cuCtxPopCurrent(nullptr));
  CHECK(cuMemAlloc(&target, kBytes));
  counts.allocations += 2;
  counts.allocated_bytes += 2 * kBytes;
  CUstream on = stream();
  CHECK(cuMemcpyPeerAsync(target, to, source, from, kBytes, on));
  CHECK(cuStreamSynchronize(on));
  ++counts.stream_syncs;
  CHECK(cuMemcpyPeer(target, to, source, from, kBytes / 2));
  counts.peer_copies += 2;
  counts.peer_copy_bytes += kBytes + kBytes / 2;
}

// Work in both devices' primary contexts, and in one more of the second device.
void twoDevices() {
  int devices = 0;
  CHECK(cuDeviceGetCount(&devices));
  expect(devices >= 2, "there are no two devices: STANDIN_SCRIPT=devices=2");
  counts.devices = static_cast<uint64_t>(devices);
  launches(30, 2);
  const uint64_t before = counts.kernels;
  const CUcontext of_first = context;
  start(1);
  launches(20, 2);
  copyAcross(of_first, context);
  CUcontext own = createContext(1);
  loadModule();
  launches(10, 1);
  counts.second_device_kernels = counts.kernels - before;
  CHECK(cuCtxDestroy(own));
}

void reset() {
  launches(50, 2);
  CHECK(cuDevicePrimaryCtxReset(0));
  ++counts.resets;
  expect(cuCtxSynchronize() == CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context is still there");
  start();
  launches(50, 2);
}

// Each is loaded, used by a launch and unloaded.
void modules(unsigned rounds) {
  constexpr const char* kImage = "an image";
  for (unsigned i = 0; i < rounds; ++i) {
    CUmodule module = nullptr;
    CHECK(cuModuleLoadData(&module, kImage));
    ++counts.modules;
    counts.module_bytes += std::strlen(kImage);
    CHECK(cuModuleGetFunction(&vector_add, module, "vectorAdd"));
    launch(0, nullptr);
    launch(1, nullptr);
    synchronize();
    CHECK(cuModuleUnload(module));
    ++counts.module_unloads;
  }
}

// As another library of the program might.
void finalize() {
  void* cupti = nullptr;
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"}) {
    if (cupti == nullptr) cupti = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
  }
  const auto finalize =
      reinterpret_cast<int (*)()>(cupti != nullptr ? dlsym(cupti, "cuptiFinalize") : nullptr);
  if (finalize == nullptr) return;
  expect(finalize() == 0, "cuptiFinalize failed");
  ++counts.finalizes;
}

}  // namespace

bool deviceMode(const char* name, unsigned first, unsigned) {
  const std::string mode = name;
  if (mode == "two_devices") {
    twoDevices();
  } else if (mode == "reset") {
    reset();
  } else if (mode == "modules") {
    modules(first);
  } else if (mode == "finalize") {
    launches(100, 2);
    counts.synchronized_kernels = counts.kernels.load();
    finalize();
    launches(100, 2);
  } else {
    return false;
  }
  return true;
}

}  // namespace program
