// SPDX-License-Identifier: Apache-2.0
// Legal programs that are hard to record, one for each word: what they read or map is gone when
// they go on, or is the device's and the host's in turn. Usage: cl_hazards WORD
// Says "ok" at the end, when every result was right; before that what the host left in shared
// memory and what was written, as "shared|write BYTES HASH" lines with hashes as recordings have
// them.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "../capture/cl_program.hpp"

namespace {

constexpr const char* kSource = R"(
__kernel void add(__global int* a, int by) { a[get_global_id(0)] += by; }
__kernel void polls(__global volatile int* a) {
  while (a[0] == 0) {
  }
  a[1] = 1;
}
__kernel void slow(__global int* a) {
  int x = a[0];
  for (int i = 0; i < 200000000; ++i) x = x * 1664525 + 1013904223;
  a[0] = x;
}
__kernel void other(__global int* a, int by) { a[get_global_id(0)] += by; }
)";
constexpr size_t kLarge = 64u << 20;  // the allocator gives such memory back at once

void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::exit(1);
}

uint8_t* pages(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  expect(p != MAP_FAILED, "mmap");
  return static_cast<uint8_t*>(p);
}

cl_event gate(const ClProgram& cl) {
  cl_int e = CL_SUCCESS;
  cl_event event = clCreateUserEvent(cl.context, &e);
  check(e, "clCreateUserEvent");
  return event;
}

void open(cl_event event) { check(clSetUserEventStatus(event, CL_COMPLETE), "set"); }

/// A command that is too large for any recording, so that it ends here.
void endTheRecording(const ClProgram& cl) {
  cl_int e = CL_SUCCESS;
  const std::string name(6u << 20, 'x');
  expect(clCreateKernel(cl.program, name.c_str(), &e) == nullptr, "a kernel of this name");
}

/// A read that is under way when the recording ends, into memory that is gone after the wait.
void ended(const ClProgram& cl) {
  cl_command_queue q = cl.queue();
  cl_mem m = cl.buffer(kLarge);
  uint8_t* host = pages(kLarge);
  cl_event start = gate(cl);
  cl_event read = nullptr;
  check(clEnqueueReadBuffer(q, m, CL_FALSE, 0, kLarge, host, 1, &start, &read), "read");
  endTheRecording(cl);
  open(start);
  check(clWaitForEvents(1, &read), "wait");
  munmap(host, kLarge);
  cl_int status = CL_QUEUED;
  check(clGetEventInfo(read, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
        "status");
  expect(status == CL_COMPLETE, "the status");
  clReleaseEvent(read);
  clReleaseEvent(start);
  clReleaseMemObject(m);
}

/// Memory that is mapped, unmapped and released before any of it is done.
void unmapped(const ClProgram& cl) {
  cl_command_queue q = cl.queue();
  cl_mem m = cl.buffer(kLarge);
  cl_int e = CL_SUCCESS;
  cl_event start = gate(cl);
  void* p = clEnqueueMapBuffer(q, m, CL_FALSE, CL_MAP_READ, 0, kLarge, 1, &start, nullptr, &e);
  check(e, "map");
  check(clEnqueueUnmapMemObject(q, m, p, 0, nullptr, nullptr), "unmap");
  clReleaseMemObject(m);
  open(start);
  check(clFinish(q), "finish");
  clReleaseEvent(start);
}

// --- fine-grained shared memory ---------------------------------------------------------------

constexpr size_t kInts = 1024;

void tell(const char* what, const void* p, size_t bytes = kInts * sizeof(int)) {
  const XXH128_hash_t hash = XXH3_128bits(p, bytes);
  std::printf("%s %zu %016llx%016llx\n", what, bytes, static_cast<unsigned long long>(hash.high64),
              static_cast<unsigned long long>(hash.low64));
}

int* fineGrained(const ClProgram& cl, cl_svm_mem_flags flags = 0) {
  cl_device_svm_capabilities can = 0;
  clGetDeviceInfo(cl.device, CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, nullptr);
  if ((can & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) == 0) {
    std::puts("no fine-grained memory");
    std::exit(0);
  }
  auto* p = static_cast<int*>(clSVMAlloc(cl.context,
                                         CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER | flags,
                                         kInts * sizeof(int), 0));
  expect(p != nullptr, "clSVMAlloc");
  return p;
}

void fill(int* p, int with) {
  for (size_t i = 0; i < kInts; ++i) p[i] = with + static_cast<int>(i);
  tell("shared", p);
}

void add(cl_command_queue q, cl_kernel k, int* p, int by, cl_event after = nullptr) {
  const size_t global = kInts;
  check(clSetKernelArgSVMPointer(k, 0, p), "clSetKernelArgSVMPointer");
  check(clSetKernelArg(k, 1, sizeof by, &by), "clSetKernelArg");
  check(clEnqueueNDRangeKernel(q, k, 1, nullptr, &global, nullptr, after != nullptr ? 1 : 0,
                               after != nullptr ? &after : nullptr, nullptr),
        "clEnqueueNDRangeKernel");
}

/// The host looks for itself, and by a copy, which a replay can be compared with.
void expectIs(cl_command_queue q, const int* p, int first, const char* what) {
  std::vector<int> copy(kInts);
  check(clEnqueueSVMMemcpy(q, CL_TRUE, copy.data(), p, kInts * sizeof *p, 0, nullptr, nullptr),
        what);
  for (size_t i = 0; i < kInts; ++i) {
    expect(p[i] == first + static_cast<int>(i) && copy[i] == p[i], what);
  }
}

/// The host writes, waits for nothing in particular, and launches.
void waited(const ClProgram& cl) {
  cl_command_queue q = cl.queue();
  cl_kernel k = cl.kernel("add");
  int* p = fineGrained(cl);
  for (int round = 1; round <= 3; ++round) {
    fill(p, 100 * round);
    check(clFinish(q), "finish");
    add(q, k, p, 3);
    check(clFinish(q), "finish");
    expectIs(q, p, 100 * round + 3, "what a launch left");
  }
  clSVMFree(cl.context, p);
}

/// The next input is written while a kernel is at the one before.
void ahead(const ClProgram& cl) {
  cl_command_queue q = cl.queue();
  cl_kernel k = cl.kernel("add");
  int* one = fineGrained(cl);
  int* two = fineGrained(cl);
  fill(one, 100);
  fill(two, 500);
  cl_event start = gate(cl);
  add(q, k, one, 3, start);
  fill(two, 200);
  open(start);
  check(clFinish(q), "finish");
  add(q, k, two, 4);
  check(clFinish(q), "finish");
  expectIs(q, one, 103, "the first");
  expectIs(q, two, 204, "the second");
  clSVMFree(cl.context, one);
  clSVMFree(cl.context, two);
  clReleaseEvent(start);
}

/// Launches, a fill and a copy one after the other: only the first input is the host's.
void chained(const ClProgram& cl) {
  cl_command_queue q = cl.queue();
  cl_kernel k = cl.kernel("add");
  int* one = fineGrained(cl);
  int* two = fineGrained(cl);
  fill(one, 100);
  fill(two, 500);
  add(q, k, one, 3);
  add(q, k, one, 4);
  check(clEnqueueSVMMemcpy(q, CL_FALSE, two, one, kInts * sizeof(int), 0, nullptr, nullptr),
        "clEnqueueSVMMemcpy");
  const int zero = 0;
  check(clEnqueueSVMMemFill(q, one, &zero, sizeof zero, kInts * sizeof(int), 0, nullptr, nullptr),
        "clEnqueueSVMMemFill");
  add(q, k, one, 5);
  add(q, k, two, 5);
  // Learnt by asking, not by waiting.
  cl_event last = nullptr;
  check(clEnqueueMarkerWithWaitList(q, 0, nullptr, &last), "marker");
  check(clFlush(q), "clFlush");
  for (cl_int status = CL_QUEUED; status != CL_COMPLETE;) {
    check(clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
          "status");
  }
  clReleaseEvent(last);
  expectIs(q, two, 112, "the copy");
  add(q, k, two, 1);
  check(clFinish(q), "finish");
  for (size_t i = 0; i < kInts; ++i) expect(one[i] == 5, "the fill");
  clSVMFree(cl.context, one);
  clSVMFree(cl.context, two);
}

/// A kernel that runs until the host, which launches others meanwhile, says that it may end.
void polled(const ClProgram& cl) {
  if (std::thread::hardware_concurrency() < 2) {
    std::puts("one processor");
    return;
  }
  cl_command_queue q = cl.queue();
  cl_command_queue other = cl.queue();
  cl_kernel k = cl.kernel("add");
  cl_kernel polls = cl.kernel("polls");
  int* shared_flags = fineGrained(cl, CL_MEM_SVM_ATOMICS);
  int* p = fineGrained(cl);
  shared_flags[0] = shared_flags[1] = 0;
  fill(p, 100);
  const size_t one = 1;
  check(clSetKernelArgSVMPointer(polls, 0, shared_flags), "clSetKernelArgSVMPointer");
  check(clEnqueueNDRangeKernel(q, polls, 1, nullptr, &one, nullptr, 0, nullptr, nullptr), "polls");
  check(clFlush(q), "flush");
  add(other, k, p, 3);
  check(clFinish(other), "finish");
  reinterpret_cast<std::atomic<int>*>(shared_flags)->store(1);
  check(clFinish(q), "finish");
  expect(shared_flags[1] == 1, "what the kernel said");
  expectIs(other, p, 103, "what was launched meanwhile");
  clSVMFree(cl.context, shared_flags);
  clSVMFree(cl.context, p);
}

/// What is read from one buffer is written to the next by way of the host, and nobody waits.
void bounced(const ClProgram& cl) {
  cl_command_queue q = cl.queue();
  constexpr size_t kBytes = kInts * sizeof(int);
  std::vector<int> first(kInts, 7);
  std::vector<int> by_event(kInts), by_order(kInts), seen(kInts);
  cl_mem from = cl.buffer(kBytes);
  cl_mem to = cl.buffer(kBytes);
  check(clEnqueueWriteBuffer(q, from, CL_TRUE, 0, kBytes, first.data(), 0, nullptr, nullptr),
        "write");
  tell("write", first.data());
  const auto readTo = [&](std::vector<int>& into, cl_uint n, cl_event* start, cl_event* event) {
    check(clEnqueueReadBuffer(q, from, CL_FALSE, 0, kBytes, into.data(), n, start, event), "read");
  };
  const auto expectSeen = [&](const char* what) {
    check(clEnqueueReadBuffer(q, to, CL_TRUE, 0, kBytes, seen.data(), 0, nullptr, nullptr), what);
    for (const int x : seen) expect(x == 7, what);
    tell("write", seen.data());
  };
  cl_event start = gate(cl);
  cl_event read = nullptr;
  readTo(by_event, 1, &start, &read);
  check(clEnqueueWriteBuffer(q, to, CL_FALSE, 0, kBytes, by_event.data(), 1, &read, nullptr),
        "write");
  open(start);
  check(clFinish(q), "finish");
  expectSeen("what was bounced");

  const int zero = 0;
  check(clEnqueueFillBuffer(q, to, &zero, sizeof zero, 0, kBytes, 0, nullptr, nullptr), "fill");
  cl_mem busy = cl.buffer(kBytes);
  cl_kernel slow = cl.kernel("slow");
  const size_t one = 1;
  check(clSetKernelArg(slow, 0, sizeof busy, static_cast<const void*>(&busy)), "clSetKernelArg");
  check(clEnqueueNDRangeKernel(q, slow, 1, nullptr, &one, nullptr, 0, nullptr, nullptr), "slow");
  readTo(by_order, 0, nullptr, nullptr);
  check(clEnqueueWriteBuffer(q, to, CL_TRUE, 0, kBytes, by_order.data(), 0, nullptr, nullptr),
        "write");
  expectSeen("what was bounced with a wait");
  clReleaseEvent(read);
  clReleaseEvent(start);
  clReleaseMemObject(busy);
  clReleaseMemObject(from);
  clReleaseMemObject(to);
}

/// A thread that is cancelled when it has come to a halt in what it writes.
void cancelled(const ClProgram& cl) {
  cl_command_queue q = cl.queue();
  constexpr size_t kBytes = 1u << 20;
  cl_mem m = cl.buffer(kBytes);
  std::atomic<uint64_t> written{0};
  std::thread writes([&] {
    std::vector<uint64_t> words(kBytes / 8);
    for (;; pthread_testcancel()) {
      for (size_t i = 0; i < words.size(); ++i) words[i] = words[i] * 6364136223846793005u + i + 1;
      check(clEnqueueWriteBuffer(q, m, CL_FALSE, 0, kBytes, words.data(), 0, nullptr, nullptr),
            "write");
      ++written;
    }
  });
  for (uint64_t before = 0, quiet = 0; quiet < 4;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    quiet = written.load() == before && before != 0 ? quiet + 1 : 0;
    before = written.load();
  }
  pthread_cancel(writes.native_handle());
  writes.join();
  check(clFinish(q), "finish");
  clReleaseMemObject(m);
}

/// Much is written by way of maps.
void mapped(const ClProgram& cl) {
  cl_command_queue q = cl.queue();
  constexpr size_t kBytes = 1u << 20;
  cl_mem m = cl.buffer(kBytes);
  for (int round = 1; round <= 16; ++round) {
    cl_int e = CL_SUCCESS;
    void* p = clEnqueueMapBuffer(q, m, CL_TRUE, CL_MAP_WRITE, 0, kBytes, 0, nullptr, nullptr, &e);
    check(e, "map");
    memset(p, round, kBytes);
    check(clEnqueueUnmapMemObject(q, m, p, 0, nullptr, nullptr), "unmap");
    check(clFinish(q), "finish");
  }
  clReleaseMemObject(m);
}

/// An array of lines: what a region has as rows lies a slice pitch apart.
void sliced(const ClProgram& cl) {
  cl_command_queue q = cl.queue();
  const cl_image_format format{CL_RGBA, CL_UNSIGNED_INT8};
  cl_image_desc d{};
  d.image_type = CL_MEM_OBJECT_IMAGE1D_ARRAY;
  d.image_width = 16;
  d.image_height = 1;
  d.image_array_size = 8;
  cl_int e = CL_SUCCESS;
  cl_mem image = clCreateImage(cl.context, CL_MEM_READ_WRITE, &format, &d, nullptr, &e);
  check(e, "clCreateImage");
  constexpr size_t kLine = 16 * 4;
  constexpr size_t kPitch = 100;
  std::vector<uint8_t> host(kPitch * 8);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<uint8_t>(i * 5);
  std::vector<uint8_t> lines;
  for (size_t i = 0; i < 8; ++i) {
    lines.insert(lines.end(), &host[i * kPitch], &host[i * kPitch] + kLine);
  }
  const size_t origin[3] = {0, 0, 0};
  const size_t region[3] = {16, 8, 1};
  check(clEnqueueWriteImage(q, image, CL_TRUE, origin, region, 0, kPitch, host.data(), 0, nullptr,
                            nullptr),
        "clEnqueueWriteImage");
  tell("write", lines.data(), lines.size());
  clReleaseMemObject(image);
}

double cpuSeconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Very many reads that are under way at the same time, to one place and to one after the other.
void many(const ClProgram& cl) {
  cl_command_queue q = cl.queue();
  cl_mem m = cl.buffer(64);
  for (const size_t n : {20'000u, 40'000u}) {
    std::vector<uint8_t> host(n * 64);
    const double before = cpuSeconds();
    cl_event start = gate(cl);
    check(clEnqueueMarkerWithWaitList(q, 1, &start, nullptr), "marker");
    for (size_t i = 0; i < n; ++i) {
      check(clEnqueueReadBuffer(q, m, CL_FALSE, 0, 48, i % 2 == 0 ? host.data() : &host[i * 64], 0,
                                nullptr, nullptr),
            "read");
    }
    open(start);
    check(clFinish(q), "finish");
    clReleaseEvent(start);
    std::printf("seconds_of_%zu %.3f\n", n, cpuSeconds() - before);
  }
  clReleaseMemObject(m);
}

/// Launches while another thread makes and frees shared memory, buffers and queues.
void freed(const ClProgram& cl) {
  cl_command_queue q = cl.queue();
  cl_kernel k = cl.kernel("add");
  cl_kernel other = cl.kernel("other");
  int* p = fineGrained(cl);
  for (size_t i = 0; i < kInts; ++i) p[i] = 0;
  std::atomic<int> rounds{0};
  std::thread frees([&] {
    for (; rounds.load() < 15; ++rounds) {
      void* large =
          clSVMAlloc(cl.context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, kLarge / 2, 0);
      void* next =
          clSVMAlloc(cl.context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, kLarge / 2, 0);
      expect(large != nullptr && next != nullptr, "clSVMAlloc");
      cl_command_queue brief = cl.queue();
      cl_mem m = cl.buffer(kLarge / 16);
      const int one = 1;
      check(clEnqueueFillBuffer(brief, m, &one, sizeof one, 0, 4096, 0, nullptr, nullptr), "fill");
      clReleaseMemObject(m);
      clSVMFree(cl.context, large);
      check(clEnqueueSVMFree(brief, 1, &next, nullptr, nullptr, 0, nullptr, nullptr), "free");
      clReleaseCommandQueue(brief);
    }
  });
  int launched = 0;
  for (; rounds.load() < 15; ++launched) {
    add(q, k, p, 1);
    add(q, other, p, 1);
    check(clFinish(q), "finish");
  }
  frees.join();
  for (size_t i = 0; i < kInts; ++i) expect(p[i] == 2 * launched, "the sum");
  clSVMFree(cl.context, p);
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)(const ClProgram&)> all = {
      {"ended", ended},     {"unmapped", unmapped}, {"waited", waited},   {"ahead", ahead},
      {"chained", chained}, {"freed", freed},       {"bounced", bounced}, {"cancelled", cancelled},
      {"polled", polled},   {"mapped", mapped},     {"sliced", sliced},   {"many", many}};
  if (argc != 2 || !all.contains(argv[1])) return 2;
  const ClProgram cl(kSource);
  all.at(argv[1])(cl);
  std::puts("ok");
  return 0;
}
