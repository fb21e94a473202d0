// SPDX-License-Identifier: Apache-2.0
// Calls that wait, and calls that tell the program that something is complete. Completed reads are
// hashed before these calls return.
#include "tracesmith/capture/agents/opencl_record/recorder.hpp"

using namespace tracesmith::record;  // NOLINT: the wrappers below are C functions
namespace rec = tracesmith::recording;

namespace {

/// State lock. False: the thread knows already that the event is complete.
bool isNews(Handle event) {
  uint32_t* informed = g_objects.known.find(event);
  if (informed != nullptr && *informed == t_state.tid) return false;
  if (informed == nullptr) informed = g_objects.known.insert(event);
  if (informed != nullptr) *informed = t_state.tid;
  return true;
}

enum class CompletionSource : uint8_t { kQuery, kCallback };

/// Records that the calling thread was told that the event is complete: its later calls come after
/// the event as if it had waited. This makes no driver call, so it only needs to be in order within
/// the thread.
void recordCompletion(cl_event event, CompletionSource source) {
  if (!inRangeNow()) return;
  const Handle handle = handleOf(event);
  rec::WaitForEvents c;
  c.events = {&handle, 1};
  c.without_wait = 1;
  const int64_t now = nowNs();
  StateLock lock;
  // A callback is called once, and the program may have released the event long before. Its handle
  // may then be another event's, about which nothing must be noted.
  if (source == CompletionSource::kCallback || isNews(handle)) putLocked(c, {now, now, 0, 0});
}

/// A callback of the program, which tells it the same as a query.
struct Callback {
  void(CL_CALLBACK* function)(cl_event, cl_int, void*);
  void* user;
};

void CL_CALLBACK onEvent(cl_event event, cl_int status, void* packed) {
  auto* callback = static_cast<Callback*>(packed);
  const Callback kept = *callback;
  free(callback);
  if (status <= CL_COMPLETE) settle();
  if (status == CL_COMPLETE && active()) recordCompletion(event, CompletionSource::kCallback);
  const bool nested = t_state.in_callback;
  t_state.in_callback = true;
  kept.function(event, status, kept.user);
  t_state.in_callback = nested;
}

}  // namespace

extern "C" {

cl_int CL_API_CALL TS_WRAP(clFinish)(cl_command_queue queue) {
  if (!active()) return callAndSettle([&] { return next().clFinish(queue); });
  Call call;
  uint64_t sequence = kNotRecorded;
  {
    Order order;
    rec::Finish c;
    c.queue = handleOf(queue);
    if (inRange()) sequence = put(c, call.started());
  }
  const Sync finished{handleOf(queue), nullptr, 0, readsSoFar()};
  call.end(next().clFinish(queue));
  if (call.info().result == CL_SUCCESS) {
    settle(finished);
  } else {
    settle();
  }
  done(sequence, call);
  Order order;
  noteSync();
  return call.info().result;
}

cl_int CL_API_CALL TS_WRAP(clFlush)(cl_command_queue queue) {
  if (!active()) return next().clFlush(queue);
  // The driver may execute commands within this call, so record it first.
  Call call;
  uint64_t sequence = kNotRecorded;
  {
    Order order;
    rec::Flush c;
    c.queue = handleOf(queue);
    CallInfo info = call.info();
    info.end_ns = info.start_ns;
    if (inRange()) sequence = put(c, info);
  }
  call.end(next().clFlush(queue));
  if (call.info().result != CL_SUCCESS) done(sequence, call);
  return call.info().result;
}

cl_int CL_API_CALL TS_WRAP(clWaitForEvents)(cl_uint count, const cl_event* events) {
  if (!active()) return callAndSettle([&] { return next().clWaitForEvents(count, events); });
  Call call;
  uint64_t sequence = kNotRecorded;
  {
    Order order;
    rec::WaitForEvents c;
    c.events = handlesOf(events, count);
    if (inRange()) sequence = put(c, call.started());
  }
  call.end(next().clWaitForEvents(count, events));
  if (call.info().result == CL_SUCCESS) {
    settle({0, events, count});
    StateLock lock;
    for (cl_uint i = 0; i < count; ++i) (void)isNews(handleOf(events[i]));
  } else {
    settle();
  }
  done(sequence, call);
  return call.info().result;
}

cl_int CL_API_CALL TS_WRAP(clSetEventCallback)(cl_event event, cl_int type,
                                               void(CL_CALLBACK* function)(cl_event, cl_int, void*),
                                               void* user) {
  // Even after the end of the recording: earlier reads may still be in use.
  if ((!active() && !readsPending()) || function == nullptr) {
    return next().clSetEventCallback(event, type, function, user);
  }
  auto* callback = static_cast<Callback*>(malloc(sizeof(Callback)));
  if (callback == nullptr) return next().clSetEventCallback(event, type, function, user);
  *callback = {function, user};
  const cl_int result = next().clSetEventCallback(event, type, onEvent, callback);
  if (result != CL_SUCCESS) free(callback);
  return result;
}

cl_int CL_API_CALL TS_WRAP(clGetEventInfo)(cl_event event, cl_event_info what, size_t size,
                                           void* value, size_t* size_ret) {
  const cl_int result = next().clGetEventInfo(event, what, size, value, size_ret);
  if (result != CL_SUCCESS || value == nullptr || !tablesUsable()) return result;
  if (what == CL_EVENT_COMMAND_EXECUTION_STATUS && size >= sizeof(cl_int) &&
      *static_cast<const cl_int*>(value) <= CL_COMPLETE) {
    settle();
    if (*static_cast<const cl_int*>(value) == CL_COMPLETE && active())
      recordCompletion(event, CompletionSource::kQuery);
  }
  if (what == CL_EVENT_REFERENCE_COUNT && size >= sizeof(cl_uint)) {
    *static_cast<cl_uint*>(value) -= heldReferences(event);
  }
  return result;
}

cl_int CL_API_CALL TS_WRAP(clGetEventProfilingInfo)(cl_event event, cl_profiling_info what,
                                                    size_t size, void* value, size_t* size_ret) {
  const cl_int result = next().clGetEventProfilingInfo(event, what, size, value, size_ret);
  if (result == CL_SUCCESS) settle();
  if (result == CL_SUCCESS && active())
    recordCompletion(event, CompletionSource::kQuery);  // otherwise there were no times yet
  return result;
}

}  // extern "C"
