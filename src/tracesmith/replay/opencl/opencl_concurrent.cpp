// SPDX-License-Identifier: Apache-2.0
// Commands as concurrent as their dependencies allow. Queues stay what they are: in an in-order
// queue each command has to come after the one before, in any other the driver may do what it
// likes. Only the host no longer waits: what it waited for is an event, and every command that it
// called after that waits for that event on the device.
#include "tracesmith/replay/opencl/opencl_executor.hpp"

namespace tracesmith {

using namespace recording;

namespace {
/// So many commands are given to the device ahead of it: enough for any overlap, and a bound of
/// what the driver has to keep.
constexpr size_t kMostInFlight = 1024;
}  // namespace

bool OpenClExecutor::putsOffItsWait() const {
  // A call that failed has to fail again. And no command can wait for one of another context.
  return mode_ == StepMode::kConcurrent && step_->header.result == CL_SUCCESS && contexts_ == 1;
}

bool OpenClExecutor::isBlocking() const {
  return mode_ == StepMode::kAlone ||
         ((step_->header.flags & command_flags::kBlocking) != 0 && !putsOffItsWait());
}

/// Takes the references to `events`.
void OpenClExecutor::hostWaitsFor(std::vector<cl_event> events) {
  if (host_wait_ != nullptr) events.push_back(host_wait_);
  host_wait_ = nullptr;
  if (events.size() > 1) {
    // In a queue of the host's own: in one of the program's it would wait for more.
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

/// Takes the reference to `event`, of the command that was just given to the device.
void OpenClExecutor::follow(cl_event event) {
  in_flight_.push_back(event);
  if ((step_->header.flags & command_flags::kBlocking) != 0 && putsOffItsWait()) {
    cl_.clRetainEvent(event);
    hostWaitsFor({event});
  }
  // The oldest may wait for an event of the host's, and so for us.
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
