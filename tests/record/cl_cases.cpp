// SPDX-License-Identifier: Apache-2.0
// Programs of a few calls each, for what a recording has to tell or a replay to do alike. Usage:
// cl_cases shared|failures|asks|calls|silent|ticket|includes
// FOLDER|poll|callback|dead|argument|large
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "../capture/cl_program.hpp"

namespace {

constexpr size_t kInts = 1024;
constexpr size_t kBytes = kInts * sizeof(int);

constexpr const char* kSource = R"(
#ifndef MORE
#define MORE 0
#endif
__kernel void add(__global int* a, int by) { a[get_global_id(0)] += by + MORE; }
__kernel void sum(__global const int* from, __global int* to) {
  to[get_global_id(0)] += from[get_global_id(0)];
}
)";

int failed(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  return 1;
}

void setBuffer(cl_kernel k, cl_uint index, cl_mem m) {
  check(clSetKernelArg(k, index, sizeof m, static_cast<const void*>(&m)), "clSetKernelArg");
}

void launch(cl_command_queue q, cl_kernel k, cl_event* event = nullptr) {
  check(clEnqueueNDRangeKernel(q, k, 1, nullptr, &kInts, nullptr, 0, nullptr, event), "launch");
}

cl_mem zeros(const ClProgram& cl) {
  std::vector<int> content(kInts);
  cl_int e = CL_SUCCESS;
  cl_mem m = clCreateBuffer(cl.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, kBytes,
                            content.data(), &e);
  check(e, "clCreateBuffer");
  return m;
}

/// A buffer that is made of shared memory: what is done to the one is done to the other.
int shared() {
  const ClProgram cl(kSource);
  cl_device_svm_capabilities can = 0;
  clGetDeviceInfo(cl.device, CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, nullptr);
  if ((can & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) == 0) return 77;
  cl_command_queue q = cl.queue();
  cl_command_queue other = cl.queue();
  cl_kernel add = cl.kernel("add");
  const bool fine_too = (can & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0;
  for (int fine = 0; fine < (fine_too ? 2 : 1); ++fine) {
    const cl_svm_mem_flags flags =
        CL_MEM_READ_WRITE | (fine != 0 ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0);
    auto* p = static_cast<int*>(clSVMAlloc(cl.context, flags, 2 * kBytes, 0));
    if (p == nullptr) return failed("clSVMAlloc");
    if (fine == 0) {
      check(clEnqueueSVMMap(q, CL_TRUE, CL_MAP_WRITE, p, 2 * kBytes, 0, nullptr, nullptr), "map");
    }
    for (size_t i = 0; i < 2 * kInts; ++i) p[i] = static_cast<int>(i);
    if (fine == 0) check(clEnqueueSVMUnmap(q, p, 0, nullptr, nullptr), "unmap");
    cl_int e = CL_SUCCESS;
    cl_mem upper =
        clCreateBuffer(cl.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, kBytes, p + kInts, &e);
    check(e, "clCreateBuffer");
    const int by = 1000;
    const int one = 1;
    check(clSetKernelArg(add, 1, sizeof by, &by), "clSetKernelArg");
    setBuffer(add, 0, upper);
    launch(q, add);
    // By its other name; and once more, without anything in between.
    check(clFinish(q), "clFinish");
    check(clSetKernelArgSVMPointer(add, 0, p), "clSetKernelArgSVMPointer");
    launch(q, add);
    check(clEnqueueFillBuffer(q, upper, &one, sizeof one, 0, 64, 0, nullptr, nullptr), "fill");
    std::vector<int> seen(2 * kInts);
    check(clEnqueueSVMMemcpy(q, CL_TRUE, seen.data(), p, 2 * kBytes, 0, nullptr, nullptr), "copy");
    if (seen[3] != 1003 || seen[kInts + 100] != static_cast<int>(kInts) + 1100 ||
        seen[kInts + 3] != 1) {
      return failed("the buffer is not the shared memory");
    }
    check(clEnqueueReadBuffer(q, upper, CL_TRUE, 0, kBytes, seen.data(), 0, nullptr, nullptr),
          "read");
    // The race: nothing orders the two queues.
    check(clEnqueueSVMMemFill(other, p, &one, sizeof one, 2 * kBytes, 0, nullptr, nullptr),
          "SVM fill");
    setBuffer(add, 0, upper);
    launch(q, add);
    check(clFinish(q), "clFinish");
    check(clFinish(other), "clFinish");
    clReleaseMemObject(upper);
    clSVMFree(cl.context, p);
  }
  return 0;
}

/// Objects that cannot be made, each for another reason; and what can.
int failures() {
  const ClProgram cl(kSource);
  cl_int e = CL_SUCCESS;
  std::vector<int> host(kInts);
  int count = 0;
  const auto fails = [&](const void* made, const char* what) {
    if (made == nullptr && e != CL_SUCCESS) {
      ++count;
    } else {
      std::fprintf(stderr, "%s did not fail\n", what);
    }
  };
  const cl_context c = cl.context;
  fails(clCreateBuffer(c, CL_MEM_READ_WRITE, 0, nullptr, &e), "no bytes");
  fails(clCreateBuffer(c, CL_MEM_READ_WRITE, kBytes, host.data(), &e), "a pointer without a use");
  fails(clCreateBuffer(c, CL_MEM_USE_HOST_PTR, kBytes, nullptr, &e), "a use without a pointer");
  fails(clCreateBuffer(c, CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR, kBytes, host.data(), &e),
        "two uses");
  fails(clCreateBuffer(c, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, kBytes, nullptr, &e), "flags");
  fails(clCreateBuffer(c, CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS, kBytes, nullptr, &e),
        "host flags");
  cl_mem m = cl.buffer(kBytes);
  const cl_buffer_region beyond{0, 2 * kBytes};
  const cl_buffer_region half{0, kBytes / 2};
  fails(clCreateSubBuffer(m, 0, CL_BUFFER_CREATE_TYPE_REGION, &beyond, &e), "a part beyond");
  fails(clCreateSubBuffer(m, 0, CL_BUFFER_CREATE_TYPE_REGION, nullptr, &e), "no part");
  fails(clCreateSubBuffer(m, 0, 77, &half, &e), "a part of no kind");
  const cl_image_format good{CL_RGBA, CL_UNSIGNED_INT8};
  const cl_image_format bad{CL_RGBA, CL_UNORM_SHORT_565};
  cl_image_desc d{};
  d.image_type = CL_MEM_OBJECT_IMAGE2D;
  d.image_width = 16;
  d.image_height = 16;
  const auto image = [&](cl_mem_flags flags, const cl_image_format* format,
                         const cl_image_desc* description, void* p, const char* what) {
    fails(clCreateImage(c, flags, format, description, p, &e), what);
  };
  image(CL_MEM_READ_WRITE, &bad, &d, nullptr, "an image of no format");
  image(CL_MEM_READ_WRITE, nullptr, &d, nullptr, "an image without a format");
  image(CL_MEM_READ_WRITE, &good, nullptr, nullptr, "an image without a description");
  image(CL_MEM_READ_WRITE, &good, &d, host.data(), "an image with a pointer without a use");
  image(CL_MEM_USE_HOST_PTR, &good, &d, nullptr, "an image with a use without a pointer");
  cl_image_desc pitch = d;
  pitch.image_row_pitch = 7;
  image(CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &good, &pitch, host.data(), "a pitch too short");
  cl_image_desc huge = d;
  huge.image_width = size_t{1} << 40;
  image(CL_MEM_READ_WRITE, &good, &huge, nullptr, "an image too wide");
  cl_image_desc none = d;
  none.image_width = 0;
  image(CL_MEM_READ_WRITE, &good, &none, nullptr, "an image of no width");
  fails(clCreateKernel(cl.program, "no such kernel", &e), "a kernel");
  fails(clCreateProgramWithSource(c, 0, nullptr, nullptr, &e), "a program of nothing");
  clCreatePipe(c, CL_MEM_READ_WRITE, 0, 0, nullptr, &e);
  if (e != CL_SUCCESS) ++count;
  std::vector<int> seen(kInts);
  check(clEnqueueReadBuffer(cl.queue(), m, CL_TRUE, 0, kBytes, seen.data(), 0, nullptr, nullptr),
        "read");
  clReleaseMemObject(m);
  std::printf("%d\n", count);
  return 0;
}

/// Asks for the address of a function, and calls it when it is told to.
int extension(bool calls) {
  const ClProgram cl(kSource);
  cl_command_queue q = cl.queue();
  using Create = void* (*)(cl_uint, const cl_command_queue*, const uint64_t*, cl_int*);
  void* const address =
      clGetExtensionFunctionAddressForPlatform(cl.platform, "clCreateCommandBufferKHR");
  clGetExtensionFunctionAddressForPlatform(cl.platform, "clEnqueueCommandBufferKHR");
  if (address == nullptr) return 77;
  const auto create = reinterpret_cast<Create>(address);
  cl_int e = CL_SUCCESS;
  if (create(0, nullptr, nullptr, &e) != nullptr) return failed("it made one of nothing");
  if (calls && create(1, &q, nullptr, &e) == nullptr) return failed("it made none");
  cl_mem m = cl.buffer(kBytes);
  std::vector<int> seen(kInts);
  check(clEnqueueReadBuffer(q, m, CL_TRUE, 0, kBytes, seen.data(), 0, nullptr, nullptr), "read");
  return 0;
}

/// Groups take numbers in the order in which they come. Each knows which of how many it is, and
/// what it does depends on that.
int ticket() {
  const ClProgram cl(R"(
__kernel void ticket(__global int* next, __global int* out, __global int* check) {
  const size_t group = get_group_id(0);
  if (get_local_id(0) == 0) out[atomic_inc(next)] = (int)group;
  check[get_global_id(0)] = (int)(group * get_num_groups(0) + get_global_size(0) +
                                  get_global_offset(0) + get_global_id(0) % 7);
}
)");
  cl_command_queue q = cl.queue();
  cl_kernel k = cl.kernel("ticket");
  cl_mem next = zeros(cl);
  cl_mem out = zeros(cl);
  cl_mem sure = zeros(cl);
  setBuffer(k, 0, next);
  setBuffer(k, 1, out);
  setBuffer(k, 2, sure);
  const size_t local = 16;
  check(clEnqueueNDRangeKernel(q, k, 1, nullptr, &kInts, &local, 0, nullptr, nullptr), "launch");
  std::vector<int> seen(kInts);
  check(clEnqueueReadBuffer(q, sure, CL_TRUE, 0, kBytes, seen.data(), 0, nullptr, nullptr), "read");
  for (size_t i = 0; i < kInts; ++i) {
    if (seen[i] != static_cast<int>(i / 16 * 64 + kInts + i % 7)) return failed("the check");
  }
  return 0;
}

/// Reads nothing back.
int silent() {
  const ClProgram cl(kSource);
  cl_command_queue q = cl.queue();
  cl_kernel add = cl.kernel("add");
  setBuffer(add, 0, cl.buffer(kBytes));
  for (int by = 1; by < 4; ++by) {
    check(clSetKernelArg(add, 1, sizeof by, &by), "clSetKernelArg");
    launch(q, add);
  }
  check(clFinish(q), "clFinish");
  return 0;
}

/// Includes FOLDER/inc/first.h, which includes another beside it.
int includes(const std::string& folder) {
  const ClProgram cl;
  const char* source =
      "#include \"first.h\"\n__kernel void k(__global int* a) { PUT(a, get_global_id(0)); }\n";
  cl_int e = CL_SUCCESS;
  cl_program program = clCreateProgramWithSource(cl.context, 1, &source, nullptr, &e);
  check(e, "clCreateProgramWithSource");
  const std::string options = "-I " + folder + "/inc -DBY=3";
  check(clBuildProgram(program, 1, &cl.device, options.c_str(), nullptr, nullptr), "build");
  cl_kernel k = clCreateKernel(program, "k", &e);
  check(e, "clCreateKernel");
  cl_command_queue q = cl.queue();
  cl_mem m = cl.buffer(kBytes);
  setBuffer(k, 0, m);
  launch(q, k);
  std::vector<int> seen(kInts);
  check(clEnqueueReadBuffer(q, m, CL_TRUE, 0, kBytes, seen.data(), 0, nullptr, nullptr), "read");
  return seen[5] == 15 ? 0 : failed("the kernel is not what it was");
}

/// Two queues that the host orders without waiting: it asks for the event's status, or goes on in
/// a callback.
int orderWithoutWait(bool by_callback) {
  const ClProgram cl(kSource);
  cl_command_queue q = cl.queue();
  cl_command_queue other = cl.queue();
  cl_kernel add = cl.kernel("add");
  cl_kernel sum = cl.kernel("sum");
  cl_mem a = zeros(cl);
  cl_mem b = zeros(cl);
  const int by = 2;
  setBuffer(add, 0, a);
  check(clSetKernelArg(add, 1, sizeof by, &by), "clSetKernelArg");
  setBuffer(sum, 0, a);
  setBuffer(sum, 1, b);
  struct Next {
    cl_command_queue queue;
    cl_kernel kernel;
    std::atomic<bool> is_done;
  } next{other, sum, false};
  // Again and again: the handle of an event that was released is soon another one's.
  const int rounds = by_callback ? 50 : 1;
  for (int round = 0; round < rounds; ++round) {
    cl_event event = nullptr;
    launch(q, add, &event);
    check(clFlush(q), "clFlush");
    if (by_callback) {
      next.is_done = false;
      const auto go_on = [](cl_event, cl_int, void* user) {
        auto* n = static_cast<Next*>(user);
        launch(n->queue, n->kernel);
        check(clFlush(n->queue), "clFlush");
        n->is_done = true;
      };
      check(clSetEventCallback(event, CL_COMPLETE, go_on, &next), "clSetEventCallback");
      check(clReleaseEvent(event), "clReleaseEvent");
      while (!next.is_done) std::this_thread::yield();
      check(clFinish(other), "clFinish");
      continue;
    }
    cl_int status = CL_QUEUED;
    while (status != CL_COMPLETE) {
      check(
          clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
          "clGetEventInfo");
      std::this_thread::yield();
    }
    launch(other, sum);
    clReleaseEvent(event);
  }
  check(clFinish(other), "clFinish");
  std::vector<int> seen(kInts);
  check(clEnqueueReadBuffer(other, b, CL_TRUE, 0, kBytes, seen.data(), 0, nullptr, nullptr),
        "read");
  return seen[7] == rounds * (rounds + 1) ? 0 : failed("the sum is wrong");
}

/// Two queues that use one buffer; by its macro, or by the value of an argument, one of the kernels
/// only reads it. What it writes lies behind a pointer in a struct.
int dead(bool by_argument) {
  const ClProgram cl;
  const char* source = R"(
typedef struct { __global int* at; int by; } Out;
void put(const Out* out, int value) { out->at[get_global_id(0)] = value * out->by; }
__kernel void a(__global int* from, __global int* to, const int wr) {
  Out out = {to, 3};
  if (WR) from[get_global_id(0)] = 0;
  put(&out, from[get_global_id(0)]);
}
__kernel void b(__global int* from, __global int* to) { to[get_global_id(0)] = from[1]; }
)";
  cl_int e = CL_SUCCESS;
  cl_program program = clCreateProgramWithSource(cl.context, 1, &source, nullptr, &e);
  check(e, "clCreateProgramWithSource");
  const char* const options = by_argument ? "-DWR=(wr>0)" : "-DWR=0";
  check(clBuildProgram(program, 1, &cl.device, options, nullptr, nullptr), "clBuildProgram");
  cl_command_queue queues[] = {cl.queue(), cl.queue()};
  cl_mem from = zeros(cl);
  cl_mem to = zeros(cl);
  for (int i = 0; i < 2; ++i) {
    cl_kernel k = clCreateKernel(program, i == 0 ? "a" : "b", &e);
    check(e, "clCreateKernel");
    setBuffer(k, 0, from);
    setBuffer(k, 1, to);
    const cl_int wr = by_argument ? 0 : 1;
    if (i == 0) check(clSetKernelArg(k, 2, sizeof wr, &wr), "clSetKernelArg");
    launch(queues[i], k);
  }
  for (cl_command_queue q : queues) check(clFinish(q), "clFinish");
  return 0;
}

int threads() {
  return static_cast<int>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

/// A payload of more chunks than are hashed at once, and no whole number of them: written, read
/// twenty times to one place before anybody waits, mapped, changed in its last byte, and read
/// again. Who hashed it with us is gone soon: a program ends with its last thread.
int large() {
  const ClProgram cl;
  constexpr size_t kLarge = (70u << 20) + 12345;
  std::vector<unsigned char> bytes(kLarge);
  uint32_t random = 1;
  for (unsigned char& byte : bytes)
    byte = static_cast<unsigned char>((random = random * 1664525 + 1013904223) >> 24);
  std::vector<unsigned char> seen(kLarge);
  cl_command_queue queue = cl.queue();
  cl_mem buffer = cl.buffer(kLarge);
  check(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, 16, bytes.data(), 0, nullptr, nullptr),
        "write");
  const int before = threads();
  check(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, kLarge, bytes.data(), 0, nullptr, nullptr),
        "write");
  for (int i = 0; i < 20; ++i) {
    check(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, kLarge, seen.data(), 0, nullptr, nullptr),
          "read");
  }
  check(clFinish(queue), "clFinish");
  if (seen != bytes) return failed("what was read differs");
  cl_int e = CL_SUCCESS;
  auto* mapped = static_cast<unsigned char*>(clEnqueueMapBuffer(
      queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, kLarge, 0, nullptr, nullptr, &e));
  check(e, "map");
  mapped[kLarge - 1] ^= 1;
  check(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, nullptr, nullptr), "unmap");
  check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, kLarge, seen.data(), 0, nullptr, nullptr),
        "read");
  if ((seen[kLarge - 1] ^ 1) != bytes[kLarge - 1])
    return failed("the last byte is not what was mapped");
  for (int ms = 0; threads() > before; ++ms) {
    if (ms > 20'000) return failed("there are more threads than before");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "shared") return shared();
  if (what == "failures") return failures();
  if (what == "asks") return extension(false);
  if (what == "calls") return extension(true);
  if (what == "silent") return silent();
  if (what == "ticket") return ticket();
  if (what == "includes" && argc > 2) return includes(argv[2]);
  if (what == "poll") return orderWithoutWait(false);
  if (what == "callback") return orderWithoutWait(true);
  if (what == "dead") return dead(false);
  if (what == "argument") return dead(true);
  if (what == "large") return large();
  return failed("no such case");
}
