// SPDX-License-Identifier: Apache-2.0
// Linked to a library that defines a part of OpenCL. Says what calls return of a function that it
// has, and of one that it has not and that the program can do without; and in what library the
// first one lies.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#pragma weak clCreateSampler

namespace {

void sayWhere(const char* what, const void* address) {
  Dl_info info{};
  const bool found = dladdr(address, &info) != 0;
  const char* const slash = found ? std::strrchr(info.dli_fname, '/') : nullptr;
  std::printf("%s in %s, named %s\n", what, slash != nullptr ? slash + 1 : "?",
              info.dli_sname != nullptr ? info.dli_sname : "nothing");
}

}  // namespace

int main() {
  cl_int error = CL_SUCCESS;
  clCreateBuffer(nullptr, 0, 1, nullptr, &error);
  std::printf("buffer %d\n", error);
  error = CL_SUCCESS;
  if (clCreateSampler != nullptr) {
    clCreateSampler(nullptr, CL_FALSE, CL_ADDRESS_NONE, CL_FILTER_NEAREST, &error);
    std::printf("sampler %d\n", error);
  }
  void* const library = dlopen("libcl_partial_library.so", RTLD_LAZY | RTLD_NOLOAD);
  sayWhere("by name", reinterpret_cast<const void*>(&clCreateBuffer));
  if (library != nullptr) sayWhere("by dlsym", dlsym(library, "clCreateBuffer"));
  return 0;
}
