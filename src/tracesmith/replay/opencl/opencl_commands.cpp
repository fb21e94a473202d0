// SPDX-License-Identifier: Apache-2.0
// Commands executed by queues.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tracesmith/replay/opencl/opencl_executor.hpp"

namespace tracesmith {

using namespace recording;

namespace {

/// True for a contiguous range of a buffer. Even a single row is a box if its origin is in another
/// row: its pitch is then that of the region.
bool isContiguous(const Box& box) {
  return box.is_image == 0 && box.region[1] == 1 && box.region[2] == 1 && box.origin[1] == 0 &&
         box.origin[2] == 0 && box.row_pitch == 0 && box.slice_pitch == 0;
}

struct Corner {
  explicit Corner(const uint64_t (&v)[3]) : value{v[0], v[1], v[2]} {}
  const size_t* data() const { return value.data(); }
  std::array<size_t, 3> value;
};

}  // namespace

template <class Enqueue>
cl_int OpenClExecutor::command(Enqueue&& enqueue, cl_event* own) {
  if (queue() == nullptr && step_->header.result == CL_SUCCESS) {
    problem("its queue does not exist");
    return CL_SUCCESS;
  }
  // Drivers do not check all their arguments.
  const bool worked = step_->header.result == CL_SUCCESS;
  if (worked && (!exists(step_->object) || !exists(step_->other))) return CL_SUCCESS;
  const std::vector<cl_event> list = waits();
  cl_event event = nullptr;
  const bool followed = mode_ == StepMode::kConcurrent;
  const bool wanted = step_->event != 0 || own != nullptr || followed;
  called_ = true;
  // A command that failed because of its wait list gets an invalid one again.
  const bool no_list = step_->header.result == CL_INVALID_EVENT_WAIT_LIST && list.empty();
  const cl_int result = enqueue(no_list ? 1 : static_cast<cl_uint>(list.size()),
                                list.empty() ? nullptr : list.data(), wanted ? &event : nullptr);
  if (result != CL_SUCCESS || event == nullptr) return result;
  if (followed) {
    cl_.clRetainEvent(event);
    follow(event);
  }
  if (own != nullptr) {
    *own = event;
    if (step_->event != 0) cl_.clRetainEvent(event);
  }
  if (step_->event != 0) keep(step_->event, event);
  if (own == nullptr && step_->event == 0) cl_.clReleaseEvent(event);
  return result;
}

cl_int OpenClExecutor::call(const Launch& c) {
  if (step_->object == 0 || objects_[step_->object] == nullptr) {
    if (step_->header.result == CL_SUCCESS) {
      if (exists(step_->object, "its ")) problem("its kernel does not exist");
      return CL_SUCCESS;
    }
  } else if (!argumentsExist()) {
    return CL_SUCCESS;
  } else if (const cl_int result = applyArguments(); result != CL_SUCCESS) {
    return result;
  } else if (const cl_int info = applyExecInfos(); info != CL_SUCCESS) {
    return info;
  }
  std::vector<size_t> offset(c.offset.begin(), c.offset.end());
  std::vector<size_t> global(c.global.begin(), c.global.end());
  std::vector<size_t> local(c.local.begin(), c.local.end());
  if (c.is_task != 0 && global.empty()) global = local = {1};  // clEnqueueTask has no sizes
  const size_t dimensions = global.size();
  if ((!offset.empty() && offset.size() != dimensions) ||
      (!local.empty() && local.size() != dimensions)) {
    problem("its sizes do not have the same number of dimensions");
    return CL_SUCCESS;
  }
  return command([&](cl_uint n, const cl_event* list, cl_event* event) {
    return cl_.clEnqueueNDRangeKernel(
        queue(), live<cl_kernel>(step_->object), static_cast<cl_uint>(dimensions),
        offset.empty() ? nullptr : offset.data(), global.empty() ? nullptr : global.data(),
        local.empty() ? nullptr : local.data(), n, list, event);
  });
}

uint64_t OpenClExecutor::pixelBytesOf(ObjectIndex image) const {
  const PlannedObject& object = plan_.object(image);
  CreateImage made;
  if (object.made_by == kNoStep || !decode(plan_.step(object.made_by).fields, made)) return 0;
  return pixelBytes(made.channel_order, made.channel_type);
}

uint64_t OpenClExecutor::rowBytes(const Box& box, ObjectIndex memory) const {
  return box.is_image != 0 ? box.region[0] * pixelBytesOf(memory) : box.region[0];
}

cl_int OpenClExecutor::call(const Write& c) {
  const uint64_t row = rowBytes(c.box, step_->object);
  const auto bytes = boxBytes(c.box, row);
  if (!bytes) {
    problem("writes an impossible number of bytes");
    return CL_SUCCESS;
  }
  const bool failed = step_->header.result != CL_SUCCESS;
  const Bytes of_failed(failed && *bytes <= (1u << 20) ? *bytes : 0);
  const auto source = failed ? Result<ByteView>(of_failed) : upload(c.content, *bytes);
  if (!source) return CL_SUCCESS;
  const bool blocking = isBlocking();
  cl_event own = nullptr;
  // A call that failed because of a null pointer gets a null pointer again.
  const void* from = failed && c.host == 0 ? nullptr : source->data();
  auto* const memory = live<cl_mem>(step_->object);
  const Corner origin(c.box.origin), region(c.box.region);
  const cl_int result = command(
      [&](cl_uint n, const cl_event* list, cl_event* event) {
        const cl_bool wait = blocking ? CL_TRUE : CL_FALSE;
        if (c.box.is_image != 0) {
          return cl_.clEnqueueWriteImage(queue(), memory, wait, origin.data(), region.data(), 0, 0,
                                         from, n, list, event);
        }
        if (isContiguous(c.box)) {
          return cl_.clEnqueueWriteBuffer(queue(), memory, wait, c.box.origin[0], c.box.region[0],
                                          from, n, list, event);
        }
        return cl_.clEnqueueWriteBufferRect(queue(), memory, wait, origin.data(), kNowhere.data(),
                                            region.data(), c.box.row_pitch, c.box.slice_pitch, 0, 0,
                                            from, n, list, event);
      },
      blocking || failed ? nullptr : &own);
  if (own != nullptr) readsUpload(own);
  return result;
}

cl_int OpenClExecutor::call(const Read& c) {
  Shown shown;
  shown.box = c.box;
  shown.row_bytes = rowBytes(c.box, step_->object);
  const auto bytes = boxBytes(c.box, shown.row_bytes);
  if (!bytes) {
    problem("reads an impossible number of bytes");
    return CL_SUCCESS;
  }
  const bool failed = step_->header.result != CL_SUCCESS;
  const bool blocking = isBlocking();
  shown.is_dropped = !blocking && !failed && !is_unrecorded_.empty() && is_unrecorded_[index_];
  if (!shown.is_dropped) shown.bytes = buffers_.take(failed && *bytes > (1u << 20) ? 0 : *bytes);
  void* to = shown.is_dropped        ? discardBuffer(*bytes)
             : failed && c.host == 0 ? nullptr
                                     : shown.bytes.data();
  auto* const memory = live<cl_mem>(step_->object);
  const Corner origin(c.box.origin), region(c.box.region);
  cl_event own = nullptr;
  const cl_int result = command(
      [&](cl_uint n, const cl_event* list, cl_event* event) {
        const cl_bool wait = blocking ? CL_TRUE : CL_FALSE;
        if (c.box.is_image != 0) {
          return cl_.clEnqueueReadImage(queue(), memory, wait, origin.data(), region.data(), 0, 0,
                                        to, n, list, event);
        }
        if (isContiguous(c.box)) {
          return cl_.clEnqueueReadBuffer(queue(), memory, wait, c.box.origin[0], c.box.region[0],
                                         to, n, list, event);
        }
        return cl_.clEnqueueReadBufferRect(queue(), memory, wait, origin.data(), kNowhere.data(),
                                           region.data(), c.box.row_pitch, c.box.slice_pitch, 0, 0,
                                           to, n, list, event);
      },
      blocking || shown.is_dropped ? nullptr : &own);
  shown.event = own;
  if (result == CL_SUCCESS && called_) shown_[index_] = std::move(shown);
  return result;
}

cl_int OpenClExecutor::call(const Copy& c) {
  auto* const from = live<cl_mem>(step_->other);
  auto* const to = live<cl_mem>(step_->object);
  const Corner from_origin(c.from.origin), to_origin(c.to.origin);
  const Corner region(c.from.is_image != 0 || c.to.is_image == 0 ? c.from.region : c.to.region);
  return command([&](cl_uint n, const cl_event* list, cl_event* event) {
    if (c.from.is_image != 0 && c.to.is_image != 0) {
      return cl_.clEnqueueCopyImage(queue(), from, to, from_origin.data(), to_origin.data(),
                                    region.data(), n, list, event);
    }
    if (c.from.is_image != 0) {
      return cl_.clEnqueueCopyImageToBuffer(queue(), from, to, from_origin.data(), region.data(),
                                            c.to.origin[0], n, list, event);
    }
    if (c.to.is_image != 0) {
      return cl_.clEnqueueCopyBufferToImage(queue(), from, to, c.from.origin[0], to_origin.data(),
                                            region.data(), n, list, event);
    }
    if (isContiguous(c.from) && isContiguous(c.to)) {
      return cl_.clEnqueueCopyBuffer(queue(), from, to, c.from.origin[0], c.to.origin[0],
                                     c.from.region[0], n, list, event);
    }
    return cl_.clEnqueueCopyBufferRect(queue(), from, to, from_origin.data(), to_origin.data(),
                                       region.data(), c.from.row_pitch, c.from.slice_pitch,
                                       c.to.row_pitch, c.to.slice_pitch, n, list, event);
  });
}

cl_int OpenClExecutor::call(const Fill& c) {
  auto* const memory = live<cl_mem>(step_->object);
  const Corner origin(c.box.origin), region(c.box.region);
  // Drivers read the pattern before they return.
  alignas(16) std::array<uint8_t, 128> pattern{};
  std::copy_n(c.pattern.begin(), std::min(c.pattern.size(), pattern.size()), pattern.begin());
  return command([&](cl_uint n, const cl_event* list, cl_event* event) {
    if (c.box.is_image != 0) {
      return cl_.clEnqueueFillImage(queue(), memory, pattern.data(), origin.data(), region.data(),
                                    n, list, event);
    }
    return cl_.clEnqueueFillBuffer(queue(), memory, pattern.data(), c.pattern.size(),
                                   c.box.origin[0], c.box.region[0], n, list, event);
  });
}

cl_int OpenClExecutor::call(const Map& c) {
  Shown shown;
  shown.is_old = (c.flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0;
  shown.box = c.box;
  shown.row_bytes = rowBytes(c.box, step_->object);
  auto* const memory = live<cl_mem>(step_->object);
  const bool blocking = isBlocking();
  const Corner origin(c.box.origin), region(c.box.region);
  cl_event own = nullptr;
  const cl_int result = command(
      [&](cl_uint n, const cl_event* list, cl_event* event) {
        cl_int error = CL_SUCCESS;
        const cl_bool wait = blocking ? CL_TRUE : CL_FALSE;
        if (c.box.is_image != 0) {
          shown.mapped =
              cl_.clEnqueueMapImage(queue(), memory, wait, c.flags, origin.data(), region.data(),
                                    &shown.row_pitch, &shown.slice_pitch, n, list, event, &error);
        } else {
          shown.mapped = cl_.clEnqueueMapBuffer(queue(), memory, wait, c.flags, c.box.origin[0],
                                                c.box.region[0], n, list, event, &error);
        }
        return error;
      },
      blocking ? nullptr : &own);
  shown.event = own;
  if (result == CL_SUCCESS && called_) shown_[index_] = std::move(shown);
  return result;
}

cl_int OpenClExecutor::call(const Unmap& c) {
  auto* const memory = live<cl_mem>(step_->object);
  const auto shown = shown_.find(step_->of);
  if (shown == shown_.end()) {
    if (step_->header.result == CL_SUCCESS) {
      // In a recorded range, the map may lie before the start. Write what the host left in it.
      if (c.content.bytes == 0) return CL_SUCCESS;
      Write write;
      write.queue = c.queue;
      write.memory = c.memory;
      write.box = c.box;
      write.content = c.content;
      return call(write);
    }
    cl_int nothing = 0;
    return command([&](cl_uint n, const cl_event* list, cl_event* event) {
      return cl_.clEnqueueUnmapMemObject(queue(), memory, &nothing, n, list, event);
    });
  }
  Shown map = std::move(shown->second);
  shown_.erase(shown);
  await(map);
  const auto bytes = boxBytes(map.box, map.row_bytes);
  if (c.content.bytes != 0 && bytes) {
    const auto found = upload(c.content, *bytes);
    if (found) {
      map.rows().forEach([&](uint64_t packed, uint64_t mapped, uint64_t length) {
        std::memcpy(static_cast<uint8_t*>(map.mapped) + mapped, found->data() + packed, length);
      });
    }
  }
  return command([&](cl_uint n, const cl_event* list, cl_event* event) {
    return cl_.clEnqueueUnmapMemObject(queue(), memory, map.mapped, n, list, event);
  });
}

cl_int OpenClExecutor::call(const Migrate& c) {
  std::vector<void*> objects;
  for (const uint32_t object : plan_.listOf(*step_)) {
    if (step_->header.result == CL_SUCCESS && !exists(object)) return CL_SUCCESS;
    objects.push_back(objects_[object]);
  }
  return command([&](cl_uint n, const cl_event* list, cl_event* event) -> cl_int {
    if (c.is_svm == 0) {
      return cl_.clEnqueueMigrateMemObjects(queue(), static_cast<cl_uint>(objects.size()),
                                            reinterpret_cast<const cl_mem*>(objects.data()),
                                            c.flags, n, list, event);
    }
    if (cl_.clEnqueueSVMMigrateMem == nullptr) return CL_INVALID_OPERATION;
    std::vector<size_t> sizes(c.sizes.begin(), c.sizes.end());
    std::vector<const void*> pointers(objects.begin(), objects.end());
    return cl_.clEnqueueSVMMigrateMem(queue(), static_cast<cl_uint>(pointers.size()),
                                      pointers.data(), sizes.empty() ? nullptr : sizes.data(),
                                      c.flags, n, list, event);
  });
}

cl_int OpenClExecutor::call(const SvmCopy& c) {
  if (cl_.clEnqueueSVMMemcpy == nullptr) return CL_INVALID_OPERATION;
  const void* from = svmAddress(c.source, step_->other);
  void* to = svmAddress(c.destination, step_->object);
  if (step_->other == 0) {
    const auto source = upload(c.content, c.bytes);
    if (!source) return CL_SUCCESS;
    from = source->data();
  }
  Shown shown;
  if (step_->object == 0) {
    // Destination is host memory.
    shown.box.region[0] = shown.row_bytes = c.bytes;
    shown.bytes = buffers_.take(c.bytes);
    to = shown.bytes.data();
  }
  const bool blocking = isBlocking();
  cl_event own = nullptr;
  const bool queries = !blocking && (step_->object == 0 || step_->other == 0);
  const cl_int result = command(
      [&](cl_uint n, const cl_event* list, cl_event* event) {
        return cl_.clEnqueueSVMMemcpy(queue(), blocking ? CL_TRUE : CL_FALSE, to, from, c.bytes, n,
                                      list, event);
      },
      queries ? &own : nullptr);
  if (step_->object == 0) {
    shown.event = own;
    if (result == CL_SUCCESS && called_) shown_[index_] = std::move(shown);
  } else if (own != nullptr) {
    readsUpload(own);
  }
  return result;
}

cl_int OpenClExecutor::call(const SvmFill& c) {
  if (cl_.clEnqueueSVMMemFill == nullptr) return CL_INVALID_OPERATION;
  alignas(16) std::array<uint8_t, 128> pattern{};
  std::copy_n(c.pattern.begin(), std::min(c.pattern.size(), pattern.size()), pattern.begin());
  return command([&](cl_uint n, const cl_event* list, cl_event* event) {
    return cl_.clEnqueueSVMMemFill(queue(), svmAddress(c.pointer, step_->object), pattern.data(),
                                   c.pattern.size(), c.bytes, n, list, event);
  });
}

cl_int OpenClExecutor::call(const SvmMap& c) {
  if (cl_.clEnqueueSVMMap == nullptr) return CL_INVALID_OPERATION;
  Shown shown;
  shown.box.region[0] = shown.row_bytes = c.bytes;
  shown.mapped = svmAddress(c.pointer, step_->object);
  shown.is_old = (c.flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0;
  const bool blocking = isBlocking();
  cl_event own = nullptr;
  const cl_int result = command(
      [&](cl_uint n, const cl_event* list, cl_event* event) {
        return cl_.clEnqueueSVMMap(queue(), blocking ? CL_TRUE : CL_FALSE, c.flags, shown.mapped,
                                   c.bytes, n, list, event);
      },
      blocking ? nullptr : &own);
  shown.event = own;
  if (result == CL_SUCCESS && called_) {
    shown_[index_] = std::move(shown);
    svm_maps_[step_->object] = index_;
  }
  return result;
}

cl_int OpenClExecutor::call(const SvmUnmap& c) {
  if (cl_.clEnqueueSVMUnmap == nullptr) return CL_INVALID_OPERATION;
  if (const auto map = shown_.find(step_->of); map != shown_.end()) {
    await(map->second);
    shown_.erase(map);
    svm_maps_.erase(step_->object);
  }
  return command([&](cl_uint n, const cl_event* list, cl_event* event) {
    return cl_.clEnqueueSVMUnmap(queue(), svmAddress(c.pointer, step_->object), n, list, event);
  });
}

cl_int OpenClExecutor::call(const Marker& c) {
  return command([&](cl_uint n, const cl_event* list, cl_event* event) {
    return c.is_barrier != 0 ? cl_.clEnqueueBarrierWithWaitList(queue(), n, list, event)
                             : cl_.clEnqueueMarkerWithWaitList(queue(), n, list, event);
  });
}

}  // namespace tracesmith
