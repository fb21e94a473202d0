// SPDX-License-Identifier: Apache-2.0
// Reads and writes the content of memory objects.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tracesmith/replay/opencl/opencl_executor.hpp"

namespace tracesmith {

using namespace recording;

Buffer<uint8_t> OpenClExecutor::packed(const Shown& shown) {
  const auto bytes = boxBytes(shown.box, shown.row_bytes);
  Buffer<uint8_t> out = buffers_.take(bytes.value_or(0));
  if (out.empty()) return out;
  shown.rows().forEach([&](uint64_t packed, uint64_t mapped, uint64_t length) {
    std::memcpy(out.data() + packed, static_cast<const uint8_t*>(shown.mapped) + mapped, length);
  });
  return out;
}

void OpenClExecutor::findUnrecordedReads() {
  is_unrecorded_.resize(plan_.steps().size());
  for (size_t i = 0; i < is_unrecorded_.size(); ++i) {
    const ReplayStep& step = plan_.step(static_cast<StepIndex>(i));
    if (step.kind() == CommandKind::kRead) is_unrecorded_[i] = true;
    Done done;
    if (step.kind() != CommandKind::kDone || step.of == kNoStep || !decode(step.fields, done))
      continue;
    if (done.content.known()) is_unrecorded_[step.of] = false;
  }
}

uint8_t* OpenClExecutor::discardBuffer(uint64_t bytes) {
  if (dropped_.empty() || dropped_.back().size() < bytes) dropped_.push_back(buffers_.take(bytes));
  return dropped_.back().data();
}

cl_int OpenClExecutor::await(Shown& shown) {
  if (shown.event == nullptr) return CL_SUCCESS;
  const cl_int result = cl_.clWaitForEvents(1, &shown.event);
  cl_.clReleaseEvent(shown.event);
  shown.event = nullptr;
  return result;
}

Result<ByteView> OpenClExecutor::shown(StepIndex step) {
  const auto it = shown_.find(step);
  if (it == shown_.end()) {
    return fail(ErrorCode::kNotFound, "showed nothing: it was not executed");
  }
  Shown& shown = it->second;
  if (shown.is_dropped) {
    shown_.erase(it);
    return ByteView();
  }
  if (shown.is_old)
    return fail(ErrorCode::kNotFound, "showed nothing: it was mapped to be overwritten");
  if (const cl_int result = await(shown); result != CL_SUCCESS) {
    return fail(ErrorCode::kIo, openClError(result));
  }
  buffers_.give(std::exchange(last_shown_, {}));
  if (shown.mapped != nullptr) {
    // Keep the map for its unmap. If its rows are packed, return a view of it.
    const BoxRows rows = shown.rows();
    const bool is_close = (rows.rows == 1 || rows.row_pitch == rows.row_bytes) &&
                          (rows.slices == 1 || rows.slice_pitch == rows.row_bytes * rows.rows);
    const uint64_t bytes = boxBytes(shown.box, shown.row_bytes).value_or(0);
    if (is_close) return ByteView(static_cast<const uint8_t*>(shown.mapped), bytes);
    last_shown_ = packed(shown);
  } else {
    last_shown_ = std::move(shown.bytes);
    shown_.erase(it);
  }
  return ByteView(last_shown_);
}

Result<cl_command_queue> OpenClExecutor::helperQueue(ObjectIndex memory) {
  const ReplayStep* made = &plan_.step(plan_.object(memory).made_by);
  // A sub-buffer has the context of its buffer.
  while (made->kind() == CommandKind::kCreateSubBuffer && made->other != 0) {
    made = &plan_.step(plan_.object(made->other).made_by);
  }
  return helperQueueOf(made->other);
}

Result<cl_command_queue> OpenClExecutor::helperQueueOf(ObjectIndex context) {
  cl_command_queue& queue = helper_queues_[context];
  if (queue != nullptr) return queue;
  if (context == 0 || objects_[context] == nullptr) {
    return fail(ErrorCode::kNotFound, "does not exist", plan_.objectName(context));
  }
  const std::vector<cl_device_id> devices = devicesOf(plan_.step(plan_.object(context).made_by));
  cl_int result = CL_INVALID_DEVICE;
  if (!devices.empty()) {
    queue = cl_.clCreateCommandQueue(live<cl_context>(context), devices[0], 0, &result);
  }
  if (queue == nullptr) return fail(ErrorCode::kIo, openClError(result), plan_.objectName(context));
  return queue;
}

namespace {
/// The extent of a whole image.
std::array<size_t, 3> extentOf(const CreateImage& image) {
  const auto atLeastOne = [](uint64_t v) { return static_cast<size_t>(std::max<uint64_t>(1, v)); };
  std::array<size_t, 3> extent = {atLeastOne(image.width), atLeastOne(image.height),
                                  atLeastOne(image.depth)};
  if (image.type == CL_MEM_OBJECT_IMAGE1D_ARRAY) extent[1] = atLeastOne(image.array_size);
  if (image.type == CL_MEM_OBJECT_IMAGE2D_ARRAY) extent[2] = atLeastOne(image.array_size);
  return extent;
}
}  // namespace

Result<Bytes> OpenClExecutor::contents(ObjectIndex memory) {
  const PlannedObject& object = plan_.object(memory);
  if (objects_[memory] == nullptr) {
    return fail(ErrorCode::kNotFound, "does not exist", plan_.objectName(memory));
  }
  (void)finish();
  TS_TRY(cl_command_queue queue, helperQueue(memory));
  Bytes out(object.bytes);
  cl_int result = CL_SUCCESS;
  if (out.empty()) return out;
  if (object.is_svm) {
    result = cl_.clEnqueueSVMMemcpy(queue, CL_TRUE, out.data(), objects_[memory], out.size(), 0,
                                    nullptr, nullptr);
  } else if (object.is_image) {
    CreateImage made;
    (void)decode(plan_.step(object.made_by).fields, made);
    const auto extent = extentOf(made);
    result = cl_.clEnqueueReadImage(queue, live<cl_mem>(memory), CL_TRUE, kNowhere.data(),
                                    extent.data(), 0, 0, out.data(), 0, nullptr, nullptr);
  } else {
    result = cl_.clEnqueueReadBuffer(queue, live<cl_mem>(memory), CL_TRUE, 0, out.size(),
                                     out.data(), 0, nullptr, nullptr);
  }
  if (result != CL_SUCCESS) {
    return fail(ErrorCode::kIo, "cannot be read: " + openClError(result), plan_.objectName(memory));
  }
  return out;
}

Status OpenClExecutor::setContents(ObjectIndex memory, ByteView bytes) {
  (void)finish();
  return fill(memory, bytes);
}

Status OpenClExecutor::fill(ObjectIndex memory, ByteView bytes) {
  const PlannedObject& object = plan_.object(memory);
  if (objects_[memory] == nullptr) {
    return fail(ErrorCode::kNotFound, "does not exist", plan_.objectName(memory));
  }
  if (bytes.size() != object.bytes) {
    return fail(ErrorCode::kDamaged,
                fmt::format("has {} bytes, its content {}", object.bytes, bytes.size()),
                plan_.objectName(memory));
  }
  if (bytes.empty()) return {};
  TS_TRY(cl_command_queue queue, helperQueue(memory));
  cl_int result = CL_SUCCESS;
  if (object.is_svm) {
    result = cl_.clEnqueueSVMMemcpy(queue, CL_TRUE, objects_[memory], bytes.data(), bytes.size(), 0,
                                    nullptr, nullptr);
  } else if (object.is_image) {
    CreateImage made;
    (void)decode(plan_.step(object.made_by).fields, made);
    const auto extent = extentOf(made);
    result = cl_.clEnqueueWriteImage(queue, live<cl_mem>(memory), CL_TRUE, kNowhere.data(),
                                     extent.data(), 0, 0, bytes.data(), 0, nullptr, nullptr);
  } else {
    result = cl_.clEnqueueWriteBuffer(queue, live<cl_mem>(memory), CL_TRUE, 0, bytes.size(),
                                      bytes.data(), 0, nullptr, nullptr);
  }
  if (result != CL_SUCCESS) {
    return fail(ErrorCode::kIo, "cannot be written: " + openClError(result),
                plan_.objectName(memory));
  }
  return {};
}

}  // namespace tracesmith
