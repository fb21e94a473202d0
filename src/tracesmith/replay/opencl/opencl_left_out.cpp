// SPDX-License-Identifier: Apache-2.0
// Steps that are not executed: skipped commands of a partial replay, and commands that cannot be
// issued because an object is missing.
#include <fmt/format.h>

#include <algorithm>

#include "tracesmith/replay/opencl/opencl_executor.hpp"
#include "tracesmith/replay/plan/step_order.hpp"

namespace tracesmith {

using namespace recording;

bool OpenClExecutor::exists(ObjectIndex object, const std::string& what) {
  if (object == 0 || objects_[object] != nullptr) return true;
  const auto why = absent_.find(object);
  problem(fmt::format("{}{} does not exist: {}", what, plan_.objectName(object),
                      why != absent_.end() ? why->second : "the program had released it"));
  return false;
}

bool OpenClExecutor::argumentsExist() {
  const std::span<const uint32_t> wanted = plan_.listOf(*step_);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == kNoStep) continue;
    const ReplayStep& set = plan_.step(wanted[i]);
    const std::string what = fmt::format("argument {} of {}, ", i, plan_.kernelName(*step_));
    if (!exists(set.other, what)) return false;
    SetArgument c;
    const bool svm = set.other == 0 && decode(set.fields, c) && c.form == ArgumentForm::kSvm;
    if (svm && std::any_of(c.value.begin(), c.value.end(), [](uint8_t b) { return b != 0; })) {
      problem(what + "an address, is in no shared memory of the recording");
      return false;
    }
  }
  return true;
}

void OpenClExecutor::skipCommand(StepIndex index) {
  index_ = index;
  step_ = &plan_.step(index);
  mode_ = StepMode::kAsRecorded;
  const bool blocking = (step_->header.flags & command_flags::kBlocking) != 0;
  if (step_->header.result != CL_SUCCESS || queue() == nullptr ||
      (step_->event == 0 && !blocking)) {
    return;
  }
  cl_event event = nullptr;
  if (markerFor(waits(), &event) != CL_SUCCESS) return;
  if (blocking) cl_.clWaitForEvents(1, &event);
  if (step_->event != 0) {
    keep(step_->event, event);
  } else {
    cl_.clReleaseEvent(event);
  }
}

cl_int OpenClExecutor::markerFor(std::vector<cl_event> list, cl_event* event) {
  // In an out-of-order queue, a marker without a list would wait for all commands in it.
  cl_event nothing = nullptr;
  cl_int result = CL_SUCCESS;
  if (list.empty() && isOutOfOrder(plan_, step_->queue)) {
    const ReplayStep& made = plan_.step(plan_.object(step_->queue).made_by);
    nothing = cl_.clCreateUserEvent(live<cl_context>(made.other), &result);
    if (nothing == nullptr) return result;
    cl_.clSetUserEventStatus(nothing, CL_COMPLETE);
    list.push_back(nothing);
  }
  result = cl_.clEnqueueMarkerWithWaitList(queue(), static_cast<cl_uint>(list.size()),
                                           list.empty() ? nullptr : list.data(), event);
  if (nothing != nullptr) cl_.clReleaseEvent(nothing);
  return result;
}

}  // namespace tracesmith
