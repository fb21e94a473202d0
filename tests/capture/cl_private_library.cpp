// SPDX-License-Identifier: Apache-2.0
// A library that opens an OpenCL loader for itself alone while it is loaded: PRIVATE_LOADER.
#include <dlfcn.h>

#include <cstdlib>

struct Private {
  Private() {
    if (const char* const path = std::getenv("PRIVATE_LOADER")) dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
};
static const Private g_private;
