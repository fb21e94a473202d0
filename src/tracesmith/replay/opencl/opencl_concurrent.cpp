// SPDX-License-Identifier: Apache-2.0
// Executes commands as concurrently as their dependencies allow. Queues keep their rules: an
// in-order queue runs its commands one after the other; in other queues the driver may choose. Only
// the host does not wait: what it waited for becomes an event, and all commands issued after that
// wait for the event on the device.
#include "tracesmith/replay/opencl/opencl_executor.hpp"

namespace tracesmith {

using namespace recording;

namespace {
/// Most commands submitted ahead of the device: enough for any overlap, and a limit on what the
/// driver has to keep.
constexpr size_t kMostInFlight = 1024;
}  // namespace

bool OpenClExecutor::defersWait() const {
  // A failed call has to fail again, and a command cannot wait for one of another context.
  return mode_ == StepMode::kConcurrent && step_->header.result == CL_SUCCESS && contexts_ == 1;
}

bool OpenClExecutor::isBlocking() const {
  return mode_ == StepMode::kAlone ||
         ((step_->header.flags & command_flags::kBlocking) != 0 && !defersWait());
}

/// Takes over the references to `events`.
void OpenClExecutor::hostWaitsFor(std::vector<cl_event> events) {
  if (host_wait_ != nullptr) events.push_back(host_wait_);
  host_wait_ = nullptr;
  if (events.size() > 1) {
    // Use a helper queue: in a queue of the program, the marker would wait for more.
    cl_event all = nullptr;
    const auto queue = helperQueueOf(context_);
    const cl_int result =
        !queue ? CL_INVALID_COMMAND_QUEUE
               : cl_.clEnqueueMarkerWithWaitList(*queue, static_cast<cl_uint>(events.size()),
                                                 events.data(), &all);
    if (result == CL_SUCCESS) {
      cl_.clFlush(*queue);
    } else {
      cl_.clWaitForEvents(static_cast<cl_uint>(events.size()), events.data());
    }
    for (cl_event event : events) cl_.clReleaseEvent(event);
    host_wait_ = all;
  } else if (!events.empty()) {
    host_wait_ = events.front();
  }
}

/// Takes over the reference to `event`, of the command just submitted.
void OpenClExecutor::follow(cl_event event) {
  in_flight_.push_back(event);
  if ((step_->header.flags & command_flags::kBlocking) != 0 && defersWait()) {
    cl_.clRetainEvent(event);
    hostWaitsFor({event});
  }
  // With user events, the oldest may wait for this thread.
  if (in_flight_.size() > kMostInFlight && !host_events_) (void)waitForOldest();
}

bool OpenClExecutor::waitForOldest() {
  if (in_flight_.empty()) return false;
  const cl_int result = cl_.clWaitForEvents(1, &in_flight_.front());
  if (failed_in_flight_ == CL_SUCCESS) failed_in_flight_ = result;
  cl_.clReleaseEvent(in_flight_.front());
  in_flight_.pop_front();
  return true;
}

}  // namespace tracesmith
