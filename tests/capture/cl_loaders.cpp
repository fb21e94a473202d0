// SPDX-License-Identifier: Apache-2.0
// Opens OpenCL loaders with dlopen(RTLD_LOCAL), asks each with dlsym(), and launches through all of
// them in turn. Not linked with OpenCL.
// Usage: cl_loaders LAUNCHES LIBRARY...    says "launches N"
//        cl_loaders answers LIBRARY        says what dlsym() and dlerror() answer
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

struct Loader {
  void* library = nullptr;
  cl_command_queue queue = nullptr;
  cl_kernel kernel = nullptr;
  decltype(&clEnqueueNDRangeKernel) launch = nullptr;
  decltype(&clFinish) finish = nullptr;
};

template <class F>
F find(void* library, const char* name) {
  void* const symbol = dlsym(library, name);
  if (symbol == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(91);
  }
  return reinterpret_cast<F>(symbol);
}
#define FIND(function) const auto function##_ = find<decltype(&function)>(l.library, #function)

Loader open(const char* path) {
  Loader l;
  l.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (l.library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(90);
  }
  FIND(clGetPlatformIDs);
  FIND(clGetDeviceIDs);
  FIND(clCreateContext);
  FIND(clCreateCommandQueueWithProperties);
  FIND(clCreateProgramWithSource);
  FIND(clBuildProgram);
  FIND(clCreateKernel);
  l.launch = find<decltype(l.launch)>(l.library, "clEnqueueNDRangeKernel");
  l.finish = find<decltype(l.finish)>(l.library, "clFinish");
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  clGetPlatformIDs_(1, &platform, nullptr);
  if (clGetDeviceIDs_(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != 0) std::exit(92);
  cl_context context = clCreateContext_(nullptr, 1, &device, nullptr, nullptr, nullptr);
  l.queue = clCreateCommandQueueWithProperties_(context, device, nullptr, nullptr);
  const char* source = "__kernel void one(void) {}";
  cl_program program = clCreateProgramWithSource_(context, 1, &source, nullptr, nullptr);
  if (clBuildProgram_(program, 1, &device, "", nullptr, nullptr) != 0) std::exit(93);
  l.kernel = clCreateKernel_(program, "one", nullptr);
  return l;
}

void say(const char* what, const void* symbol) {
  const char* const error = dlerror();
  std::printf("%s: %s, %s\n", what, symbol != nullptr ? "found" : "not found",
              error == nullptr ? "no error" : "error");
}

int answers(const char* path) {
  say("at the start", &path);
  say("by default", dlsym(RTLD_DEFAULT, "clFinish"));
  say("next", dlsym(RTLD_NEXT, "clFinish"));
  void* const self = dlopen(nullptr, RTLD_NOW);
  say("in the program", dlsym(self, "clFinish"));
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  say("in the library", dlsym(library, "clFinish"));
  say("in the library, unknown", dlsym(library, "clNoSuchFunction"));
  say("in the library, another", dlsym(library, "clGetPlatformIDs"));
  say("by default, with the library", dlsym(RTLD_DEFAULT, "clFinish"));
  say("in the program, with the library", dlsym(self, "clFinish"));
  say("of the C library", dlsym(RTLD_NEXT, "clock"));
  say("closing it", dlclose(library) == 0 ? self : nullptr);
  void* const again = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  say("for all", dlsym(RTLD_DEFAULT, "clFinish"));
  say("in the library again", dlsym(again, "clFinish"));
  return again != nullptr ? 0 : 90;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (std::strcmp(argv[1], "answers") == 0) return answers(argv[2]);
  const int launches = std::atoi(argv[1]);
  std::vector<Loader> loaders;
  for (int i = 2; i < argc; ++i) loaders.push_back(open(argv[i]));
  int launched = 0;
  for (int i = 0; i < launches; ++i) {
    for (const Loader& l : loaders) {
      const size_t items = 1;
      launched += l.launch(l.queue, l.kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr) ==
                  CL_SUCCESS;
    }
  }
  for (const Loader& l : loaders) {
    if (l.finish(l.queue) != CL_SUCCESS) return 94;
  }
  std::printf("launches %d\n", launched);
  return 0;
}
