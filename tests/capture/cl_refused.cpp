// SPDX-License-Identifier: Apache-2.0
// Calls that the driver refuses before it looks at what else it was given, which leads nowhere.
// Says what each returned.
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <sys/mman.h>

#include <cstdio>
#include <initializer_list>

#include "cl_program.hpp"

namespace {

constexpr const char* kSource = "__kernel void one(__global int* p) { *p = 1; }";

/// Memory that cannot be read.
void* nowhere() {
  static void* const p =
      mmap(nullptr, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p;
}
template <class T>
T* bad() {
  return static_cast<T*>(nowhere());
}

int g_number = 0;
void say(cl_int code) { std::printf("%d: %d\n", ++g_number, code); }

/// Of calls that make something: made(&error).
template <class Make>
void saysError(Make&& make) {
  cl_int error = CL_SUCCESS;
  if (make(&error) != nullptr) std::printf("made something\n");
  say(error);
}

/// Commands of a queue that is none.
void withoutQueue(cl_mem memory, cl_mem image, cl_kernel kernel) {
  cl_command_queue const none = nullptr;
  const auto* const sizes = bad<size_t>();
  const auto* const events = bad<cl_event>();
  void* const host = nowhere();
  for (const cl_bool blocking : {CL_TRUE, CL_FALSE}) {
    say(clEnqueueWriteBuffer(none, memory, blocking, 0, 64, host, 3, events, nullptr));
    say(clEnqueueReadBuffer(none, memory, blocking, 0, 64, host, 3, events, nullptr));
    say(clEnqueueWriteBufferRect(none, memory, blocking, sizes, sizes, sizes, 0, 0, 0, 0, host, 3,
                                 events, nullptr));
    say(clEnqueueReadBufferRect(none, memory, blocking, sizes, sizes, sizes, 0, 0, 0, 0, host, 3,
                                events, nullptr));
    say(clEnqueueWriteImage(none, image, blocking, sizes, sizes, 0, 0, host, 3, events, nullptr));
    say(clEnqueueReadImage(none, image, blocking, sizes, sizes, 0, 0, host, 3, events, nullptr));
    saysError([&](cl_int* e) {
      return clEnqueueMapBuffer(none, memory, blocking, CL_MAP_READ, 0, 64, 3, events, nullptr, e);
    });
    saysError([&](cl_int* e) {
      return clEnqueueMapImage(none, image, blocking, CL_MAP_READ, sizes, sizes, bad<size_t>(),
                               bad<size_t>(), 3, events, nullptr, e);
    });
    say(clEnqueueSVMMemcpy(none, blocking, host, host, 64, 3, events, nullptr));
    say(clEnqueueSVMMap(none, blocking, CL_MAP_READ, host, 64, 3, events, nullptr));
  }
  say(clEnqueueNDRangeKernel(none, kernel, 3, sizes, sizes, sizes, 3, events, nullptr));
  say(clEnqueueTask(none, kernel, 3, events, nullptr));
  say(clEnqueueCopyBuffer(none, memory, memory, 0, 0, 8, 3, events, nullptr));
  say(clEnqueueCopyBufferRect(none, memory, memory, sizes, sizes, sizes, 0, 0, 0, 0, 3, events,
                              nullptr));
  say(clEnqueueCopyImage(none, image, image, sizes, sizes, sizes, 3, events, nullptr));
  say(clEnqueueCopyImageToBuffer(none, image, memory, sizes, sizes, 0, 3, events, nullptr));
  say(clEnqueueCopyBufferToImage(none, memory, image, 0, sizes, sizes, 3, events, nullptr));
  say(clEnqueueFillBuffer(none, memory, host, 4, 0, 64, 3, events, nullptr));
  say(clEnqueueFillImage(none, image, host, sizes, sizes, 3, events, nullptr));
  say(clEnqueueUnmapMemObject(none, memory, host, 3, events, nullptr));
  say(clEnqueueMigrateMemObjects(none, 3, bad<cl_mem>(), 0, 3, events, nullptr));
  say(clEnqueueMarkerWithWaitList(none, 3, events, nullptr));
  say(clEnqueueBarrierWithWaitList(none, 3, events, nullptr));
  say(clEnqueueWaitForEvents(none, 3, events));
  say(clEnqueueSVMFree(none, 3, bad<void*>(), nullptr, nullptr, 3, events, nullptr));
  say(clEnqueueSVMMemFill(none, host, host, 4, 64, 3, events, nullptr));
  say(clEnqueueSVMUnmap(none, host, 3, events, nullptr));
  say(clEnqueueSVMMigrateMem(none, 3, bad<const void*>(), sizes, 0, 3, events, nullptr));
}

/// What is made in a context, or of a program, that is none.
void withoutContext() {
  cl_context const none = nullptr;
  const auto* const sizes = bad<size_t>();
  const auto* const devices = bad<cl_device_id>();
  const auto* const text = bad<char>();
  const auto* const format = bad<cl_image_format>();
  const auto* const description = bad<cl_image_desc>();
  auto** const binaries = bad<const unsigned char*>();
  saysError([&](cl_int* e) {
    return clCreateImage(none, CL_MEM_COPY_HOST_PTR, format, description, nowhere(), e);
  });
  saysError([&](cl_int* e) {
    return clCreateImage2D(none, CL_MEM_COPY_HOST_PTR, format, 4, 4, 0, nowhere(), e);
  });
  saysError(
      [&](cl_int* e) { return clCreateBuffer(none, CL_MEM_COPY_HOST_PTR, 64, nowhere(), e); });
  saysError([&](cl_int* e) {
    return clCreateSubBuffer(nullptr, 0, CL_BUFFER_CREATE_TYPE_REGION, nowhere(), e);
  });
  saysError([&](cl_int* e) {
    return clCreateCommandQueueWithProperties(none, nullptr, bad<cl_queue_properties>(), e);
  });
  saysError([&](cl_int* e) {
    return clCreateSamplerWithProperties(none, bad<cl_sampler_properties>(), e);
  });
  saysError([&](cl_int* e) {
    return clCreateProgramWithBinary(none, 2, devices, sizes, binaries, nullptr, e);
  });
  saysError(
      [&](cl_int* e) { return clCreateProgramWithSource(none, 2, bad<const char*>(), sizes, e); });
  saysError(
      [&](cl_int* e) { return clCreateProgramWithBuiltInKernels(none, 2, devices, text, e); });
  saysError([&](cl_int* e) { return clCreateProgramWithIL(none, nowhere(), 64, e); });
  saysError([&](cl_int* e) {
    return clLinkProgram(none, 2, devices, text, 2, bad<cl_program>(), nullptr, nullptr, e);
  });
  saysError([&](cl_int* e) { return clCreateKernel(nullptr, text, e); });
  say(clBuildProgram(nullptr, 2, devices, text, nullptr, nullptr));
  say(clCompileProgram(nullptr, 2, devices, text, 2, bad<cl_program>(), bad<const char*>(), nullptr,
                       nullptr));
  say(clSetKernelArg(nullptr, 0, 8, nowhere()));
  say(clSetKernelExecInfo(nullptr, CL_KERNEL_EXEC_INFO_SVM_PTRS, 64, nowhere()));
}

}  // namespace

int main() {
  const ClProgram cl(kSource);
  cl_command_queue queue = cl.queue();
  cl_mem memory = cl.buffer(64);
  const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = description.image_height = 4;
  cl_int e = CL_SUCCESS;
  cl_mem image = clCreateImage(cl.context, 0, &format, &description, nullptr, &e);
  check(e, "clCreateImage");
  withoutQueue(memory, image, cl.kernel("one"));
  withoutContext();
  // Nothing is wrong with the queue.
  cl_mem closed = clCreateBuffer(cl.context, CL_MEM_HOST_READ_ONLY, 64, nullptr, &e);
  check(e, "clCreateBuffer");
  say(clEnqueueWriteBuffer(queue, closed, CL_TRUE, 0, 64, nowhere(), 0, nullptr, nullptr));
  say(clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, 64, nowhere(), 3, nullptr, nullptr));
  const cl_event events[1] = {nullptr};
  say(clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, 64, nowhere(), 1, events, nullptr));
  say(clEnqueueWriteBuffer(queue, nullptr, CL_TRUE, 0, 64, nowhere(), 0, nullptr, nullptr));
  say(clWaitForEvents(0, bad<cl_event>()));
  // What comes after them works as ever.
  const int written = 5;
  int seen = 0;
  check(clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, sizeof written, &written, 0, nullptr,
                             nullptr),
        "clEnqueueWriteBuffer");
  check(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, sizeof seen, &seen, 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  std::printf("seen %d\n", seen);
  return seen == written ? 0 : 4;
}
