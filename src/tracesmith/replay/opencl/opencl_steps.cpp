// SPDX-License-Identifier: Apache-2.0
// One step of a plan: its data, its uploads and waits, and the calls that enqueue nothing.
#include <fmt/format.h>

#include <algorithm>

#include "tracesmith/replay/opencl/opencl_executor.hpp"

namespace tracesmith {

using namespace recording;

void OpenClExecutor::problem(std::string text) {
  if (!problem_.empty()) problem_ += "; ";
  problem_ += std::move(text);
}

/// If the content was known only when the command completed, its Done has it.
Payload OpenClExecutor::knownOf(const Payload& payload, Done& done) const {
  const bool later = !payload.known() && step_->done != kNoStep &&
                     decode(plan_.step(step_->done).fields, done) && done.kept != 0;
  return later ? done.content : payload;
}

Result<Bytes> OpenClExecutor::content(const Payload& payload, uint64_t bytes) {
  Done done;
  const Payload known = knownOf(payload, done);
  if (!known.known()) {
    problem("the data that it gives the device is unknown");
    return fail(ErrorCode::kNotFound, "content is unknown", reader_.path());
  }
  auto found = reader_.content(known);
  if (!found) {
    problem(found.error().toString());
  } else if (found->size() < bytes) {
    found = fail(ErrorCode::kDamaged, "content is shorter than its destination", reader_.path());
    problem(found.error().toString());
  }
  return found;
}

Result<ByteView> OpenClExecutor::upload(const Payload& payload, uint64_t bytes) {
  Done done;
  const std::span<const ContentHash> chunks = knownOf(payload, done).chunks;
  const bool again = !uploads_.empty() && !chunks.empty() &&
                     uploads_.back().bytes.size() >= bytes &&
                     std::equal(chunks.begin(), chunks.end(), uploads_.back().chunks.begin(),
                                uploads_.back().chunks.end());
  if (again) return ByteView(uploads_.back().bytes);
  TS_TRY(Bytes found, content(payload, bytes));
  if (!uploads_.empty()) old_upload_bytes_ += uploads_.back().bytes.size();
  uploads_.push_back({{chunks.begin(), chunks.end()}, std::move(found), {}});
  dropUploads(old_upload_bytes_ > kMostUploadBytes ? kMostUploadBytes / 2 : kMostUploadBytes);
  return ByteView(uploads_.back().bytes);
}

void OpenClExecutor::readsUpload(cl_event event) {
  constexpr size_t kMany = 256;
  uploads_.back().readers.push_back(event);
  if (uploads_.back().readers.size() % kMany != 0) return;
  next_upload_check_ = 0;
  dropUploads(kMostUploadBytes);
}

StepOutcome OpenClExecutor::perform(StepIndex index, StepMode mode) {
  index_ = index;
  step_ = &plan_.step(index);
  mode_ = mode;
  problem_.clear();
  called_ = false;
  StepOutcome outcome;
  try {
    const bool known = withCommand(step_->kind(), step_->fields,
                                   [&](const auto& command) { outcome.result = call(command); });
    if (!known) problem("the command is damaged or unknown");
  } catch (const std::exception&) {  // bad_alloc, length_error
    problem("there is not enough memory for the command");
  }
  const ObjectIndex made = step_->object;
  if (made != 0 && plan_.object(made).made_by == index && objects_[made] == nullptr) {
    absent_[made] =
        !problem_.empty() ? problem_ : "could not be created: " + openClError(outcome.result);
  }
  if (mode == StepMode::kAlone && step_->queue != 0 && objects_[step_->queue] != nullptr) {
    const cl_int result = cl_.clFinish(queue());
    if (outcome.result == CL_SUCCESS) outcome.result = result;
  }
  // Flush, because a command of another queue may wait for this one, and no later host call flushes
  // it.
  if (mode == StepMode::kConcurrent && called_ && step_->queue != 0 &&
      objects_[step_->queue] != nullptr) {
    cl_.clFlush(queue());
  }
  outcome.executed = called_;
  outcome.problem = std::move(problem_);
  return outcome;
}

StepOutcome OpenClExecutor::finish() {
  StepOutcome outcome;
  for (const ObjectIndex queue : queues_) {
    const cl_int result = cl_.clFinish(live<cl_command_queue>(queue));
    if (result != CL_SUCCESS) {
      outcome.result = result;
      outcome.problem = "a queue cannot be finished: " + openClError(result);
    }
  }
  if (failed_in_flight_ != CL_SUCCESS && outcome.result == CL_SUCCESS) {
    outcome.result = failed_in_flight_;
    outcome.problem = "a command failed on the device: " + openClError(failed_in_flight_);
  }
  outcome.executed = true;
  dropUploads(0);
  return outcome;
}

/// Frees uploads that no command reads any more. Then waits for readers of the oldest until at most
/// `most_bytes` remain besides the last upload.
void OpenClExecutor::dropUploads(size_t most_bytes) {
  // Each check queries all uploads, so the next one waits until there are twice as many.
  if (most_bytes > 0 && old_upload_bytes_ <= most_bytes && uploads_.size() < next_upload_check_)
    return;
  for (auto it = uploads_.begin(); it != uploads_.end();) {
    std::deque<cl_event>& readers = it->readers;
    const bool is_last = std::next(it) == uploads_.end();
    while (!readers.empty()) {
      cl_int status = CL_QUEUED;
      cl_.clGetEventInfo(readers.front(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                         nullptr);
      // A reader that waits for a user event would wait for this thread.
      const bool may_wait = !is_last && old_upload_bytes_ > most_bytes && !host_events_;
      if (status > CL_COMPLETE && !may_wait) break;
      if (status > CL_COMPLETE) cl_.clWaitForEvents(1, &readers.front());
      cl_.clReleaseEvent(readers.front());
      readers.pop_front();
    }
    if (is_last) break;
    if (!readers.empty()) {
      ++it;
      continue;
    }
    old_upload_bytes_ -= it->bytes.size();
    it = uploads_.erase(it);
  }
  next_upload_check_ = std::max<size_t>(64, uploads_.size() * 2);
}

std::vector<cl_event> OpenClExecutor::waits() const {
  std::vector<cl_event> events;
  if (mode_ == StepMode::kAlone) return events;
  for (const ObjectIndex event : plan_.waitsOf(*step_)) {
    if (objects_[event] != nullptr) events.push_back(live<cl_event>(event));
  }
  // A marker without a wait list waits for everything before it in its queue; adding a list would
  // change that.
  const bool is_about_all = step_->kind() == CommandKind::kMarker && step_->waits == 0;
  if (host_wait_ != nullptr && step_->queue != 0 && !is_about_all) events.push_back(host_wait_);
  return events;
}

cl_int OpenClExecutor::call(const Finish&) {
  called_ = true;
  if (defersWait()) {
    cl_event all = nullptr;
    const cl_int result = cl_.clEnqueueMarkerWithWaitList(queue(), 0, nullptr, &all);
    if (result == CL_SUCCESS) hostWaitsFor({all});
    return result;
  }
  return cl_.clFinish(queue());
}

cl_int OpenClExecutor::call(const Flush&) {
  called_ = true;
  return cl_.clFlush(queue());
}

cl_int OpenClExecutor::call(const WaitForEvents& c) {
  const std::vector<cl_event> events = waits();
  called_ = true;
  if (events.empty()) return step_->header.result;  // all of them had ended before
  if (c.queue != 0) {
    return cl_.clEnqueueBarrierWithWaitList(queue(), static_cast<cl_uint>(events.size()),
                                            events.data(), nullptr);
  }
  if (defersWait()) {
    for (cl_event event : events) cl_.clRetainEvent(event);
    hostWaitsFor(events);
    return CL_SUCCESS;
  }
  return cl_.clWaitForEvents(static_cast<cl_uint>(events.size()), events.data());
}

cl_int OpenClExecutor::call(const Snapshot& c) {
  // A snapshot of a launch's results is for comparison and is not restored.
  if (c.after != 0 || step_->object == 0) return CL_SUCCESS;
  auto found = content(c.content, 0);
  if (!found) return CL_SUCCESS;
  const PlannedObject& object = plan_.object(step_->object);
  if (const auto map = svm_maps_.find(step_->object); map != svm_maps_.end()) {
    // The memory belongs to the host until it is unmapped: no queue may be waited for or used.
    Shown& shown = shown_[map->second];
    const uint64_t offset = c.memory - object.handle;
    if (offset > object.bytes || found->size() > object.bytes - offset) {
      problem("shows a part of shared memory that does not exist");
      return CL_SUCCESS;
    }
    await(shown);
    called_ = true;
    std::copy(found->begin(), found->end(),
              static_cast<uint8_t*>(objects_[step_->object]) + offset);
    return CL_SUCCESS;
  }
  if (object.is_svm && found->size() < object.bytes) {
    // The snapshot covers a part of the memory, from an address within.
    auto whole = contents(step_->object);
    const uint64_t offset = c.memory - object.handle;
    if (!whole || offset > whole->size() - found->size()) {
      problem("shows a part of shared memory that does not exist");
      return CL_SUCCESS;
    }
    std::copy(found->begin(), found->end(), whole->begin() + static_cast<ptrdiff_t>(offset));
    found = std::move(whole);
  }
  const Status set = setContents(step_->object, *found);
  called_ = true;
  if (!set) problem(set.error().toString());
  return CL_SUCCESS;
}

cl_int OpenClExecutor::call(const Unsupported& c) {
  if (step_->header.result != CL_SUCCESS) return step_->header.result;  // it had no effect
  problem(std::string(c.function.begin(), c.function.end()) + " cannot be replayed");
  return CL_SUCCESS;
}

}  // namespace tracesmith
