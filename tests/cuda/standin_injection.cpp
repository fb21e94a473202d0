// SPDX-License-Identifier: Apache-2.0
// What CUDA_INJECTION64_PATH names in the stand-ins' own test: says how often it was called.
#include <cstdlib>

extern "C" int InitializeInjection() {
  setenv("STANDIN_INJECTED", std::getenv("STANDIN_INJECTED") == nullptr ? "once" : "again", 1);
  return 1;
}
