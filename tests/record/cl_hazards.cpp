// SPDX-License-Identifier: Apache-2.0
// Legal programs that are hard to record, one for each word: what they read or map is gone when
// they go on, or is the device's and the host's in turn. Usage: cl_hazards WORD
// Says "ok" at the end, when every result was right.
#include <sys/mman.h>

#include <map>
#include <string>
#include <vector>

#include "../capture/cl_program.hpp"

namespace {

constexpr const char* kSource = R"(
__kernel void add(__global int* a, int by) { a[get_global_id(0)] += by; }
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

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)(const ClProgram&)> all = {
      {"ended", ended},
      {"unmapped", unmapped},
  };
  if (argc != 2 || !all.contains(argv[1])) return 2;
  const ClProgram cl(kSource);
  all.at(argv[1])(cl);
  std::puts("ok");
  return 0;
}
