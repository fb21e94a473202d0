// SPDX-License-Identifier: Apache-2.0
// What the files of the stand-in for libcudart share: how its functions tell a tool of their calls,
// and how they call the driver.
#pragma once

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "standin.hpp"

// What nvcc's code hands over; the image is what the driver loads.
struct StandinFatBinary {
  int magic, version;
  const void* image;
  void* unused;
};

namespace standin {

// A function of libcuda, which is loaded at the first call.
void* driverFunction(const char* name);

#define STANDIN_TEXT(name) #name
#define DRIVER(function)                                                               \
  ([] {                                                                                \
    static const auto found =                                                          \
        reinterpret_cast<decltype(&function)>(driverFunction(STANDIN_TEXT(function))); \
    return found;                                                                      \
  }())

// Tells the tool of a call's beginning and end. The driver is initialised before: a library that it
// injects hears of the program's first call, too.
class RuntimeCall {
 public:
  RuntimeCall(uint32_t cbid, const char* function, const void* params, const char* symbol = nullptr)
      : tool_(begin()) {
    call_.domain = CUPTI_CB_DOMAIN_RUNTIME_API;
    call_.cbid = cbid;
    call_.function = function;
    call_.params = params;
    call_.symbol = symbol;
    call_.context = DRIVER(standinCurrentContext)();
    if (tool_ != nullptr) tool_->enter(call_);
  }
  cudaError_t end(int result);
  // There is a context to work in.
  int ready();

 private:
  static const StandinTool* begin();
  const StandinTool* tool_;
  StandinCall call_;
};

// What a kernel is called that was registered, or null.
const char* kernelName(const void* symbol);

#define CALL(function, version, ...)              \
  function##version##_params params{__VA_ARGS__}; \
  RuntimeCall call(CUPTI_RUNTIME_TRACE_CBID_##function##version, #function, &params)
#define LAUNCH_CALL(function, version, symbol, ...)                                  \
  function##version##_params params{__VA_ARGS__};                                    \
  RuntimeCall call(CUPTI_RUNTIME_TRACE_CBID_##function##version, #function, &params, \
                   kernelName(symbol))
#define CHECK_READY() \
  if (const int state = call.ready(); state != 0) return call.end(state)

}  // namespace standin
