// SPDX-License-Identifier: Apache-2.0
// Loads the driver, then opens a library whose constructor waits for a thread that calls OpenCL.
// Usage: cl_waiting LIBRARY LOADER    exit code 77: there is no OpenCL driver; 5: the thread hangs
#include <dlfcn.h>

#include <cstdio>

namespace {

using GetPlatforms = int (*)(unsigned, void**, unsigned*);
using GetDevices = int (*)(void*, unsigned long, unsigned, void**, unsigned*);

/// Drivers are loaded when they are first asked for, which takes the lock of dlopen().
bool loadDrivers(const char* loader) {
  void* const library = dlopen(loader, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  const auto get_platforms = reinterpret_cast<GetPlatforms>(dlsym(library, "clGetPlatformIDs"));
  const auto get_devices = reinterpret_cast<GetDevices>(dlsym(library, "clGetDeviceIDs"));
  void* platform = nullptr;
  void* device = nullptr;
  return get_platforms(1, &platform, nullptr) == 0 &&
         get_devices(platform, 0xFFFFFFFF, 1, &device, nullptr) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (!loadDrivers(argv[2])) return 77;
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 3;
  }
  const int value = reinterpret_cast<int (*)()>(dlsym(library, "computed"))();
  std::printf("%d\n", value);
  return value == 7 ? 0 : 5;
}
