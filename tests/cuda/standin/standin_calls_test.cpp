// SPDX-License-Identifier: Apache-2.0
// Which of the functions that the vendor's headers have callbacks for the agent records, and as
// what.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "standin_client.hpp"
#include "tracesmith/capture/agents/cuda/captured_calls.hpp"
#include "tracesmith/capture/agents/cuda/virtual_memory.hpp"

namespace {

namespace cupti = tracesmith::agent::cupti;
using tracesmith::CallKind;
using tracesmith::arena::VirtualMemoryCall;

std::set<std::string> allNames() {
  std::set<std::string> names;
  for (const CUpti_CallbackDomain domain :
       {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API}) {
    for (uint32_t number = 1; number < cupti::kMostFunctions; ++number) {
      const char* name = nullptr;
      if (cuptiGetCallbackName(domain, number, &name) == CUPTI_SUCCESS) names.insert(name);
    }
  }
  return names;
}

// All of CUDA 11 to 13 that start kernels. Each version has some of them.
const std::set<std::string> kLaunches = {
    "cuLaunch",
    "cuLaunchGrid",
    "cuLaunchGridAsync",
    "cuLaunchKernel",
    "cuLaunchKernel_ptsz",
    "cuLaunchKernelEx",
    "cuLaunchKernelEx_ptsz",
    "cuLaunchCooperativeKernel",
    "cuLaunchCooperativeKernel_ptsz",
    "cuLaunchCooperativeKernelMultiDevice",
    "cuGraphLaunch",
    "cuGraphLaunch_ptsz",
    "cudaLaunch_v3020",
    "cudaLaunch_ptsz_v7000",
    "cudaLaunchKernel_v7000",
    "cudaLaunchKernel_ptsz_v7000",
    "cudaLaunchKernelExC_v11060",
    "cudaLaunchKernelExC_ptsz_v11060",
    "cudaLaunchCooperativeKernel_v9000",
    "cudaLaunchCooperativeKernel_ptsz_v9000",
    "cudaLaunchCooperativeKernelMultiDevice_v9000",
    "cudaGraphLaunch_v10000",
    "cudaGraphLaunch_ptsz_v10000",
    "__cudaLaunchKernel_v13000",
    "__cudaLaunchKernel_ptsz_v13000",
};

TEST(StandinCalls, EveryLaunchOfTheHeadersIsALaunch) {
  size_t launches = 0;
  for (const std::string& name : allNames()) {
    const bool is_launch = cupti::kindOfCall(name.c_str()) == CallKind::kLaunch;
    EXPECT_EQ(is_launch, kLaunches.contains(name)) << name;
    launches += is_launch;
    // A name that says launch, and is in no list here, is new.
    if (name.find("Launch") == std::string::npos || kLaunches.contains(name)) continue;
    EXPECT_NE(name.find("LaunchHostFunc"), std::string::npos) << name << " is not known here";
  }
  EXPECT_EQ(launches, kLaunches.size() - (CUDA_VERSION < 13000 ? 2 : 0));
}

TEST(StandinCalls, NamesThatBeginWithUnderscoresAreKnown) {
  const std::set<std::string> names = allNames();
  EXPECT_EQ(names.contains("__cudaLaunchKernel_v13000"), CUDA_VERSION >= 13000);
  EXPECT_EQ(names.contains("__cudaPushCallConfiguration_v13000"), CUDA_VERSION >= 13000);
  EXPECT_TRUE(names.contains("cudaLaunchKernel_v7000"));
}

TEST(StandinCalls, MemoryOperationsOfStreamsAreSynchronisation) {
  size_t found = 0;
  for (const std::string& name : allNames()) {
    if (name.find("StreamWaitValue") == std::string::npos &&
        name.find("StreamWriteValue") == std::string::npos &&
        name.find("StreamBatchMemOp") == std::string::npos) {
      continue;
    }
    ++found;
    EXPECT_EQ(cupti::kindOfCall(name.c_str()), CallKind::kSync) << name;
  }
  EXPECT_EQ(found, 20u);
}

TEST(StandinCalls, EachOperationOfVirtualMemoryIsAFunctionOfTheDriver) {
  std::map<VirtualMemoryCall, std::set<std::string>> operations;
  for (const std::string& name : allNames()) {
    const VirtualMemoryCall operation = cupti::virtualMemoryOperation(name.c_str());
    if (operation == VirtualMemoryCall::kNone) continue;
    operations[operation].insert(name);
    EXPECT_EQ(cupti::kindOfCall(name.c_str()), CallKind::kMemory) << name;
  }
  ASSERT_EQ(operations.size(), 6u);
  EXPECT_EQ(operations[VirtualMemoryCall::kCreate], std::set<std::string>{"cuMemCreate"});
  EXPECT_EQ(operations[VirtualMemoryCall::kImport].size(), CUDA_VERSION >= 12010 ? 2u : 1u);
}

}  // namespace
