// SPDX-License-Identifier: Apache-2.0
// What CUDA_INJECTION64_PATH and NVTX_INJECTION64_PATH name in the stand-ins' own tests: says that
// it was called.
#include <cstdlib>

extern "C" int InitializeInjection() {
  setenv("STANDIN_INJECTED", std::getenv("STANDIN_INJECTED") == nullptr ? "once" : "again", 1);
  return 1;
}

// The headers of NVTX hand over a function that gives their tables.
extern "C" int InitializeInjectionNvtx2(const void* (*get_export_table)(unsigned)) {
  if (get_export_table == nullptr) return 0;
  setenv("STANDIN_NVTX_INJECTED", "1", 1);
  return 1;
}
