// SPDX-License-Identifier: Apache-2.0
// Answers the program's questions about its queues and events as if the agent were absent: hides
// profiling that the program did not request, and does not count the agent's reference on an event.
#include <sched.h>
#include <string.h>

#include "tracesmith/capture/agents/opencl/intercept.hpp"
#include "tracesmith/capture/agents/opencl/queue_profiling.hpp"
#include "tracesmith/capture/agents/opencl/retained_events.hpp"

namespace tracesmith::agent {

HeldEvents& heldEvents() {
  static constinit HeldEvents held;
  return held;
}

QueueProfiling& queueProfiling() {
  static constinit QueueProfiling profiling;
  return profiling;
}

uint32_t QueueProfiling::slotOf(const void* queue) {
  return static_cast<uint32_t>((reinterpret_cast<uint64_t>(queue) * 0x9E3779B97F4A7C15ull) >> 52);
}

void QueueProfiling::set(const void* queue, uint64_t bits) {
  const uint64_t handle = reinterpret_cast<uint64_t>(queue);
  for (uint32_t i = 0; i < kSlots; ++i) {
    std::atomic<uint64_t>& slot = slots_[(slotOf(queue) + i) % kSlots];
    uint64_t seen = slot.load(std::memory_order_acquire);
    if (seen == 0) {
      if (bits == 0) return;
      if (slot.compare_exchange_strong(seen, handle | bits, std::memory_order_acq_rel)) return;
    }
    if ((seen & ~kBits) == handle) {
      slot.store(handle | bits, std::memory_order_release);
      return;
    }
  }
}

uint64_t QueueProfiling::bits(const void* queue) const {
  const uint64_t handle = reinterpret_cast<uint64_t>(queue);
  for (uint32_t i = 0; i < kSlots; ++i) {
    const uint64_t seen = slots_[(slotOf(queue) + i) % kSlots].load(std::memory_order_acquire);
    if (seen == 0) return 0;
    if ((seen & ~kBits) == handle) return seen & kBits;
  }
  return 0;
}

namespace {

bool eventHasOurProfiling(cl_event event) {
  cl_command_queue queue = nullptr;
  return next().clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, nullptr) ==
             CL_SUCCESS &&
         queue != nullptr && queueProfiling().isOurs(queue);
}

/// Waits until it is certain whether the agent still holds a complete event (its callback may be on
/// its way). The wait is bounded: a reference count is stale anyway once it is returned.
bool stillHeld(cl_event event) {
  cl_int status = CL_COMPLETE;
  for (int i = 0; i < 2000; ++i) {
    if (!heldEvents().maybeHeld(event)) return false;
    next().clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                          nullptr);
    if (status > CL_COMPLETE) return true;
    sched_yield();
  }
  return status < CL_COMPLETE;  // PoCL does not call back for a command that failed
}

/// The property list as the program passed it, not as the agent passed it on.
cl_int requestedProperties(cl_command_queue queue, uint64_t bits, size_t size, void* value,
                           size_t* size_ret) {
  constexpr size_t kMost = 64;
  cl_queue_properties list[kMost];
  size_t bytes = 0;
  const cl_int result =
      next().clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &bytes);
  if (result != CL_SUCCESS) return result;
  size_t count = bytes / sizeof list[0];
  if (bits & QueueProfiling::kListAdded) {
    count = 0;
  } else {
    for (size_t i = 0; i + 1 < count; i += 2) {
      if (list[i] != CL_QUEUE_PROPERTIES) continue;
      list[i + 1] &= ~cl_queue_properties{CL_QUEUE_PROFILING_ENABLE};
      if (bits & QueueProfiling::kPairAdded) {
        memmove(list + i, list + i + 2, (count - i - 2) * sizeof list[0]);
        count -= 2;
      }
      break;
    }
  }
  if (size_ret != nullptr) *size_ret = count * sizeof list[0];
  if (value != nullptr) {
    if (size < count * sizeof list[0]) return CL_INVALID_VALUE;
    memcpy(value, list, count * sizeof list[0]);
  }
  return CL_SUCCESS;
}

}  // namespace
}  // namespace tracesmith::agent

using namespace tracesmith::agent;  // NOLINT: the wrappers below are C functions

extern "C" {

cl_int CL_API_CALL TS_WRAP(clGetCommandQueueInfo)(cl_command_queue queue,
                                                  cl_command_queue_info what, size_t size,
                                                  void* value, size_t* size_ret) {
  const uint64_t bits = queueProfiling().bits(queue);
  if ((bits & QueueProfiling::kOurs) && what == CL_QUEUE_PROPERTIES_ARRAY) {
    return requestedProperties(queue, bits, size, value, size_ret);
  }
  const cl_int result = next().clGetCommandQueueInfo(queue, what, size, value, size_ret);
  if (result == CL_SUCCESS && value != nullptr && (bits & QueueProfiling::kOurs) &&
      what == CL_QUEUE_PROPERTIES && size >= sizeof(cl_command_queue_properties)) {
    *static_cast<cl_command_queue_properties*>(value) &= ~cl_bitfield{CL_QUEUE_PROFILING_ENABLE};
  }
  return result;
}

cl_int CL_API_CALL TS_WRAP(clSetCommandQueueProperty)(cl_command_queue queue,
                                                      cl_command_queue_properties properties,
                                                      cl_bool enable,
                                                      cl_command_queue_properties* old) {
  const bool ours = queueProfiling().isOurs(queue);
  const bool about_profiling = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
  // Profiling stays enabled whatever the program sets; the program is shown what it has set.
  const cl_command_queue_properties forwarded =
      about_profiling && !enable ? properties & ~cl_bitfield{CL_QUEUE_PROFILING_ENABLE}
                                 : properties;
  const cl_int result = next().clSetCommandQueueProperty(queue, forwarded, enable, old);
  if (result == CL_SUCCESS) {
    if (ours && old != nullptr) *old &= ~cl_bitfield{CL_QUEUE_PROFILING_ENABLE};
    if (about_profiling) queueProfiling().set(queue, enable ? 0 : QueueProfiling::kOurs);
  }
  return result;
}

cl_int CL_API_CALL TS_WRAP(clGetEventInfo)(cl_event event, cl_event_info what, size_t size,
                                           void* value, size_t* size_ret) {
  const bool corrected = what == CL_EVENT_REFERENCE_COUNT && value != nullptr &&
                         size >= sizeof(cl_uint) && stillHeld(event);
  const cl_int result = next().clGetEventInfo(event, what, size, value, size_ret);
  if (result == CL_SUCCESS && corrected) --*static_cast<cl_uint*>(value);
  return result;
}

cl_int CL_API_CALL TS_WRAP(clGetEventProfilingInfo)(cl_event event, cl_profiling_info what,
                                                    size_t size, void* value, size_t* size_ret) {
  if (event != nullptr && eventHasOurProfiling(event)) return CL_PROFILING_INFO_NOT_AVAILABLE;
  return next().clGetEventProfilingInfo(event, what, size, value, size_ret);
}

}  // extern "C"
