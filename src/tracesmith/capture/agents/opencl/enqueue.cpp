// SPDX-License-Identifier: Apache-2.0
// All calls that enqueue a command, and the calls that wait for commands.
#include "tracesmith/capture/agents/opencl/recorder.hpp"

namespace tracesmith::agent {
namespace {

using arena::RecordKind;

template <class Invoke>
[[gnu::always_inline]] inline cl_int kernel(OpenClApi api, cl_command_queue queue,
                                            cl_kernel kernel_object, cl_uint dimensions,
                                            const size_t* offset, const size_t* global,
                                            const size_t* local, WaitList waits, cl_event* event,
                                            Invoke&& invoke) {
  HostCall call(api, queue);
  const uint64_t n = dimensions <= 3 && global != nullptr ? dimensions : 0;
  return command(
      call, event, invoke,
      [&] {
        const uint64_t sizes = n + (local ? n : 0) + (offset ? n : 0);
        return sizeof(arena::CallRecord) + sizeof(arena::KernelPart) + 8 * (sizes + waits.kept());
      },
      [&](RecordWriter& w, const EventSlot& slot) {
        call.put(w, RecordKind::kKernel, arena::kFlagTracked | waits.flags(), CL_SUCCESS);
        auto* part = w.next<arena::KernelPart>();
        part->kernel = handleOf(kernel_object);
        part->event = slot.programHandle();
        part->dimensions = static_cast<uint8_t>(n);
        part->has_local = local != nullptr;
        part->has_offset = offset != nullptr;
        part->reserved = 0;
        part->wait_count = waits.kept();
        w.putBytes(global, 8 * n);
        if (local) w.putBytes(local, 8 * n);
        if (offset) w.putBytes(offset, 8 * n);
        w.putBytes(waits.events, 8 * waits.kept());
      });
}

/// The operands of a copy or fill, for its record.
struct Transfer {
  CopyKind kind = CopyKind::kUnknown;
  bool fill = false;
  uint64_t source = 0;
  uint64_t destination = 0;
  uint64_t bytes = 0;
  bool blocking = false;
};

/// `complete(Transfer&)` adds operands that the program passed as lists. It is called after the
/// driver has read them: if the driver refuses the call, the lists may be invalid.
template <class Complete, class Invoke>
cl_int transfer(OpenClApi api, cl_command_queue queue, Transfer what, WaitList waits,
                cl_event* event, Complete&& complete, Invoke&& invoke) {
  HostCall call(api, queue);
  auto size = [&] {
    complete(what);
    return sizeof(arena::CallRecord) + sizeof(arena::TransferPart) + 8 * uint64_t{waits.kept()};
  };
  return command(call, event, invoke, size, [&](RecordWriter& w, const EventSlot& slot) {
    const auto flags = static_cast<uint8_t>(arena::kFlagTracked | waits.flags() |
                                            (what.blocking ? arena::kFlagBlocking : 0));
    call.put(w, RecordKind::kTransfer, flags, CL_SUCCESS);
    arena::TransferPart part{};
    part.event = slot.programHandle();
    part.source = what.source;
    part.destination = what.destination;
    part.bytes = what.bytes;
    part.copy_kind = static_cast<uint8_t>(what.kind);
    part.is_fill = what.fill;
    part.wait_count = waits.kept();
    w.put(part);
    w.putBytes(waits.events, 8 * waits.kept());
  });
}

template <class Invoke>
cl_int transfer(OpenClApi api, cl_command_queue queue, const Transfer& what, WaitList waits,
                cl_event* event, Invoke&& invoke) {
  return transfer(
      api, queue, what, waits, event, [](Transfer&) {}, invoke);
}

template <class Invoke>
cl_int syncCommand(OpenClApi api, cl_command_queue queue, SyncKind kind, WaitList waits,
                   cl_event* event, Invoke&& invoke) {
  HostCall call(api, queue);
  auto size = [&] {
    return sizeof(arena::CallRecord) + sizeof(arena::SyncPart) + 8 * uint64_t{waits.kept()};
  };
  return command(call, event, invoke, size, [&](RecordWriter& w, const EventSlot& slot) {
    call.put(w, RecordKind::kSync, arena::kFlagTracked | waits.flags(), CL_SUCCESS);
    arena::SyncPart part{slot.programHandle(), static_cast<uint8_t>(kind), {}, waits.kept()};
    w.put(part);
    w.putBytes(waits.events, 8 * waits.kept());
  });
}

/// Records a host call that waits, or a command without an event: no device times.
template <class Invoke>
cl_int syncCall(OpenClApi api, cl_command_queue queue, SyncKind kind, WaitList waits,
                Invoke&& invoke) {
  if (!wanted()) return invoke();
  HostCall call(api, queue);
  const cl_int result = invoke();
  call.end();
  // If the call was refused, its list may be invalid.
  const bool read = result == CL_SUCCESS || result == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  if (!read) waits = {0, nullptr};
  const uint64_t bytes =
      sizeof(arena::CallRecord) + sizeof(arena::SyncPart) + 8 * uint64_t{waits.kept()};
  RecordWriter w(bytes);
  if (w) {
    call.put(w, RecordKind::kSync, arena::kFlagNoEvent | waits.flags(), result);
    w.put(arena::SyncPart{0, static_cast<uint8_t>(kind), {}, waits.kept()});
    w.putBytes(waits.events, 8 * waits.kept());
  }
  return result;
}

uint64_t volume(const size_t* region) {
  return region == nullptr ? 0 : uint64_t{region[0]} * region[1] * region[2];
}

/// Bytes of a region of an image (0 if the image does not report its element size).
uint64_t imageBytes(cl_mem image, const size_t* region) {
  size_t element = 0;
  if (next().clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, nullptr) !=
      CL_SUCCESS) {
    return 0;
  }
  return volume(region) * element;
}

auto volumeOf(const size_t* region) {
  return [region](Transfer& t) { t.bytes = volume(region); };
}
auto imageBytesOf(cl_mem image, const size_t* region) {
  return [image, region](Transfer& t) { t.bytes = imageBytes(image, region); };
}

}  // namespace
}  // namespace tracesmith::agent

using namespace tracesmith::agent;  // NOLINT: the wrappers below are C functions
using tracesmith::CopyKind;
using tracesmith::OpenClApi;
using tracesmith::SyncKind;

extern "C" {

cl_int CL_API_CALL TS_WRAP(clEnqueueNDRangeKernel)(cl_command_queue q, cl_kernel k, cl_uint dim,
                                                   const size_t* offset, const size_t* global,
                                                   const size_t* local, cl_uint n,
                                                   const cl_event* waits, cl_event* event) {
  if (!wanted()) {
    return next().clEnqueueNDRangeKernel(q, k, dim, offset, global, local, n, waits, event);
  }
  return kernel(OpenClApi::clEnqueueNDRangeKernel, q, k, dim, offset, global, local, {n, waits},
                event, [&](cl_event* slot) {
                  return next().clEnqueueNDRangeKernel(q, k, dim, offset, global, local, n, waits,
                                                       slot);
                });
}

cl_int CL_API_CALL TS_WRAP(clEnqueueTask)(cl_command_queue q, cl_kernel k, cl_uint n,
                                          const cl_event* waits, cl_event* event) {
  if (!wanted()) return next().clEnqueueTask(q, k, n, waits, event);
  const size_t one = 1;
  return kernel(OpenClApi::clEnqueueTask, q, k, 1, nullptr, &one, &one, {n, waits}, event,
                [&](cl_event* slot) { return next().clEnqueueTask(q, k, n, waits, slot); });
}

cl_int CL_API_CALL TS_WRAP(clEnqueueNativeKernel)(cl_command_queue q,
                                                  void(CL_CALLBACK* function)(void*), void* args,
                                                  size_t args_bytes, cl_uint objects,
                                                  const cl_mem* memory, const void** locations,
                                                  cl_uint n, const cl_event* waits,
                                                  cl_event* event) {
  if (!wanted()) {
    return next().clEnqueueNativeKernel(q, function, args, args_bytes, objects, memory, locations,
                                        n, waits, event);
  }
  return kernel(OpenClApi::clEnqueueNativeKernel, q, nullptr, 0, nullptr, nullptr, nullptr,
                {n, waits}, event, [&](cl_event* slot) {
                  return next().clEnqueueNativeKernel(q, function, args, args_bytes, objects,
                                                      memory, locations, n, waits, slot);
                });
}

cl_int CL_API_CALL TS_WRAP(clEnqueueReadBuffer)(cl_command_queue q, cl_mem m, cl_bool blocking,
                                                size_t offset, size_t size, void* to, cl_uint n,
                                                const cl_event* waits, cl_event* event) {
  if (!wanted()) {
    return next().clEnqueueReadBuffer(q, m, blocking, offset, size, to, n, waits, event);
  }
  return transfer(OpenClApi::clEnqueueReadBuffer, q,
                  {CopyKind::kDeviceToHost, false, handleOf(m), handleOf(to), size, blocking != 0},
                  {n, waits}, event, [&](cl_event* slot) {
                    return next().clEnqueueReadBuffer(q, m, blocking, offset, size, to, n, waits,
                                                      slot);
                  });
}

cl_int CL_API_CALL TS_WRAP(clEnqueueWriteBuffer)(cl_command_queue q, cl_mem m, cl_bool blocking,
                                                 size_t offset, size_t size, const void* from,
                                                 cl_uint n, const cl_event* waits,
                                                 cl_event* event) {
  if (!wanted()) {
    return next().clEnqueueWriteBuffer(q, m, blocking, offset, size, from, n, waits, event);
  }
  return transfer(
      OpenClApi::clEnqueueWriteBuffer, q,
      {CopyKind::kHostToDevice, false, handleOf(from), handleOf(m), size, blocking != 0},
      {n, waits}, event, [&](cl_event* slot) {
        return next().clEnqueueWriteBuffer(q, m, blocking, offset, size, from, n, waits, slot);
      });
}

cl_int CL_API_CALL TS_WRAP(clEnqueueReadBufferRect)(cl_command_queue q, cl_mem m, cl_bool blocking,
                                                    const size_t* buffer_origin,
                                                    const size_t* host_origin, const size_t* region,
                                                    size_t buffer_row, size_t buffer_slice,
                                                    size_t host_row, size_t host_slice, void* to,
                                                    cl_uint n, const cl_event* waits,
                                                    cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueReadBufferRect(q, m, blocking, buffer_origin, host_origin, region,
                                          buffer_row, buffer_slice, host_row, host_slice, to, n,
                                          waits, slot);
  };
  if (!wanted()) return invoke(event);
  return transfer(OpenClApi::clEnqueueReadBufferRect, q,
                  {CopyKind::kDeviceToHost, false, handleOf(m), handleOf(to), 0, blocking != 0},
                  {n, waits}, event, volumeOf(region), invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueWriteBufferRect)(cl_command_queue q, cl_mem m, cl_bool blocking,
                                                     const size_t* buffer_origin,
                                                     const size_t* host_origin,
                                                     const size_t* region, size_t buffer_row,
                                                     size_t buffer_slice, size_t host_row,
                                                     size_t host_slice, const void* from, cl_uint n,
                                                     const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueWriteBufferRect(q, m, blocking, buffer_origin, host_origin, region,
                                           buffer_row, buffer_slice, host_row, host_slice, from, n,
                                           waits, slot);
  };
  if (!wanted()) return invoke(event);
  return transfer(OpenClApi::clEnqueueWriteBufferRect, q,
                  {CopyKind::kHostToDevice, false, handleOf(from), handleOf(m), 0, blocking != 0},
                  {n, waits}, event, volumeOf(region), invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueCopyBuffer)(cl_command_queue q, cl_mem from, cl_mem to,
                                                size_t from_offset, size_t to_offset, size_t size,
                                                cl_uint n, const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueCopyBuffer(q, from, to, from_offset, to_offset, size, n, waits, slot);
  };
  if (!wanted()) return invoke(event);
  return transfer(OpenClApi::clEnqueueCopyBuffer, q,
                  {CopyKind::kDeviceToDevice, false, handleOf(from), handleOf(to), size, false},
                  {n, waits}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueCopyBufferRect)(cl_command_queue q, cl_mem from, cl_mem to,
                                                    const size_t* from_origin,
                                                    const size_t* to_origin, const size_t* region,
                                                    size_t from_row, size_t from_slice,
                                                    size_t to_row, size_t to_slice, cl_uint n,
                                                    const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueCopyBufferRect(q, from, to, from_origin, to_origin, region, from_row,
                                          from_slice, to_row, to_slice, n, waits, slot);
  };
  if (!wanted()) return invoke(event);
  return transfer(OpenClApi::clEnqueueCopyBufferRect, q,
                  {CopyKind::kDeviceToDevice, false, handleOf(from), handleOf(to), 0, false},
                  {n, waits}, event, volumeOf(region), invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueReadImage)(cl_command_queue q, cl_mem image, cl_bool blocking,
                                               const size_t* origin, const size_t* region,
                                               size_t row, size_t slice, void* to, cl_uint n,
                                               const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueReadImage(q, image, blocking, origin, region, row, slice, to, n, waits,
                                     slot);
  };
  if (!wanted()) return invoke(event);
  return transfer(OpenClApi::clEnqueueReadImage, q,
                  {CopyKind::kDeviceToHost, false, handleOf(image), handleOf(to), 0, blocking != 0},
                  {n, waits}, event, imageBytesOf(image, region), invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueWriteImage)(cl_command_queue q, cl_mem image, cl_bool blocking,
                                                const size_t* origin, const size_t* region,
                                                size_t row, size_t slice, const void* from,
                                                cl_uint n, const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueWriteImage(q, image, blocking, origin, region, row, slice, from, n,
                                      waits, slot);
  };
  if (!wanted()) return invoke(event);
  return transfer(
      OpenClApi::clEnqueueWriteImage, q,
      {CopyKind::kHostToDevice, false, handleOf(from), handleOf(image), 0, blocking != 0},
      {n, waits}, event, imageBytesOf(image, region), invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueCopyImage)(cl_command_queue q, cl_mem from, cl_mem to,
                                               const size_t* from_origin, const size_t* to_origin,
                                               const size_t* region, cl_uint n,
                                               const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueCopyImage(q, from, to, from_origin, to_origin, region, n, waits, slot);
  };
  if (!wanted()) return invoke(event);
  return transfer(OpenClApi::clEnqueueCopyImage, q,
                  {CopyKind::kDeviceToDevice, false, handleOf(from), handleOf(to), 0, false},
                  {n, waits}, event, imageBytesOf(from, region), invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueCopyImageToBuffer)(cl_command_queue q, cl_mem from, cl_mem to,
                                                       const size_t* origin, const size_t* region,
                                                       size_t offset, cl_uint n,
                                                       const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueCopyImageToBuffer(q, from, to, origin, region, offset, n, waits, slot);
  };
  if (!wanted()) return invoke(event);
  return transfer(OpenClApi::clEnqueueCopyImageToBuffer, q,
                  {CopyKind::kDeviceToDevice, false, handleOf(from), handleOf(to), 0, false},
                  {n, waits}, event, imageBytesOf(from, region), invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueCopyBufferToImage)(cl_command_queue q, cl_mem from, cl_mem to,
                                                       size_t offset, const size_t* origin,
                                                       const size_t* region, cl_uint n,
                                                       const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueCopyBufferToImage(q, from, to, offset, origin, region, n, waits, slot);
  };
  if (!wanted()) return invoke(event);
  return transfer(OpenClApi::clEnqueueCopyBufferToImage, q,
                  {CopyKind::kDeviceToDevice, false, handleOf(from), handleOf(to), 0, false},
                  {n, waits}, event, imageBytesOf(to, region), invoke);
}

void* CL_API_CALL TS_WRAP(clEnqueueMapBuffer)(cl_command_queue q, cl_mem m, cl_bool blocking,
                                              cl_map_flags flags, size_t offset, size_t size,
                                              cl_uint n, const cl_event* waits, cl_event* event,
                                              cl_int* error) {
  if (!wanted()) {
    return next().clEnqueueMapBuffer(q, m, blocking, flags, offset, size, n, waits, event, error);
  }
  void* mapped = nullptr;
  const cl_int result = transfer(OpenClApi::clEnqueueMapBuffer, q,
                                 {CopyKind::kMap, false, handleOf(m), 0, size, blocking != 0},
                                 {n, waits}, event, [&](cl_event* slot) {
                                   cl_int r = CL_SUCCESS;
                                   mapped = next().clEnqueueMapBuffer(q, m, blocking, flags, offset,
                                                                      size, n, waits, slot, &r);
                                   return r;
                                 });
  if (error != nullptr) *error = result;
  return mapped;
}

void* CL_API_CALL TS_WRAP(clEnqueueMapImage)(cl_command_queue q, cl_mem image, cl_bool blocking,
                                             cl_map_flags flags, const size_t* origin,
                                             const size_t* region, size_t* row, size_t* slice,
                                             cl_uint n, const cl_event* waits, cl_event* event,
                                             cl_int* error) {
  if (!wanted()) {
    return next().clEnqueueMapImage(q, image, blocking, flags, origin, region, row, slice, n, waits,
                                    event, error);
  }
  void* mapped = nullptr;
  const cl_int result =
      transfer(OpenClApi::clEnqueueMapImage, q,
               {CopyKind::kMap, false, handleOf(image), 0, 0, blocking != 0}, {n, waits}, event,
               imageBytesOf(image, region), [&](cl_event* slot) {
                 cl_int r = CL_SUCCESS;
                 mapped = next().clEnqueueMapImage(q, image, blocking, flags, origin, region, row,
                                                   slice, n, waits, slot, &r);
                 return r;
               });
  if (error != nullptr) *error = result;
  return mapped;
}

cl_int CL_API_CALL TS_WRAP(clEnqueueUnmapMemObject)(cl_command_queue q, cl_mem m, void* mapped,
                                                    cl_uint n, const cl_event* waits,
                                                    cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueUnmapMemObject(q, m, mapped, n, waits, slot);
  };
  if (!wanted()) return invoke(event);
  return transfer(OpenClApi::clEnqueueUnmapMemObject, q,
                  {CopyKind::kUnmap, false, handleOf(mapped), handleOf(m), 0, false}, {n, waits},
                  event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueMigrateMemObjects)(cl_command_queue q, cl_uint count,
                                                       const cl_mem* objects,
                                                       cl_mem_migration_flags flags, cl_uint n,
                                                       const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueMigrateMemObjects(q, count, objects, flags, n, waits, slot);
  };
  if (!wanted()) return invoke(event);
  const auto complete = [&](Transfer& t) {
    if (count > 0) t.source = handleOf(objects[0]);
    for (cl_uint i = 0; i < count; ++i) {
      size_t size = 0;
      if (next().clGetMemObjectInfo(objects[i], CL_MEM_SIZE, sizeof size, &size, nullptr) ==
          CL_SUCCESS) {
        t.bytes += size;
      }
    }
  };
  return transfer(OpenClApi::clEnqueueMigrateMemObjects, q, {CopyKind::kMigrate}, {n, waits}, event,
                  complete, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueFillBuffer)(cl_command_queue q, cl_mem m, const void* pattern,
                                                size_t pattern_size, size_t offset, size_t size,
                                                cl_uint n, const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueFillBuffer(q, m, pattern, pattern_size, offset, size, n, waits, slot);
  };
  if (!wanted()) return invoke(event);
  return transfer(OpenClApi::clEnqueueFillBuffer, q,
                  {CopyKind::kUnknown, true, 0, handleOf(m), size, false}, {n, waits}, event,
                  invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueFillImage)(cl_command_queue q, cl_mem image, const void* color,
                                               const size_t* origin, const size_t* region,
                                               cl_uint n, const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueFillImage(q, image, color, origin, region, n, waits, slot);
  };
  if (!wanted()) return invoke(event);
  return transfer(OpenClApi::clEnqueueFillImage, q,
                  {CopyKind::kUnknown, true, 0, handleOf(image), 0, false}, {n, waits}, event,
                  imageBytesOf(image, region), invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueSVMMemcpy)(cl_command_queue q, cl_bool blocking, void* to,
                                               const void* from, size_t size, cl_uint n,
                                               const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueSVMMemcpy(q, blocking, to, from, size, n, waits, slot);
  };
  if (!wanted()) return invoke(event);
  // Shared virtual memory: the pointers do not say whether the bytes are on the host or the device.
  return transfer(OpenClApi::clEnqueueSVMMemcpy, q,
                  {CopyKind::kUnknown, false, handleOf(from), handleOf(to), size, blocking != 0},
                  {n, waits}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueSVMMemFill)(cl_command_queue q, void* to, const void* pattern,
                                                size_t pattern_size, size_t size, cl_uint n,
                                                const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueSVMMemFill(q, to, pattern, pattern_size, size, n, waits, slot);
  };
  if (!wanted()) return invoke(event);
  return transfer(OpenClApi::clEnqueueSVMMemFill, q,
                  {CopyKind::kUnknown, true, 0, handleOf(to), size, false}, {n, waits}, event,
                  invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueSVMMap)(cl_command_queue q, cl_bool blocking,
                                            cl_map_flags flags, void* p, size_t size, cl_uint n,
                                            const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueSVMMap(q, blocking, flags, p, size, n, waits, slot);
  };
  if (!wanted()) return invoke(event);
  return transfer(OpenClApi::clEnqueueSVMMap, q,
                  {CopyKind::kMap, false, handleOf(p), 0, size, blocking != 0}, {n, waits}, event,
                  invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueSVMUnmap)(cl_command_queue q, void* p, cl_uint n,
                                              const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) { return next().clEnqueueSVMUnmap(q, p, n, waits, slot); };
  if (!wanted()) return invoke(event);
  return transfer(OpenClApi::clEnqueueSVMUnmap, q,
                  {CopyKind::kUnmap, false, 0, handleOf(p), 0, false}, {n, waits}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueSVMMigrateMem)(cl_command_queue q, cl_uint count,
                                                   const void** pointers, const size_t* sizes,
                                                   cl_mem_migration_flags flags, cl_uint n,
                                                   const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueSVMMigrateMem(q, count, pointers, sizes, flags, n, waits, slot);
  };
  if (!wanted()) return invoke(event);
  const auto complete = [&](Transfer& t) {
    if (count > 0) t.source = handleOf(pointers[0]);
    for (cl_uint i = 0; sizes != nullptr && i < count; ++i) t.bytes += sizes[i];
  };
  return transfer(OpenClApi::clEnqueueSVMMigrateMem, q, {CopyKind::kMigrate}, {n, waits}, event,
                  complete, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueMarkerWithWaitList)(cl_command_queue q, cl_uint n,
                                                        const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueMarkerWithWaitList(q, n, waits, slot);
  };
  if (!wanted()) return invoke(event);
  return syncCommand(OpenClApi::clEnqueueMarkerWithWaitList, q, SyncKind::kMarker, {n, waits},
                     event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueBarrierWithWaitList)(cl_command_queue q, cl_uint n,
                                                         const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueBarrierWithWaitList(q, n, waits, slot);
  };
  if (!wanted()) return invoke(event);
  return syncCommand(OpenClApi::clEnqueueBarrierWithWaitList, q, SyncKind::kBarrier, {n, waits},
                     event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueMarker)(cl_command_queue q, cl_event* event) {
  // A null event is an error of this call, so the driver must get it unchanged.
  if (event == nullptr || !wanted()) return next().clEnqueueMarker(q, event);
  return syncCommand(OpenClApi::clEnqueueMarker, q, SyncKind::kMarker, {0, nullptr}, event,
                     [&](cl_event* slot) { return next().clEnqueueMarker(q, slot); });
}

cl_int CL_API_CALL TS_WRAP(clEnqueueBarrier)(cl_command_queue q) {
  return syncCall(OpenClApi::clEnqueueBarrier, q, SyncKind::kBarrier, {0, nullptr},
                  [&] { return next().clEnqueueBarrier(q); });
}

cl_int CL_API_CALL TS_WRAP(clEnqueueWaitForEvents)(cl_command_queue q, cl_uint n,
                                                   const cl_event* events) {
  return syncCall(OpenClApi::clEnqueueWaitForEvents, q, SyncKind::kBarrier, {n, events},
                  [&] { return next().clEnqueueWaitForEvents(q, n, events); });
}

cl_int CL_API_CALL TS_WRAP(clFinish)(cl_command_queue q) {
  return syncCall(OpenClApi::clFinish, q, SyncKind::kStreamWait, {0, nullptr},
                  [&] { return next().clFinish(q); });
}

cl_int CL_API_CALL TS_WRAP(clFlush)(cl_command_queue q) {
  return syncCall(OpenClApi::clFlush, q, SyncKind::kFlush, {0, nullptr},
                  [&] { return next().clFlush(q); });
}

cl_int CL_API_CALL TS_WRAP(clWaitForEvents)(cl_uint n, const cl_event* events) {
  return syncCall(OpenClApi::clWaitForEvents, nullptr, SyncKind::kEventWait, {n, events},
                  [&] { return next().clWaitForEvents(n, events); });
}

}  // extern "C"
