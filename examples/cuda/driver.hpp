// SPDX-License-Identifier: Apache-2.0
// Driver functions, loaded at run time, because the samples are not linked with libcuda. The names
// are the versioned names that cuda.h maps to.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include "sample.hpp"

namespace sample {

inline void checkDriver(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d of the driver\n", what, static_cast<int>(result));
  std::exit(1);
}
#define CHECK_DRIVER(call) sample::checkDriver(call, #call)

/// Ends the program with a message if this driver does not have the function.
inline void* driverSymbol(const char* sample_name, const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  void* const found = library != nullptr ? dlsym(library, name) : nullptr;
  if (found != nullptr) return found;
  std::printf("{\"sample\": \"%s\", \"absent\": \"this driver has no %s\"}\n", sample_name, name);
  std::exit(0);
}
#define SAMPLE_TEXT(name) #name
#define SAMPLE_NAME(name) SAMPLE_TEXT(name)
#define DRIVER_FUNCTION(sample_name, function) \
  reinterpret_cast<decltype(&(function))>(sample::driverSymbol(sample_name, SAMPLE_NAME(function)))

inline void sayAbsent(const char* sample_name, const char* why) {
  std::printf("{\"sample\": \"%s\", \"absent\": \"%s\"}\n", sample_name, why);
  std::exit(0);
}

}  // namespace sample
