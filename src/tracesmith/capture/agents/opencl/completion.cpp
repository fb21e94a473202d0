// SPDX-License-Identifier: Apache-2.0
// When a command completes, the driver calls the agent on a thread of its own. The agent writes the
// device times into that thread's ring.
#include "tracesmith/capture/agents/opencl/driver_quirks.hpp"
#include "tracesmith/capture/agents/opencl/recorder.hpp"
#include "tracesmith/capture/agents/opencl/retained_events.hpp"

namespace tracesmith::agent {
namespace {

// The callback's argument holds the correlation id and whether the program has the event, so that
// no memory must be allocated.
void* pack(uint64_t correlation, bool program_has_it) {
  return reinterpret_cast<void*>((correlation << 1) | (program_has_it ? 1 : 0));
}

[[gnu::always_inline]] inline void recordCompletion(const NextFunctions& loader,
                                                    uint64_t correlation, cl_event event,
                                                    cl_int status, bool has_times) {
  arena::CompleteRecord r{};
  r.header = {arena::RecordKind::kComplete, 0, sizeof r / 8, static_cast<uint32_t>(status)};
  r.correlation = correlation;
  const struct {
    cl_profiling_info what;
    int64_t* into;
  } stamps[] = {{CL_PROFILING_COMMAND_QUEUED, &r.queued},
                {CL_PROFILING_COMMAND_SUBMIT, &r.submitted},
                {CL_PROFILING_COMMAND_START, &r.started},
                {CL_PROFILING_COMMAND_END, &r.ended}};
  for (const auto& stamp : stamps) {
    cl_ulong value = 0;
    has_times = has_times && loader.clGetEventProfilingInfo(event, stamp.what, sizeof value, &value,
                                                            nullptr) == CL_SUCCESS;
    *stamp.into = static_cast<int64_t>(value);
  }
  if (!has_times) r.header.flags = arena::kFlagNoEvent;
  RecordWriter w(sizeof r);
  if (w) w.put(r);
}

template <uint32_t kLoader>
void CL_CALLBACK onComplete(cl_event event, cl_int status, void* packed) {
  const auto bits = reinterpret_cast<uint64_t>(packed);
  const bool recording = ready();  // even if capture has been disabled since
  if (recording && !isBusy(t_state))
    recordCompletion(g_next[kLoader], bits >> 1, event, status, status == CL_COMPLETE);
  g_next[kLoader].clReleaseEvent(event);
  if (bits & 1) heldEvents().release(event);
  if (recording) bump(t_state.ring->completed);
}

}  // namespace

void setCompletionCallbacks() {
  g_next[0].on_complete = onComplete<0>;
  g_next[1].on_complete = onComplete<1>;
  g_next[2].on_complete = onComplete<2>;
  g_next[3].on_complete = onComplete<3>;
  static_assert(kMostLoaders == 4);
}

void track(const EventSlot& slot, uint64_t correlation) {
  const cl_event event = slot.event();
  if (event == nullptr) return;
  const bool shared = slot.programHasIt();
  const NextFunctions& loader = next();
  cl_int status = CL_QUEUED;
  if (__builtin_expect(mayMissCallbacks(), 0) &&
      loader.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                            nullptr) == CL_SUCCESS &&
      status <= CL_COMPLETE) {
    bump(t_state.ring->tracked);
    recordCompletion(loader, correlation, event, status, status == CL_COMPLETE);
    if (!shared) loader.clReleaseEvent(event);
    bump(t_state.ring->completed);
    return;
  }
  if (shared) {
    if (loader.clRetainEvent(event) != CL_SUCCESS) return;
    heldEvents().hold(event);
  }
  bump(t_state.ring->tracked);
  const cl_int result =
      loader.clSetEventCallback(event, CL_COMPLETE, loader.on_complete, pack(correlation, shared));
  if (__builtin_expect(result != CL_SUCCESS, 0)) {
    recordCompletion(loader, correlation, event, CL_COMPLETE, false);
    loader.clReleaseEvent(event);
    if (shared) heldEvents().release(event);
    bump(t_state.ring->completed);
  }
}

void discard(const EventSlot& slot) {
  if (!slot.programHasIt() && slot.event() != nullptr) next().clReleaseEvent(slot.event());
}

}  // namespace tracesmith::agent
