// SPDX-License-Identifier: Apache-2.0
// Asks the driver all that a program can ask about its queues, events and objects, and prints the
// answers. They must be the same with the agent and without it.
// Usage: cl_answers ROUNDS   of the loop in the slow kernel, which is to be asked about as it runs
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "cl_program.hpp"

namespace {

constexpr const char* kSource = R"(
__kernel void scale(__global float* a, float by) { a[get_global_id(0)] *= by; }
__kernel void slow(__global int* a, int n) {
  int x = a[0];
  for (int i = 0; i < n; ++i) x = x * 1664525 + 1013904223;
  a[0] = x;
}
)";

void say(const char* what, long long value) { std::printf("%s = %lld\n", what, value); }

void describeQueue(const char* how, cl_command_queue q) {
  std::printf("queue made with %s\n", how);
  cl_command_queue_properties properties = 0xdead;
  size_t size = 0;
  say("  info",
      clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, sizeof properties, &properties, &size));
  say("  properties", static_cast<long long>(properties));
  say("  size", static_cast<long long>(size));
  say("  too small", clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, 1, &properties, nullptr));
  say("  size alone", clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, 0, nullptr, &size));
  cl_queue_properties list[16] = {};
  size = 99;
  say("  array", clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &size));
  say("  array size", static_cast<long long>(size));
  for (size_t i = 0; i < size / sizeof list[0] && i < 16; ++i) {
    say("    element", static_cast<long long>(list[i]));
  }
  size_t size_alone = 99;
  say("  array size alone",
      clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES_ARRAY, 0, nullptr, &size_alone));
  say("  array size alone", static_cast<long long>(size_alone));
  if (size > 0) {
    say("  array too small", clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES_ARRAY, 1, list, nullptr));
  }
  cl_uint references = 0;
  clGetCommandQueueInfo(q, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, nullptr);
  say("  references", references);
}

long long eventReferences(cl_event e) {
  cl_uint n = 0;
  const cl_int r = clGetEventInfo(e, CL_EVENT_REFERENCE_COUNT, sizeof n, &n, nullptr);
  return r == CL_SUCCESS ? n : r;
}

void profilingOf(const char* what, cl_event e) {
  cl_ulong t[4] = {};
  const cl_profiling_info infos[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                     CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
  for (int i = 0; i < 4; ++i) {
    std::printf("%s: profiling %d = %d\n", what, i,
                clGetEventProfilingInfo(e, infos[i], sizeof t[i], &t[i], nullptr));
  }
  say("  ordered", t[0] <= t[1] && t[1] <= t[2] && t[2] <= t[3]);
  say("  any", t[3] != 0);
  size_t size = 0;
  say("  too small", clGetEventProfilingInfo(e, infos[0], 1, t, nullptr));
  say("  size alone", clGetEventProfilingInfo(e, infos[0], 0, nullptr, &size));
  say("  wrong name", clGetEventProfilingInfo(e, 0x1, sizeof t[0], t, nullptr));
}

std::atomic<int> callbacks[4];
void CL_CALLBACK onEvent(cl_event, cl_int status, void* user) {
  if (status == CL_COMPLETE) ++*static_cast<std::atomic<int>*>(user);
}
void CL_CALLBACK onAnyStatus(cl_event, cl_int, void* user) {
  ++*static_cast<std::atomic<int>*>(user);
}
void CL_CALLBACK onDestroyed(cl_mem, void* user) { ++*static_cast<std::atomic<int>*>(user); }

/// The callbacks run on threads of the driver: waits for the first, then for a second that must not
/// come.
long long settled(const std::atomic<int>& counter, int limit_ms = 2000) {
  for (int i = 0; i < limit_ms && counter == 0; ++i) usleep(1000);
  for (int i = 0; i < 20; ++i) usleep(1000);
  return counter;
}

/// A driver lets go of what a command held some time after it has told of its completion: asks
/// until the answer has stayed the same for a tenth of a second.
template <class Ask>
long long steady(Ask&& ask) {
  long long answer = ask();
  for (int i = 0, same = 0; i < 400 && same < 20; ++i) {
    usleep(5000);
    const long long now = ask();
    same = now == answer ? same + 1 : 0;
    answer = now;
  }
  return answer;
}

void queues(const ClProgram& cl) {
  cl_int e = CL_SUCCESS;
  const cl_queue_properties empty[] = {0};
  const cl_queue_properties none[] = {CL_QUEUE_PROPERTIES, 0, 0};
  const cl_queue_properties profiling[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  const cl_queue_properties unordered[] = {CL_QUEUE_PROPERTIES,
                                           CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
  const cl_queue_properties both[] = {
      CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE, 0};
  const cl_queue_properties wrong[] = {CL_QUEUE_PROPERTIES, 1ull << 60, 0};
  const cl_queue_properties unknown[] = {0x7777, 1, 0};
  const struct {
    const char* name;
    const cl_queue_properties* list;
  } ways[] = {{"no list", nullptr},     {"an empty list", empty},
              {"no properties", none},  {"profiling", profiling},
              {"any order", unordered}, {"any order and profiling", both},
              {"a wrong bit", wrong},   {"an unknown property", unknown}};
  for (const auto& way : ways) {
    if (cl.onlyLegacyQueues()) break;
    cl_command_queue q = clCreateCommandQueueWithProperties(cl.context, cl.device, way.list, &e);
    std::printf("%s: %d, %s\n", way.name, e, q != nullptr ? "made" : "null");
    if (q == nullptr) continue;
    describeQueue(way.name, q);
    clReleaseCommandQueue(q);
  }
  for (cl_command_queue_properties p : {cl_bitfield{0}, cl_bitfield{CL_QUEUE_PROFILING_ENABLE}}) {
    cl_command_queue q = clCreateCommandQueue(cl.context, cl.device, p, &e);
    say("legacy call", e);
    describeQueue("the legacy call", q);
    clRetainCommandQueue(q);
    describeQueue("the legacy call, retained", q);
    clReleaseCommandQueue(q);
    clReleaseCommandQueue(q);
  }
  // Wrong calls.
  say("no context", (clCreateCommandQueue(nullptr, cl.device, 0, &e), e));
  say("no device", (clCreateCommandQueue(cl.context, nullptr, 0, &e), e));
  say("null result", clCreateCommandQueue(nullptr, cl.device, 0, nullptr) == nullptr);
}

void events(const ClProgram& cl, int rounds, bool with_profiling) {
  std::printf("events, %s\n", with_profiling ? "with profiling" : "without profiling");
  cl_command_queue q = cl.queue(with_profiling ? CL_QUEUE_PROFILING_ENABLE : 0);
  cl_kernel slow = cl.kernel("slow");
  cl_mem m = cl.buffer(4096);
  check(clSetKernelArg(slow, 0, sizeof m, &m), "argument");
  check(clSetKernelArg(slow, 1, sizeof rounds, &rounds), "argument");
  const size_t one = 1;
  cl_int status = 0;
  cl_int e = CL_SUCCESS;

  // Behind a user event nothing can complete early, so the counts are certain.
  cl_event gate = clCreateUserEvent(cl.context, &e);
  say("user event", e);
  say("references of the user event", eventReferences(gate));
  clGetEventInfo(gate, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  say("its status", status);
  cl_event event = nullptr;
  check(clEnqueueNDRangeKernel(q, slow, 1, nullptr, &one, &one, 1, &gate, &event), "launch");
  const long long after_enqueue = eventReferences(event);
  say("references after enqueue", after_enqueue);
  say("asked twice", eventReferences(event));
  clRetainEvent(event);
  say("references after retain", eventReferences(event) - after_enqueue);
  clReleaseEvent(event);
  say("references after release", eventReferences(event) - after_enqueue);
  say("profiling too early",
      clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(int), &status, nullptr));
  check(clSetEventCallback(event, CL_COMPLETE, onEvent, &callbacks[0]), "callback");
  check(clSetEventCallback(event, CL_COMPLETE, onEvent, &callbacks[1]), "callback");
  say("wrong callback", clSetEventCallback(event, CL_COMPLETE, nullptr, nullptr));
  say("callbacks before", callbacks[0] + callbacks[1]);
  say("status set", clSetUserEventStatus(gate, CL_COMPLETE));
  say("status set again", clSetUserEventStatus(gate, CL_COMPLETE));
  check(clFinish(q), "clFinish");
  say("callback ran", settled(callbacks[0]));
  say("other callback ran", settled(callbacks[1]));
  say("references after finish", steady([event] { return eventReferences(event); }));
  profilingOf("kernel", event);
  clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  say("status", status);
  cl_command_type type = 0;
  clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, nullptr);
  say("type", type);
  cl_command_queue its_queue = nullptr;
  clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof its_queue, &its_queue, nullptr);
  say("its queue", its_queue == q);
  say("too small", clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, 1, &status, nullptr));
  clReleaseEvent(event);
  clReleaseEvent(gate);

  // A copy that is waited for, a marker, and an event that is released at once.
  int value = 5;
  cl_event copied = nullptr;
  check(clEnqueueWriteBuffer(q, m, CL_TRUE, 0, sizeof value, &value, 0, nullptr, &copied), "write");
  say("references after a blocking write", steady([&] { return eventReferences(copied); }));
  profilingOf("write", copied);
  cl_event marker = nullptr;
  check(clEnqueueMarkerWithWaitList(q, 1, &copied, &marker), "marker");
  check(clWaitForEvents(1, &marker), "wait");
  profilingOf("marker", marker);
  clReleaseEvent(copied);
  clReleaseEvent(marker);
  cl_event dropped = nullptr;
  check(clEnqueueNDRangeKernel(q, slow, 1, nullptr, &one, &one, 0, nullptr, &dropped), "launch");
  clReleaseEvent(dropped);
  check(clFinish(q), "clFinish");
  check(clEnqueueReadBuffer(q, m, CL_TRUE, 0, sizeof value, &value, 0, nullptr, nullptr), "read");
  say("computed", value);

  say("references of the queue", steady([q] {
        cl_uint n = 0;
        clGetCommandQueueInfo(q, CL_QUEUE_REFERENCE_COUNT, sizeof n, &n, nullptr);
        return n;
      }));
  clReleaseKernel(slow);
  clReleaseMemObject(m);
  clReleaseCommandQueue(q);
}

void objects(const ClProgram& cl) {
  cl_uint n = 0;
  cl_mem m = cl.buffer(1 << 16);
  auto memoryReferences = [&n](cl_mem o) {
    clGetMemObjectInfo(o, CL_MEM_REFERENCE_COUNT, sizeof n, &n, nullptr);
    return n;
  };
  say("references of a buffer", memoryReferences(m));
  const cl_buffer_region half{0, 1 << 15};
  cl_int e = CL_SUCCESS;
  cl_mem sub = clCreateSubBuffer(m, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, &e);
  say("sub-buffer", e);
  say("references of its parent", memoryReferences(m));
  check(clSetMemObjectDestructorCallback(m, onDestroyed, &callbacks[2]), "destructor callback");
  check(clSetMemObjectDestructorCallback(m, onDestroyed, &callbacks[3]), "destructor callback");
  clReleaseMemObject(sub);
  clRetainMemObject(m);
  clReleaseMemObject(m);
  say("destroyed too early", callbacks[2] + callbacks[3]);
  clReleaseMemObject(m);
  say("destructor callback ran", settled(callbacks[2]));
  say("the other as well", settled(callbacks[3]));

  clGetContextInfo(cl.context, CL_CONTEXT_REFERENCE_COUNT, sizeof n, &n, nullptr);
  say("references of the context", n);
  cl_kernel k = cl.kernel("scale");
  clGetKernelInfo(k, CL_KERNEL_REFERENCE_COUNT, sizeof n, &n, nullptr);
  say("references of a kernel", n);
  clGetProgramInfo(cl.program, CL_PROGRAM_REFERENCE_COUNT, sizeof n, &n, nullptr);
  say("references of the program", n);
  float wrong = 0;
  say("wrong argument index", clSetKernelArg(k, 7, sizeof wrong, &wrong));
  say("wrong argument size", clSetKernelArg(k, 1, 1, &wrong));
  say("no such kernel", (clCreateKernel(cl.program, "absent", &e), e));
  say("no size", (clCreateBuffer(cl.context, CL_MEM_READ_WRITE, 0, nullptr, &e), e));
  say("wrong flags", (clCreateBuffer(cl.context, ~cl_bitfield{0}, 64, nullptr, &e), e));
  say("null error is allowed", clCreateBuffer(cl.context, 0, 0, nullptr, nullptr) == nullptr);
  const char* bad = "__kernel void broken(";
  cl_program p = clCreateProgramWithSource(cl.context, 1, &bad, nullptr, &e);
  say("build of a broken program", clBuildProgram(p, 1, &cl.device, "", nullptr, nullptr));
  cl_build_status status = 0;
  clGetProgramBuildInfo(p, cl.device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, nullptr);
  say("its status", status);
  clReleaseProgram(p);
  clReleaseKernel(k);
}

/// What hangs on a command that failed.
void failure(const ClProgram& cl) {
  cl_command_queue q = cl.queue();
  cl_int e = CL_SUCCESS;
  cl_int status = 0;
  std::atomic<int> notified{0};
  cl_event failing = clCreateUserEvent(cl.context, &e);
  cl_event after = nullptr;
  check(clEnqueueMarkerWithWaitList(q, 1, &failing, &after), "marker");
  check(clSetEventCallback(after, CL_COMPLETE, onAnyStatus, &notified), "callback");
  say("set to failed", clSetUserEventStatus(failing, -77));
  say("wait", clWaitForEvents(1, &after));
  say("told", settled(notified, 300));  // PoCL tells nobody
  clGetEventInfo(after, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  say("status behind a failed event", status);
  say("references", eventReferences(after));
  clReleaseEvent(failing);
  clReleaseEvent(after);
  clReleaseCommandQueue(q);
}

void computation(const ClProgram& cl) {
  cl_command_queue q = cl.queue();
  cl_kernel k = cl.kernel("scale");
  std::vector<float> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const size_t bytes = values.size() * sizeof(float);
  cl_mem m = cl.buffer(bytes);
  const float by = 1.0f / 3.0f;
  check(clEnqueueWriteBuffer(q, m, CL_FALSE, 0, bytes, values.data(), 0, nullptr, nullptr), "w");
  check(clSetKernelArg(k, 0, sizeof m, &m), "argument");
  check(clSetKernelArg(k, 1, sizeof by, &by), "argument");
  const size_t global = values.size();
  for (int i = 0; i < 5; ++i) {
    check(clEnqueueNDRangeKernel(q, k, 1, nullptr, &global, nullptr, 0, nullptr, nullptr), "k");
  }
  check(clEnqueueReadBuffer(q, m, CL_TRUE, 0, bytes, values.data(), 0, nullptr, nullptr), "r");
  uint64_t sum = 14695981039346656037ull;
  for (float f : values) {
    uint32_t word = 0;
    std::memcpy(&word, &f, sizeof word);
    sum = (sum ^ word) * 1099511628211ull;
  }
  std::printf("result %016llx\n", static_cast<unsigned long long>(sum));
  say("launch of no dimensions",
      clEnqueueNDRangeKernel(q, k, 0, nullptr, &global, nullptr, 0, nullptr, nullptr));
  say("old marker without event", clEnqueueMarker(q, nullptr));
  say("barrier", clEnqueueBarrier(q));
  say("wait for nothing", clWaitForEvents(0, nullptr));
  cl_int e = 0;
  say("map beyond the end",
      (clEnqueueMapBuffer(q, m, CL_TRUE, CL_MAP_READ, bytes, 4, 0, nullptr, nullptr, &e), e));
  void* p = clEnqueueMapBuffer(q, m, CL_TRUE, CL_MAP_READ, 0, bytes, 0, nullptr, nullptr, nullptr);
  say("mapped", p != nullptr && std::memcmp(p, values.data(), bytes) == 0);
  say("unmapped", clEnqueueUnmapMemObject(q, m, p, 0, nullptr, nullptr));
  check(clFinish(q), "clFinish");
  clReleaseMemObject(m);
  clReleaseKernel(k);
  clReleaseCommandQueue(q);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1000;
  const ClProgram cl(kSource);
  queues(cl);
  events(cl, rounds, false);
  events(cl, rounds, true);
  objects(cl);
  computation(cl);
  failure(cl);
  return 0;
}
