// SPDX-License-Identifier: Apache-2.0
// Creates and releases objects: contexts, queues, memory, samplers, events.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <iterator>

#include "tracesmith/replay/opencl/opencl_executor.hpp"
#include "tracesmith/replay/plan/random.hpp"

namespace tracesmith {

using namespace recording;

namespace {
/// Flags that would prevent a replay from reading a buffer or defining its content.
constexpr cl_mem_flags kHostAccess =
    CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
}  // namespace

OpenClExecutor::~OpenClExecutor() {
  (void)finish();
  for (cl_event event : in_flight_) cl_.clReleaseEvent(event);
  if (host_wait_ != nullptr) cl_.clReleaseEvent(host_wait_);
  for (auto& [step, shown] : shown_) {
    if (shown.event != nullptr) cl_.clReleaseEvent(shown.event);
  }
  for (const auto& [context, queue] : helper_queues_) cl_.clReleaseCommandQueue(queue);
  releaseCutKernels();
  // From the last to the first, so that objects are destroyed before those they were made from.
  for (size_t i = objects_.size(); i-- > 1;) destroy(static_cast<ObjectIndex>(i));
}

void OpenClExecutor::keep(ObjectIndex object, void* handle) {
  if (object == 0) return;  // the recorded call had failed
  objects_[object] = handle;
  references_[object] = 1;
  if (handle != nullptr && plan_.object(object).object_class == ObjectClass::kQueue) {
    queues_.insert(object);
  }
}

void OpenClExecutor::destroy(ObjectIndex object) {
  void* const handle = objects_[object];
  if (handle == nullptr) return;
  objects_[object] = nullptr;
  switch (plan_.object(object).object_class) {
    case ObjectClass::kContext:
      cl_.clReleaseContext(static_cast<cl_context>(handle));
      break;
    case ObjectClass::kQueue:
      queues_.erase(object);
      cl_.clReleaseCommandQueue(static_cast<cl_command_queue>(handle));
      break;
    case ObjectClass::kMemory:
      // Mappings are lost with their memory.
      std::erase_if(shown_, [&](const auto& shown) {
        return shown.second.mapped != nullptr && plan_.step(shown.first).object == object;
      });
      svm_maps_.erase(object);
      if (plan_.object(object).is_svm) {
        const ReplayStep& made = plan_.step(plan_.object(object).made_by);
        cl_.clSVMFree(live<cl_context>(made.other), handle);
      } else {
        cl_.clReleaseMemObject(static_cast<cl_mem>(handle));
      }
      break;
    case ObjectClass::kSampler:
      cl_.clReleaseSampler(static_cast<cl_sampler>(handle));
      break;
    case ObjectClass::kProgram:
      cl_.clReleaseProgram(static_cast<cl_program>(handle));
      break;
    case ObjectClass::kKernel:
      cl_.clReleaseKernel(static_cast<cl_kernel>(handle));
      break;
    case ObjectClass::kEvent:
      cl_.clReleaseEvent(static_cast<cl_event>(handle));
      break;
    case ObjectClass::kDevice:
      break;
  }
}

void OpenClExecutor::giveUp(ObjectIndex object) {
  if (object == 0 || references_[object] == 0 || --references_[object] != 0) return;
  const ObjectClass is = plan_.object(object).object_class;
  // Keep contexts: buffers refer to theirs, and helper queues are created in them.
  if (keep_objects_ || is == ObjectClass::kContext || is == ObjectClass::kDevice) return;
  if (is == ObjectClass::kQueue) {
    if (mode_ == StepMode::kConcurrent) return;  // finish() waits for its commands
    cl_.clFinish(live<cl_command_queue>(object));
  }
  destroy(object);
}

std::vector<cl_device_id> OpenClExecutor::devicesOf(const ReplayStep& step) const {
  std::vector<cl_device_id> devices;
  for (const uint32_t object : plan_.listOf(step)) {
    auto* const device = live<cl_device_id>(object);
    if (device != nullptr && std::find(devices.begin(), devices.end(), device) == devices.end()) {
      devices.push_back(device);
    }
  }
  return devices;
}

cl_int OpenClExecutor::call(const CreateContext&) {
  // The properties that made it fail belong to another platform, so the failure is not repeated.
  if (step_->header.result != CL_SUCCESS) return step_->header.result;
  ++contexts_;
  context_ = step_->object;
  const std::vector<cl_device_id> devices = devicesOf(*step_);
  cl_int result = CL_SUCCESS;
  called_ = true;
  cl_context context =
      cl_.clCreateContext(nullptr, static_cast<cl_uint>(devices.size()),
                          devices.empty() ? nullptr : devices.data(), nullptr, nullptr, &result);
  keep(step_->object, context);
  return result;
}

cl_int OpenClExecutor::call(const CreateQueue& c) {
  const std::vector<cl_device_id> devices = devicesOf(*step_);
  auto* const device = devices.empty() ? nullptr : devices.front();
  cl_int result = CL_SUCCESS;
  called_ = true;
  cl_command_queue queue =
      cl_.clCreateCommandQueue(live<cl_context>(step_->other), device, c.properties, &result);
  if (queue == nullptr && step_->header.result == CL_SUCCESS && c.properties != 0) {
    problem(fmt::format("the device refuses the queue's properties ({}); it runs in order instead",
                        openClError(result)));
    queue = cl_.clCreateCommandQueue(live<cl_context>(step_->other), device, 0, &result);
  }
  keep(step_->object, queue);
  return result;
}

Bytes OpenClExecutor::undefinedContent(uint64_t bytes, ObjectIndex object) const {
  Bytes out(bytes);
  if (!options_.noise) return out;
  Random random(object);
  for (size_t at = 0; at < out.size(); at += sizeof(uint64_t)) {
    const uint64_t word = random.next();
    std::memcpy(out.data() + at, &word, std::min(sizeof word, out.size() - at));
  }
  return out;
}

void OpenClExecutor::keepHostMemory(cl_mem memory, Bytes bytes) {
  if (memory == nullptr) return;
  // Commands and sub-buffers may use the object after its release: only the driver knows when it is
  // destroyed.
  auto kept = std::make_unique<Bytes>(std::move(bytes));
  const auto drop = [](cl_mem, void* b) { delete static_cast<Bytes*>(b); };
  if (cl_.clSetMemObjectDestructorCallback != nullptr) {
    cl_.clSetMemObjectDestructorCallback(memory, drop, kept.get());
  }
  (void)kept.release();
}

namespace {

/// Memory for a call that should fail, in case the driver accepts it and reads the memory.
class Placeholder {
 public:
  explicit Placeholder(uint64_t bytes) : bytes_(std::clamp<uint64_t>(bytes, 4096, kMost)) {
    void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED) p_ = p;
  }
  ~Placeholder() {
    if (p_ != nullptr) munmap(p_, bytes_);
  }
  Placeholder(const Placeholder&) = delete;
  Placeholder& operator=(const Placeholder&) = delete;
  void* get() const { return p_; }

 private:
  static constexpr uint64_t kMost = uint64_t{1} << 40;
  void* p_ = nullptr;
  uint64_t bytes_;
};

}  // namespace

cl_int OpenClExecutor::released(cl_mem memory, cl_int result) {
  if (memory != nullptr) cl_.clReleaseMemObject(memory);
  return result;
}

cl_int OpenClExecutor::call(const CreateBuffer& c) {
  if (step_->header.result != CL_SUCCESS) {
    const Placeholder host(c.bytes);
    cl_int result = CL_SUCCESS;
    called_ = true;
    cl_mem buffer = cl_.clCreateBuffer(live<cl_context>(step_->other), c.flags, c.bytes,
                                       c.host == 0 ? nullptr : host.get(), &result);
    return released(buffer, result);
  }
  if (const ObjectIndex shared = step_->object == 0 ? 0 : plan_.object(step_->object).parent) {
    if (!exists(shared)) return CL_SUCCESS;
    cl_int result = CL_SUCCESS;
    called_ = true;
    keep(step_->object, cl_.clCreateBuffer(live<cl_context>(step_->other), c.flags & ~kHostAccess,
                                           c.bytes, svmAddress(c.host, shared), &result));
    return result;
  }
  cl_mem_flags flags = c.flags & ~kHostAccess;
  Bytes bytes;
  const bool is_undefined = c.content.bytes == 0 && c.bytes != 0;
  const ZeroPages zeros(is_undefined && !options_.noise ? c.bytes : 0);
  if (c.content.bytes != 0) {
    auto found = content(c.content, c.bytes);
    if (!found) return CL_SUCCESS;
    bytes = std::move(*found);
  } else if (is_undefined) {
    if (zeros.view().empty()) bytes = undefinedContent(c.bytes, step_->object);
    flags |= CL_MEM_COPY_HOST_PTR;
  }
  cl_int result = CL_SUCCESS;
  // The API takes a non-const pointer, but drivers do not write to memory that they copy from.
  void* host = bytes.empty() ? const_cast<uint8_t*>(zeros.view().data()) : bytes.data();
  called_ = true;
  cl_mem buffer = cl_.clCreateBuffer(live<cl_context>(step_->other), flags, c.bytes, host, &result);
  keep(step_->object, buffer);
  if ((flags & CL_MEM_USE_HOST_PTR) != 0) keepHostMemory(buffer, std::move(bytes));
  return result;
}

cl_int OpenClExecutor::call(const CreateSubBuffer& c) {
  const bool failed = step_->header.result != CL_SUCCESS;
  if (!failed && !exists(step_->other)) return CL_SUCCESS;
  const cl_buffer_region region = {c.offset, c.bytes};
  const auto type = c.other_type == 0 ? cl_buffer_create_type{CL_BUFFER_CREATE_TYPE_REGION}
                                      : static_cast<cl_buffer_create_type>(c.other_type);
  cl_int result = CL_SUCCESS;
  called_ = true;
  cl_mem buffer =
      cl_.clCreateSubBuffer(live<cl_mem>(step_->other), failed ? c.flags : c.flags & ~kHostAccess,
                            type, c.without_region != 0 ? nullptr : &region, &result);
  if (failed) return released(buffer, result);
  keep(step_->object, buffer);
  return result;
}

cl_int OpenClExecutor::call(const CreateImage& c) {
  const cl_image_format format = {static_cast<cl_channel_order>(c.channel_order),
                                  static_cast<cl_channel_type>(c.channel_type)};
  cl_image_desc description{};
  description.image_type = static_cast<cl_mem_object_type>(c.type);
  description.image_width = c.width;
  description.image_height = c.height;
  description.image_depth = c.depth;
  description.image_array_size = c.array_size;
  description.num_mip_levels = static_cast<cl_uint>(c.mip_levels);
  description.num_samples = static_cast<cl_uint>(c.samples);
  if (step_->header.result != CL_SUCCESS) return failImage(c, format, description);
  const ObjectIndex under = step_->object == 0 ? 0 : plan_.object(step_->object).parent;
  if (!exists(under)) return CL_SUCCESS;
  if (under != 0) {
    description.image_row_pitch = c.row_pitch;
    if (c.buffer != 0) description.mem_object = live<cl_mem>(under);
    if (c.buffer == 0) description.image_slice_pitch = c.slice_pitch;
  }
  cl_mem_flags flags = c.flags & ~kHostAccess;
  Bytes bytes;
  if (c.content.bytes != 0) {
    auto found = content(c.content, c.content.bytes);
    if (!found) return CL_SUCCESS;
    bytes = std::move(*found);
  } else if (under == 0 && step_->object != 0 && plan_.object(step_->object).bytes != 0) {
    bytes = undefinedContent(plan_.object(step_->object).bytes, step_->object);
    flags |= CL_MEM_COPY_HOST_PTR;
  }
  cl_int result = CL_SUCCESS;
  called_ = true;
  const bool over_shared = under != 0 && c.buffer == 0;
  void* const host = over_shared     ? svmAddress(c.host, under)
                     : bytes.empty() ? nullptr
                                     : static_cast<void*>(bytes.data());
  cl_mem image = cl_.clCreateImage(live<cl_context>(step_->other), flags, &format, &description,
                                   host, &result);
  keep(step_->object, image);
  if ((flags & CL_MEM_USE_HOST_PTR) != 0 && !over_shared) keepHostMemory(image, std::move(bytes));
  return result;
}

/// Repeats an image creation that failed when it was recorded, with the program's arguments.
cl_int OpenClExecutor::failImage(const CreateImage& c, const cl_image_format& format,
                                 cl_image_desc description) {
  description.image_row_pitch = c.row_pitch;
  description.image_slice_pitch = c.slice_pitch;
  if (c.buffer != 0) description.mem_object = live<cl_mem>(plan_.listOf(*step_)[0]);
  uint64_t bytes = 16;  // most bytes of a pixel
  for (const uint64_t extent : {c.width, c.height, c.depth, c.array_size}) {
    if (__builtin_mul_overflow(bytes, std::max<uint64_t>(1, extent), &bytes)) bytes = UINT64_MAX;
  }
  const Placeholder host(std::max({bytes, c.row_pitch, c.slice_pitch}));
  cl_int result = CL_SUCCESS;
  called_ = true;
  cl_mem image =
      cl_.clCreateImage(live<cl_context>(step_->other), c.flags,
                        (c.without & CreateImage::kFormat) != 0 ? nullptr : &format,
                        (c.without & CreateImage::kDescription) != 0 ? nullptr : &description,
                        c.host == 0 ? nullptr : host.get(), &result);
  return released(image, result);
}

cl_int OpenClExecutor::call(const CreateSampler& c) {
  cl_int result = CL_SUCCESS;
  called_ = true;
  cl_sampler sampler =
      cl_.clCreateSampler(live<cl_context>(step_->other), static_cast<cl_bool>(c.normalized),
                          static_cast<cl_addressing_mode>(c.addressing),
                          static_cast<cl_filter_mode>(c.filter), &result);
  keep(step_->object, sampler);
  return result;
}

cl_int OpenClExecutor::call(const CreateUserEvent&) {
  cl_int result = CL_SUCCESS;
  called_ = true;
  host_events_ = true;
  keep(step_->object, cl_.clCreateUserEvent(live<cl_context>(step_->other), &result));
  return result;
}

cl_int OpenClExecutor::call(const SetUserEventStatus& c) {
  called_ = true;
  // The program set the event after all its earlier waits had ended.
  if (host_wait_ != nullptr) cl_.clWaitForEvents(1, &host_wait_);
  return cl_.clSetUserEventStatus(live<cl_event>(step_->object), static_cast<cl_int>(c.status));
}

cl_int OpenClExecutor::call(const Retain&) {
  called_ = true;
  if (step_->object != 0 && step_->header.result == CL_SUCCESS) ++references_[step_->object];
  return step_->header.result;
}

cl_int OpenClExecutor::call(const Release&) {
  called_ = true;
  if (step_->header.result == CL_SUCCESS) giveUp(step_->object);
  return step_->header.result;
}

cl_int OpenClExecutor::call(const SvmAlloc& c) {
  if (cl_.clSVMAlloc == nullptr || cl_.clSVMFree == nullptr) {
    problem("this OpenCL loader has no shared virtual memory");
    return CL_SUCCESS;
  }
  called_ = true;
  void* p = cl_.clSVMAlloc(live<cl_context>(step_->other), c.flags, c.bytes,
                           static_cast<cl_uint>(c.alignment));
  keep(step_->object, p);
  if (p == nullptr) return CL_OUT_OF_RESOURCES;
  if (step_->object == 0) {
    cl_.clSVMFree(live<cl_context>(step_->other), p);
    return CL_SUCCESS;
  }
  const ZeroPages zeros(options_.noise ? 0 : c.bytes);
  const Bytes noise = zeros.view().empty() ? undefinedContent(c.bytes, step_->object) : Bytes();
  // Commands in queues do not use this memory yet.
  const Status filled = fill(step_->object, noise.empty() ? zeros.view() : ByteView(noise));
  if (!filled) problem("its memory could not be filled: " + filled.error().toString());
  return CL_SUCCESS;
}

cl_int OpenClExecutor::call(const SvmFree&) {
  called_ = true;
  // Commands that use the memory must end before it is freed.
  if (!keep_objects_) (void)finish();
  for (const uint32_t object : plan_.listOf(*step_)) giveUp(object);
  return CL_SUCCESS;
}

}  // namespace tracesmith
