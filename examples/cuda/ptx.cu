// SPDX-License-Identifier: Apache-2.0
// A program that uses the driver API: loads PTX text, which the driver compiles, and launches its
// kernel with cuLaunchKernel and cuLaunchKernelEx. Usage: ptx [LAUNCHES]
#include "driver.hpp"

constexpr const char* kName = "ptx";
constexpr unsigned kItems = 4096;

// data[i] += value
static const char kImage[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry ptxAdd(.param .u64 data, .param .u32 value)
{
  .reg .b32 %r<6>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [data];
  ld.param.u32 %r1, [value];
  cvta.to.global.u64 %d1, %d1;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r2, %r2, %r3, %r4;
  mul.wide.u32 %d2, %r2, 4;
  add.s64 %d3, %d1, %d2;
  ld.global.u32 %r5, [%d3];
  add.u32 %r5, %r5, %r1;
  st.global.u32 [%d3], %r5;
  ret;
}
)";

int main(int argc, char** argv) {
  sample::start();
  const auto load = DRIVER_FUNCTION(kName, cuModuleLoadData);
  const auto unload = DRIVER_FUNCTION(kName, cuModuleUnload);
  const auto find = DRIVER_FUNCTION(kName, cuModuleGetFunction);
  const auto launch = DRIVER_FUNCTION(kName, cuLaunchKernel);
  const auto launch_ex = DRIVER_FUNCTION(kName, cuLaunchKernelEx);
  const unsigned launches = sample::number(argc, argv, 1, 20);
  unsigned* data = sample::allocate<unsigned>(kItems);
  CHECK(cudaMemset(data, 0, kItems * sizeof(unsigned)));
  ++sample::did.fills, sample::did.fill_bytes += kItems * sizeof(unsigned);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CHECK_DRIVER(load(&module, kImage));
  CHECK_DRIVER(find(&function, module, "ptxAdd"));
  unsigned value = 1;
  void* arguments[] = {&data, &value};
  sample::bracket("ptxAdd", launches, [&] {
    for (unsigned i = 0; i < launches; ++i) {
      CHECK_DRIVER(launch(function, kItems / 256, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr));
    }
  });
  value = 1000;
  CUlaunchConfig config{};
  config.gridDimX = kItems / 256;
  config.blockDimX = 256;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  sample::bracket("ptxAdd", launches, [&] {
    for (unsigned i = 0; i < launches; ++i) {
      CHECK_DRIVER(launch_ex(&config, function, arguments, nullptr));
    }
  });
  std::vector<unsigned> back(kItems);
  sample::copyOut(back, data);
  for (const unsigned number : back) sample::require(number == launches * 1001, "a number");
  CHECK_DRIVER(unload(module));
  sample::release(data, kItems * sizeof(unsigned));
  sample::say(kName, ", \"modules\": 1, \"launches_ex\": " + std::to_string(launches));
}
