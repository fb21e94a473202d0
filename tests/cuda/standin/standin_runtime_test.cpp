// SPDX-License-Identifier: Apache-2.0
// Calls of the runtime as a client of CUPTI sees them: around the driver's, with their id.
#include <cuda_runtime_api.h>

#include "standin_client.hpp"
#include "standin_cudart.hpp"

extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*,
                            void*, int*);
}

namespace {

char symbol;

void startRuntime(const std::vector<CUpti_ActivityKind>& kinds) {
  static StandinFatBinary binary{0x466243b1, 1, "text", nullptr};
  void** const handle = __cudaRegisterFatBinary(&binary);
  __cudaRegisterFunction(handle, &symbol, nullptr, "_Z6kernelv", -1, nullptr, nullptr, nullptr,
                         nullptr, nullptr);
  startTool(kinds);
  ASSERT_EQ(cuptiEnableDomain(1, client.subscriber, CUPTI_CB_DOMAIN_RUNTIME_API), CUPTI_SUCCESS);
}

TEST(StandinRuntime, ItsCallsAreAroundTheDrivers) {
  alone("", [] {
    startRuntime({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME,
                  CUPTI_ACTIVITY_KIND_DRIVER});
    EXPECT_EQ(cudaLaunchKernel(&symbol, {3, 1, 1}, {64, 1, 1}, nullptr, 0, nullptr), cudaSuccess);
    EXPECT_EQ(cudaLaunchKernel(&symbol, {4, 1, 1}, {64, 1, 1}, nullptr, 0, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    const std::vector<Seen>& calls = client.calls.begin()->second;
    std::vector<std::string> stack, launches;
    std::map<uint32_t, int> depth;
    for (const Seen& call : calls) {
      if (call.function == "cuInit") continue;  // before the program's first call
      if (call.site == CUPTI_API_EXIT) {
        ASSERT_FALSE(stack.empty());
        EXPECT_EQ(stack.back(), call.function);
        stack.pop_back();
        continue;
      }
      // Only what the runtime calls is within anything, and has its id.
      EXPECT_EQ(call.function.starts_with("cuda"), stack.empty()) << call.function;
      if (stack.empty()) {
        EXPECT_EQ(depth.count(call.correlation), 0u);
      } else {
        EXPECT_EQ(depth.count(call.correlation), 1u);
      }
      ++depth[call.correlation];
      stack.push_back(call.function);
      if (!call.symbol.empty()) launches.push_back(call.function + " " + call.symbol);
    }
    EXPECT_TRUE(stack.empty());
    EXPECT_EQ(depth.size(), 3u);
    const std::vector<std::string> expected{
        "cudaLaunchKernel _Z6kernelv", "cuLaunchKernel _Z6kernelv", "cudaLaunchKernel _Z6kernelv",
        "cuLaunchKernel _Z6kernelv"};
    EXPECT_EQ(launches, expected);
    ASSERT_EQ(kernels().size(), 2u);
    const auto runtime = records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME);
    ASSERT_EQ(runtime.size(), 3u);
    EXPECT_EQ(runtime[0].correlationId, kernels()[0].correlationId);
    EXPECT_EQ(runtime[1].correlationId, kernels()[1].correlationId);
    EXPECT_EQ(runtime[0].cbid, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  });
}

TEST(StandinRuntime, ParametersAndResultsAreItsOwn) {
  alone("", [] {
    startRuntime({});
    static size_t asked = 0;
    static int result = -1;
    ASSERT_EQ(cuptiUnsubscribe(client.subscriber), CUPTI_SUCCESS);
    ASSERT_EQ(cuptiSubscribe(
                  &client.subscriber,
                  [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
                    const auto* call = static_cast<const CUpti_CallbackData*>(data);
                    if (call->callbackSite == CUPTI_API_ENTER) return;
                    asked = static_cast<const cudaMalloc_v3020_params*>(call->functionParams)->size;
                    result = *static_cast<cudaError_t*>(call->functionReturnValue);
                  },
                  nullptr),
              CUPTI_SUCCESS);
    ASSERT_EQ(cuptiEnableCallback(1, client.subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
                                  CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020),
              CUPTI_SUCCESS);
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, 77), cudaSuccess);
    EXPECT_EQ(asked, 77u);
    EXPECT_EQ(result, cudaSuccess);
    EXPECT_EQ(cudaMalloc(&memory, 0), cudaErrorInvalidValue);
    EXPECT_EQ(result, cudaErrorInvalidValue);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  });
}

TEST(StandinRuntime, AResetDeviceIsUsedAgain) {
  alone("devices=2", [] {
    startRuntime({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
    const auto launchOne = [] {
      EXPECT_EQ(cudaLaunchKernel(&symbol, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr), cudaSuccess);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    };
    launchOne();
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
    launchOne();
    EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
    launchOne();
    EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    const auto all = kernels();
    ASSERT_EQ(all.size(), 3u);
    for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(all[i].contextId, i + 1);
    EXPECT_EQ(all[2].deviceId, 1u);
    cudaDeviceProp properties{};
    EXPECT_EQ(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
    EXPECT_STREQ(properties.name, kStandinDeviceName);
  });
}

}  // namespace
