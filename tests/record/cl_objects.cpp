// SPDX-License-Identifier: Apache-2.0
// Uses what a recorder must see of memory, one thing after the other, and says on standard output
// what went in and out: "what bytes hash" lines, in the order of the calls, with hashes as
// recordings have them. Usage: cl_objects [NOTES] (what depends on memory that nobody filled)
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <memory>
#include <thread>
#include <vector>

#include "../capture/cl_program.hpp"

namespace {

constexpr const char* kSource = R"(
__kernel void add(__global int* a, int by) { a[get_global_id(0)] += by; }
__kernel void scale(__global int* a, int by) { a[get_global_id(0)] *= by; }
)";
constexpr size_t kInts = 1024;
constexpr size_t kBytes = kInts * sizeof(int);

std::FILE* notes = stderr;

void tell(const char* what, const void* p, size_t bytes) {
  const XXH128_hash_t hash = XXH3_128bits(p, bytes);
  std::printf("%s %zu %016llx%016llx\n", what, bytes, static_cast<unsigned long long>(hash.high64),
              static_cast<unsigned long long>(hash.low64));
}

void tell(const char* what, long long value) { std::printf("# %s %lld\n", what, value); }

std::vector<int> numbers(int first) {
  std::vector<int> out(kInts);
  for (size_t i = 0; i < kInts; ++i) out[i] = first + static_cast<int>(i);
  return out;
}

/// Rows out of a larger box, close together.
std::vector<uint8_t> packed(const uint8_t* at, size_t row, size_t rows, size_t pitch) {
  std::vector<uint8_t> out;
  for (size_t i = 0; i < rows; ++i) out.insert(out.end(), at + i * pitch, at + i * pitch + row);
  return out;
}

void buffers(const ClProgram& cl, cl_command_queue q) {
  cl_int e = CL_SUCCESS;
  std::vector<int> host = numbers(1);
  cl_mem empty = cl.buffer(kBytes);
  cl_mem_flags flags = 0;
  void* pointer = &flags;
  clGetMemObjectInfo(empty, CL_MEM_FLAGS, sizeof flags, &flags, nullptr);
  tell("flags", static_cast<long long>(flags));
  clGetMemObjectInfo(empty, CL_MEM_HOST_PTR, sizeof pointer, &pointer, nullptr);
  tell("host", pointer != nullptr);
  std::vector<int> seen(kInts, 7);
  check(clEnqueueReadBuffer(q, empty, CL_TRUE, 0, kBytes, seen.data(), 0, nullptr, nullptr),
        "read");
  bool zeros = true;
  for (const int x : seen) zeros = zeros && x == 0;
  std::fprintf(notes, "zeros %d\n", zeros);

  cl_mem copied =
      clCreateBuffer(cl.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, kBytes, host.data(), &e);
  check(e, "COPY_HOST_PTR");
  tell("create", host.data(), kBytes);
  const cl_buffer_region half{kBytes / 2, kBytes / 2};
  cl_mem sub = clCreateSubBuffer(copied, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, &e);
  check(e, "clCreateSubBuffer");
  clGetMemObjectInfo(sub, CL_MEM_FLAGS, sizeof flags, &flags, nullptr);
  tell("flags of a part", static_cast<long long>(flags));
  const std::vector<int> other = numbers(5000);
  check(clEnqueueWriteBuffer(q, sub, CL_FALSE, 0, kBytes / 2, other.data(), 0, nullptr, nullptr),
        "write");
  tell("write", other.data(), kBytes / 2);
  check(clEnqueueReadBuffer(q, copied, CL_TRUE, 0, kBytes, seen.data(), 0, nullptr, nullptr),
        "read");
  tell("read", seen.data(), kBytes);

  // A box of 16 x 8 bytes at (4, 2), of rows of 64 in memory and 32 in the host's.
  std::vector<uint8_t> box(32 * 16);
  for (size_t i = 0; i < box.size(); ++i) box[i] = static_cast<uint8_t>(i * 7);
  const size_t at_buffer[3] = {4, 2, 0};
  const size_t at_host[3] = {8, 1, 0};
  const size_t region[3] = {16, 8, 1};
  check(clEnqueueWriteBufferRect(q, copied, CL_TRUE, at_buffer, at_host, region, 64, 0, 32, 0,
                                 box.data(), 0, nullptr, nullptr),
        "rect");
  std::vector<uint8_t> rows = packed(box.data() + 32 + 8, 16, 8, 32);
  tell("write", rows.data(), rows.size());
  std::vector<uint8_t> back(box.size());
  check(clEnqueueReadBufferRect(q, copied, CL_TRUE, at_buffer, at_host, region, 64, 0, 32, 0,
                                back.data(), 0, nullptr, nullptr),
        "rect");
  rows = packed(back.data() + 32 + 8, 16, 8, 32);
  tell("read", rows.data(), rows.size());

  // Reads without events and without waiting; their memory is gone right after the wait.
  {
    auto a = std::make_unique<std::vector<int>>(kInts);
    auto b = std::make_unique<std::vector<int>>(kInts);
    check(clEnqueueReadBuffer(q, copied, CL_FALSE, 0, kBytes, a->data(), 0, nullptr, nullptr), "a");
    check(clEnqueueReadBuffer(q, copied, CL_FALSE, 64, kBytes - 64, b->data(), 0, nullptr, nullptr),
          "b");
    check(clFinish(q), "clFinish");
    tell("read", a->data(), kBytes);
    tell("read", b->data(), kBytes - 64);
  }
  cl_event event = nullptr;
  check(clEnqueueReadBuffer(q, copied, CL_FALSE, 0, 128, seen.data(), 0, nullptr, &event), "event");
  cl_uint references = 0;
  clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof references, &references, nullptr);
  cl_int status = CL_QUEUED;
  while (status != CL_COMPLETE) {
    check(clFlush(q), "clFlush");
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  }
  tell("read", seen.data(), 128);
  clReleaseEvent(event);

  // Handles come again.
  for (int i = 0; i < 20; ++i) {
    cl_mem again = clCreateBuffer(cl.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 256,
                                  host.data() + i, &e);
    check(e, "again");
    tell("create", host.data() + i, 256);
    clReleaseMemObject(again);
  }
  // What fails; the memory of the second is not what it says.
  tell("fails",
       clEnqueueReadBuffer(q, copied, CL_TRUE, kBytes, 4, seen.data(), 0, nullptr, nullptr));
  tell("fails", clEnqueueWriteBuffer(q, copied, CL_TRUE, 0, size_t{1} << 40, seen.data(), 0,
                                     nullptr, nullptr));
  tell("fails", clReleaseMemObject(nullptr));
  clReleaseMemObject(sub);
  clReleaseMemObject(copied);
  clReleaseMemObject(empty);
}

void maps(const ClProgram& cl, cl_command_queue q) {
  cl_int e = CL_SUCCESS;
  std::vector<int> host = numbers(100);
  cl_mem m =
      clCreateBuffer(cl.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, kBytes, host.data(), &e);
  check(e, "USE_HOST_PTR");
  tell("create", host.data(), kBytes);
  const auto mapped = [&](cl_bool blocking, cl_map_flags flags) {
    void* p = clEnqueueMapBuffer(q, m, blocking, flags, 256, 512, 0, nullptr, nullptr, &e);
    check(e, "clEnqueueMapBuffer");
    if (!blocking) check(clFinish(q), "clFinish");
    return static_cast<int*>(p);
  };
  const auto unmapped = [&](int* p) {
    check(clEnqueueUnmapMemObject(q, m, p, 0, nullptr, nullptr), "unmap");
    check(clFinish(q), "clFinish");
  };
  int* p = mapped(CL_TRUE, CL_MAP_READ);
  tell("map", p, 512);
  unmapped(p);
  tell("unmap", nullptr, 0);
  p = mapped(CL_FALSE, CL_MAP_READ | CL_MAP_WRITE);
  tell("map", p, 512);
  p[3] = 77;
  tell("unmap", p, 512);
  unmapped(p);
  p = mapped(CL_TRUE, CL_MAP_WRITE);
  tell("map", p, 512);
  unmapped(p);
  tell("unmap", nullptr, 0);
  p = mapped(CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION);
  for (int i = 0; i < 128; ++i) p[i] = i;
  tell("map", nullptr, 0);
  tell("unmap", p, 512);
  unmapped(p);
  std::vector<int> seen(kInts);
  check(clEnqueueReadBuffer(q, m, CL_TRUE, 0, kBytes, seen.data(), 0, nullptr, nullptr), "read");
  tell("read", seen.data(), kBytes);
  clReleaseMemObject(m);
}

void images(const ClProgram& cl, cl_command_queue q) {
  cl_int e = CL_SUCCESS;
  const cl_image_format format{CL_RGBA, CL_UNSIGNED_INT8};
  cl_image_desc d{};
  d.image_type = CL_MEM_OBJECT_IMAGE2D;
  d.image_width = 20;
  d.image_height = 10;
  d.image_row_pitch = 96;
  std::vector<uint8_t> host(96 * 10);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<uint8_t>(i * 3);
  cl_mem image = clCreateImage(cl.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format, &d,
                               host.data(), &e);
  check(e, "clCreateImage");
  std::vector<uint8_t> rows = packed(host.data(), 80, 10, 96);
  tell("create", rows.data(), rows.size());
  const size_t origin[3] = {2, 1, 0};
  const size_t region[3] = {5, 4, 1};
  check(clEnqueueWriteImage(q, image, CL_TRUE, origin, region, 32, 0, host.data(), 0, nullptr,
                            nullptr),
        "clEnqueueWriteImage");
  rows = packed(host.data(), 20, 4, 32);
  tell("write", rows.data(), rows.size());
  const size_t zero[3] = {0, 0, 0};
  const size_t all[3] = {20, 10, 1};
  std::vector<uint8_t> seen(80 * 10);
  check(clEnqueueReadImage(q, image, CL_TRUE, zero, all, 0, 0, seen.data(), 0, nullptr, nullptr),
        "clEnqueueReadImage");
  tell("read", seen.data(), seen.size());
  size_t row = 0;
  size_t slice = 0;
  auto* p =
      static_cast<uint8_t*>(clEnqueueMapImage(q, image, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, origin,
                                              region, &row, &slice, 0, nullptr, nullptr, &e));
  check(e, "clEnqueueMapImage");
  rows = packed(p, 20, 4, row);
  tell("map", rows.data(), rows.size());
  p[row + 3] = 99;
  rows = packed(p, 20, 4, row);
  tell("unmap", rows.data(), rows.size());
  check(clEnqueueUnmapMemObject(q, image, p, 0, nullptr, nullptr), "unmap");
  d.image_row_pitch = 0;
  cl_mem empty = clCreateImage(cl.context, CL_MEM_READ_WRITE, &format, &d, nullptr, &e);
  check(e, "clCreateImage");
  check(clEnqueueReadImage(q, empty, CL_TRUE, zero, all, 0, 0, seen.data(), 0, nullptr, nullptr),
        "clEnqueueReadImage");
  bool zeros = true;
  for (const uint8_t x : seen) zeros = zeros && x == 0;
  std::fprintf(notes, "zeros %d\n", zeros);
  check(clFinish(q), "clFinish");
  clReleaseMemObject(empty);
  clReleaseMemObject(image);
}

void shared(const ClProgram& cl, cl_command_queue q, cl_kernel k) {
  cl_device_svm_capabilities can = 0;
  clGetDeviceInfo(cl.device, CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, nullptr);
  const int by = 3;
  const size_t global = kInts;
  for (const cl_svm_mem_flags flags :
       {cl_svm_mem_flags{CL_MEM_READ_WRITE},
        cl_svm_mem_flags{CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER}}) {
    const bool fine = (flags & CL_MEM_SVM_FINE_GRAIN_BUFFER) != 0;
    if ((can & (fine ? CL_DEVICE_SVM_FINE_GRAIN_BUFFER : CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) == 0)
      continue;
    auto* p = static_cast<int*>(clSVMAlloc(cl.context, flags, kBytes, 0));
    if (p == nullptr) continue;
    const std::vector<int> content = numbers(fine ? 20 : 10);
    if (!fine) {
      check(clEnqueueSVMMap(q, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, p, kBytes, 0, nullptr,
                            nullptr),
            "clEnqueueSVMMap");
    }
    memcpy(p, content.data(), kBytes);
    tell("shared", p, kBytes);
    if (!fine) check(clEnqueueSVMUnmap(q, p, 0, nullptr, nullptr), "clEnqueueSVMUnmap");
    check(clSetKernelArgSVMPointer(k, 0, p), "clSetKernelArgSVMPointer");
    check(clSetKernelArg(k, 1, sizeof by, &by), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(q, k, 1, nullptr, &global, nullptr, 0, nullptr, nullptr),
          "launch");
    check(clFinish(q), "clFinish");
    std::vector<int> seen(kInts);
    check(clEnqueueSVMMemcpy(q, CL_TRUE, seen.data(), p, kBytes, 0, nullptr, nullptr), "memcpy");
    tell("copied", seen.data(), kBytes);
    check(clFinish(q), "clFinish");
    clSVMFree(cl.context, p);
  }
}

void binary(const ClProgram& cl, cl_command_queue q) {
  size_t bytes = 0;
  clGetProgramInfo(cl.program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, nullptr);
  std::vector<unsigned char> code(bytes);
  unsigned char* place = code.data();
  clGetProgramInfo(cl.program, CL_PROGRAM_BINARIES, sizeof place, static_cast<void*>(&place),
                   nullptr);
  cl_int e = CL_SUCCESS;
  cl_int status = CL_SUCCESS;
  const unsigned char* from = code.data();
  cl_program program =
      clCreateProgramWithBinary(cl.context, 1, &cl.device, &bytes, &from, &status, &e);
  check(e, "clCreateProgramWithBinary");
  check(clBuildProgram(program, 1, &cl.device, "", nullptr, nullptr), "clBuildProgram");
  cl_kernel k = clCreateKernel(program, "scale", &e);
  check(e, "clCreateKernel");
  cl_mem m = cl.buffer(kBytes);
  const std::vector<int> content = numbers(1);
  check(clEnqueueWriteBuffer(q, m, CL_TRUE, 0, kBytes, content.data(), 0, nullptr, nullptr),
        "write");
  tell("write", content.data(), kBytes);
  const int by = 5;
  const size_t global = kInts;
  clSetKernelArg(k, 0, sizeof m, static_cast<const void*>(&m));
  clSetKernelArg(k, 1, sizeof by, &by);
  check(clEnqueueNDRangeKernel(q, k, 1, nullptr, &global, nullptr, 0, nullptr, nullptr), "launch");
  std::vector<int> seen(kInts);
  check(clEnqueueReadBuffer(q, m, CL_TRUE, 0, kBytes, seen.data(), 0, nullptr, nullptr), "read");
  tell("read", seen.data(), kBytes);
  clReleaseMemObject(m);
  clReleaseKernel(k);
  clReleaseProgram(program);
}

/// A user event that another thread sets while this one waits for it.
void waits(const ClProgram& cl, cl_kernel k) {
  cl_command_queue q = cl.queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  cl_int e = CL_SUCCESS;
  cl_mem m = cl.buffer(kBytes);
  const std::vector<int> content = numbers(9);
  cl_event gate = clCreateUserEvent(cl.context, &e);
  check(e, "clCreateUserEvent");
  cl_event written = nullptr;
  cl_event launched = nullptr;
  check(clEnqueueWriteBuffer(q, m, CL_FALSE, 0, kBytes, content.data(), 1, &gate, &written),
        "write");
  tell("write", content.data(), kBytes);
  const int by = 2;
  const size_t global = kInts;
  clSetKernelArg(k, 0, sizeof m, static_cast<const void*>(&m));
  clSetKernelArg(k, 1, sizeof by, &by);
  check(clEnqueueNDRangeKernel(q, k, 1, nullptr, &global, nullptr, 1, &written, &launched),
        "launch");
  check(clEnqueueMarkerWithWaitList(q, 1, &launched, nullptr), "marker");
  check(clEnqueueBarrierWithWaitList(q, 0, nullptr, nullptr), "barrier");
  std::vector<int> seen(kInts);
  std::thread setter([&] { check(clSetUserEventStatus(gate, CL_COMPLETE), "set"); });
  check(clEnqueueReadBuffer(q, m, CL_TRUE, 0, kBytes, seen.data(), 1, &launched, nullptr), "read");
  setter.join();
  tell("read", seen.data(), kBytes);
  check(clFinish(q), "clFinish");
  clReleaseEvent(written);
  clReleaseEvent(launched);
  clReleaseEvent(gate);
  clReleaseMemObject(m);
  clReleaseCommandQueue(q);
}

void threads(const ClProgram& cl, int count) {
  std::vector<std::thread> all;
  for (int t = 0; t < count; ++t) {
    all.emplace_back([&cl, t] {
      cl_command_queue q = cl.queue();
      cl_kernel k = cl.kernel("add");
      cl_mem m = cl.buffer(kBytes);
      const std::vector<int> content = numbers(t);
      std::vector<int> seen(kInts);
      for (int i = 0; i < 50; ++i) {
        const size_t global = kInts;
        clEnqueueWriteBuffer(q, m, CL_FALSE, 0, kBytes, content.data(), 0, nullptr, nullptr);
        clSetKernelArg(k, 0, sizeof m, static_cast<const void*>(&m));
        clSetKernelArg(k, 1, sizeof i, &i);
        clEnqueueNDRangeKernel(q, k, 1, nullptr, &global, nullptr, 0, nullptr, nullptr);
        clEnqueueReadBuffer(q, m, CL_FALSE, 0, kBytes, seen.data(), 0, nullptr, nullptr);
        check(clFinish(q), "clFinish");
        if (seen[5] != t + 5 + i) check(-1, "the result");
      }
      clReleaseMemObject(m);
      clReleaseKernel(k);
      clReleaseCommandQueue(q);
    });
  }
  for (std::thread& t : all) t.join();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) notes = std::fopen(argv[1], "w");
  const ClProgram cl(kSource);
  cl_command_queue q = cl.queue();
  cl_kernel k = cl.kernel("add");
  buffers(cl, q);
  maps(cl, q);
  images(cl, q);
  const bool old = cl.onlyLegacyQueues();  // Oclgrind: none of what came after OpenCL 1.2
  if (!old) shared(cl, q, k);
  if (!old) waits(cl, k);
  binary(cl, q);
  if (!old) {
    cl_int e = CL_SUCCESS;
    cl_kernel clone = clCloneKernel(k, &e);
    tell("clone", e);
    if (clone != nullptr) clReleaseKernel(clone);
  }
  threads(cl, old ? 1 : 4);
  clReleaseKernel(k);
  clReleaseCommandQueue(q);
  clReleaseProgram(cl.program);
  clReleaseContext(cl.context);
  return 0;
}
