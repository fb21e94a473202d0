// SPDX-License-Identifier: Apache-2.0
// Loads a module that is linked to OpenCL, which this program is not, and has it compute.
// Usage: cl_dlopens MODULE
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  void* const module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 3;
  }
  auto* const doubles = reinterpret_cast<int (*)()>(dlsym(module, "doubles"));
  return doubles == nullptr ? 4 : doubles();
}
