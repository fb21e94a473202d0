// SPDX-License-Identifier: Apache-2.0
// To be injected: a tool whose callback does nothing, for the functions that launch.
#include <cuda.h>
#include <cupti.h>

namespace {

void CUPTIAPI nothing(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  static CUpti_SubscriberHandle subscriber = nullptr;
  if (cuptiSubscribe(&subscriber, nothing, nullptr) != CUPTI_SUCCESS) return 1;
  cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  return 1;
}
