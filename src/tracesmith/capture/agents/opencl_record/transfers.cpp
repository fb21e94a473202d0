// SPDX-License-Identifier: Apache-2.0
// Writes, reads, copies and fills of buffers and images.
#include "tracesmith/capture/agents/opencl_record/recorder.hpp"

using namespace tracesmith::record;  // NOLINT: the wrappers below are C functions
namespace rec = tracesmith::recording;
using rec::command_flags::kBlocking;

namespace tracesmith::record {

rec::Box linearBox(uint64_t offset, uint64_t bytes) {
  rec::Box box;
  box.origin[0] = offset;
  box.region[0] = bytes;
  return box;
}

rec::Box boxOf(bool is_image, const size_t* origin, const size_t* region, uint64_t row_pitch,
               uint64_t slice_pitch) {
  origin = readableSizes(origin);
  region = readableSizes(region);
  rec::Box box;
  box.is_image = is_image ? 1 : 0;
  for (int i = 0; i < 3; ++i) {
    box.origin[i] = origin != nullptr ? origin[i] : 0;
    box.region[i] = region != nullptr ? region[i] : 0;
  }
  box.row_pitch = row_pitch;
  box.slice_pitch = slice_pitch;
  return box;
}

Place rectPlace(const void* host, const size_t* origin, const size_t* region, size_t row_pitch,
                size_t slice_pitch) {
  origin = readableSizes(origin);
  region = readableSizes(region);
  if (host == nullptr || origin == nullptr || region == nullptr) return {};
  Place place{nullptr, region[0], region[1], region[2], 0, 0};
  place.row_pitch = row_pitch != 0 ? row_pitch : region[0];
  place.slice_pitch = slice_pitch != 0 ? slice_pitch : place.row_pitch * region[1];
  place.at = static_cast<const uint8_t*>(host) + origin[2] * place.slice_pitch +
             origin[1] * place.row_pitch + origin[0];
  return place;
}

Place imagePlace(cl_mem image, const void* host, const size_t* region, size_t row_pitch,
                 size_t slice_pitch) {
  if (host == nullptr || readableSizes(region) == nullptr) return {};
  StateLock lock;
  const MemoryState* state = g_objects.memory.find(handleOf(image));
  if (state == nullptr || state->element_bytes == 0) return {};
  Place place{static_cast<const uint8_t*>(host),
              region[0] * state->element_bytes,
              region[1],
              region[2],
              0,
              0};
  place.row_pitch = row_pitch != 0 ? row_pitch : place.row_bytes;
  if (state->is_1d_array && slice_pitch != 0) place.row_pitch = slice_pitch;
  place.slice_pitch =
      slice_pitch != 0 && !state->is_1d_array ? slice_pitch : place.row_pitch * region[1];
  return place;
}

bool isWithin(cl_mem memory, const rec::Box& box) {
  StateLock lock;
  const MemoryState* state = g_objects.memory.find(handleOf(memory));
  if (state == nullptr || state->is_image != (box.is_image != 0)) return false;
  if (state->is_image) {
    for (int i = 0; i < 3; ++i) {
      if (box.origin[i] > state->extent[i] || box.region[i] > state->extent[i] - box.origin[i]) {
        return false;
      }
    }
    return true;
  }
  const uint64_t row = box.row_pitch != 0 ? box.row_pitch : box.region[0];
  const uint64_t slice = box.slice_pitch != 0 ? box.slice_pitch : row * box.region[1];
  if (box.region[0] == 0 || box.region[1] == 0 || box.region[2] == 0) return false;
  uint64_t end = 0;
  return !__builtin_add_overflow((box.origin[2] + box.region[2] - 1) * slice +
                                     (box.origin[1] + box.region[1] - 1) * row + box.origin[0],
                                 box.region[0], &end) &&
         end <= state->bytes;
}

bool isProbablyValid(cl_command_queue queue, cl_context context, cl_uint count,
                     const cl_event* waits) {
  {
    StateLock lock;
    const QueueState* state = g_objects.queues.find(handleOf(queue));
    if (state == nullptr || state->context != context) return false;
  }
  if ((count == 0) != (waits == nullptr)) return false;
  if (!isReadable(waits, count * sizeof *waits)) return false;
  for (cl_uint i = 0; i < count; ++i) {
    cl_context its = nullptr;
    if (waits[i] == nullptr || next().clGetEventInfo(waits[i], CL_EVENT_CONTEXT, sizeof its, &its,
                                                     nullptr) != CL_SUCCESS) {
      return false;
    }
    if (its != context) return false;
  }
  return true;
}

namespace {

/// True if the driver will read the host memory of a write.
bool isReadLater(cl_command_queue queue, cl_mem memory, const Place& place, Waits waits) {
  constexpr cl_mem_flags kNotWritten = CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
  cl_context context = nullptr;
  {
    StateLock lock;
    const MemoryState* state = g_objects.memory.find(handleOf(memory));
    if (state == nullptr || (state->flags & kNotWritten) != 0) return false;
    context = state->context;
  }
  if (place.row_pitch < place.row_bytes) return false;
  if (place.slices > 1 && place.slice_pitch < place.row_pitch * place.rows) return false;
  return isProbablyValid(queue, context, waits.count, waits.events);
}

}  // namespace

void recordBlockingEnd(uint64_t sequence, const Call& call, const cl_event* event,
                       const Content& content, bool kept, const void* pointer) {
  if (sequence == kNotRecorded) return;
  rec::Done d;
  d.of = sequence;
  d.content = content.payload();
  d.kept = kept ? 1 : 0;
  if (call.info().result == CL_SUCCESS) {
    d.event = event != nullptr ? handleOf(*event) : 0;
    d.pointer = handleOf(pointer);
  }
  put(d, call.info());
}

namespace {

/// invoke(event) calls the driver. `place` is the source of the bytes.
template <class Invoke>
cl_int write(cl_command_queue queue, cl_mem memory, cl_bool blocking, const rec::Box& box,
             const void* host, const Place& place, Waits waits, cl_event* event, Invoke&& invoke) {
  Order order;
  const RangeCall wanted;
  if (!wanted) {
    if (blocking) order.release();
    const cl_int result = invoke(event);
    if (blocking) settle();
    return result;
  }
  recordHostChangesUnderObjects();
  SharedUse use;
  use.add(memory);
  Call call;
  Content content;
  bool later = mayBeFilled(place);
  rec::Write c;
  c.queue = handleOf(queue);
  c.memory = handleOf(memory);
  c.box = box;
  c.host = handleOf(host);
  c.waits = handlesOf(waits.events, waits.count);
  if (blocking) {
    // Do not read the source of a call that the driver will refuse: it may be shorter than the
    // program claims.
    if (isWithin(memory, box)) {
      later = later || !isReadLater(queue, memory, place, waits);
      if (!later) content.take(place, Keep::kBytes);
    }
    if (later) content.unknown(place.bytes());
    c.content = content.payload();
    call.flag(kBlocking);
    const uint64_t sequence = put(c, call.started());
    order.release();
    const Sync waited = blockingIn(queue);
    call.end(invoke(event));
    Content seen;
    if (later && call.info().result == CL_SUCCESS) seen.take(place, Keep::kBytes);
    recordBlockingEnd(sequence, call, event, seen, later, nullptr);
    settle(call.info().result == CL_SUCCESS ? waited : Sync{});
    return call.info().result;
  }
  cl_event own = nullptr;
  cl_event* const slot = event == nullptr && (later || use.any()) ? &own : event;
  call.end(invoke(slot));
  const bool success = call.info().result == CL_SUCCESS;
  if (later) {
    content.unknown(place.bytes());
  } else if (success) {
    content.take(place, Keep::kBytes);
  }
  c.content = content.payload();
  c.event = success && event != nullptr ? handleOf(*event) : 0;
  const uint64_t sequence = put(c, call.info());
  if (later && success && sequence != kNotRecorded) {
    awaitRead({PendingKind::kSource, sequence, *slot, handleOf(queue), place});
  }
  use.await(queue, success && slot != nullptr ? *slot : nullptr);
  if (own != nullptr) next().clReleaseEvent(own);
  return call.info().result;
}

/// invoke(event) calls the driver. `place` is the destination of the bytes.
template <class Invoke>
cl_int read(cl_command_queue queue, cl_mem memory, cl_bool blocking, const rec::Box& box,
            const void* host, const Place& place, Waits waits, cl_event* event, Invoke&& invoke) {
  Order order;
  if (!inRange()) {
    if (blocking) order.release();
    const cl_int result = invoke(event);
    if (blocking) settle();
    return result;
  }
  recordHostChangesUnderObjects();
  prepareOverwrite(place);
  Call call;
  rec::Read c;
  c.queue = handleOf(queue);
  c.memory = handleOf(memory);
  c.box = box;
  c.host = handleOf(host);
  c.waits = handlesOf(waits.events, waits.count);
  if (blocking) {
    call.flag(kBlocking);
    const uint64_t sequence = put(c, call.started());
    order.release();
    const Sync waited = blockingIn(queue);
    call.end(invoke(event));
    Content content;
    if (call.info().result == CL_SUCCESS) content.take(place, keepOutputs());
    recordBlockingEnd(sequence, call, event, content, options().keep_outputs, nullptr);
    settle(call.info().result == CL_SUCCESS ? waited : Sync{});
    return call.info().result;
  }
  cl_event own = nullptr;
  cl_event* slot = event != nullptr ? event : &own;
  call.end(invoke(slot));
  const bool success = call.info().result == CL_SUCCESS;
  c.event = success && event != nullptr ? handleOf(*event) : 0;
  const uint64_t sequence = put(c, call.info());
  if (success && *slot != nullptr && sequence != kNotRecorded) {
    awaitRead({PendingKind::kRead, sequence, *slot, handleOf(queue), place});
  }
  if (own != nullptr) next().clReleaseEvent(own);
  return call.info().result;
}

/// A command that does not wait and writes `memory`, but no host memory. invoke(event) calls the
/// driver.
template <class Command, class Invoke>
cl_int writing(Command& c, cl_mem memory, cl_command_queue queue, Waits waits, cl_event* event,
               Invoke&& invoke) {
  Order order;
  const RangeCall wanted;
  if (!wanted) return invoke(event);
  recordHostChangesUnderObjects();
  SharedUse use;
  use.add(memory);
  return usingShared(c, use, queue, waits, event, invoke);
}

template <class Invoke>
cl_int copy(cl_command_queue queue, cl_mem source, cl_mem destination, const rec::Box& from,
            const rec::Box& to, Waits waits, cl_event* event, Invoke&& invoke) {
  rec::Copy c;
  c.queue = handleOf(queue);
  c.source = handleOf(source);
  c.destination = handleOf(destination);
  c.from = from;
  c.to = to;
  return writing(c, destination, queue, waits, event, invoke);
}

}  // namespace
}  // namespace tracesmith::record

extern "C" {

cl_int CL_API_CALL TS_WRAP(clEnqueueReadBuffer)(cl_command_queue queue, cl_mem memory,
                                                cl_bool blocking, size_t offset, size_t bytes,
                                                void* host, cl_uint n, const cl_event* waits,
                                                cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueReadBuffer(queue, memory, blocking, offset, bytes, host, n, waits, slot);
  };
  if (!active()) return callAndSettle([&] { return invoke(event); });
  return read(queue, memory, blocking, linearBox(offset, bytes), host, stretch(host, bytes),
              {n, waits}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueReadBufferRect)(cl_command_queue queue, cl_mem memory,
                                                    cl_bool blocking, const size_t* buffer_origin,
                                                    const size_t* host_origin, const size_t* region,
                                                    size_t buffer_row, size_t buffer_slice,
                                                    size_t host_row, size_t host_slice, void* host,
                                                    cl_uint n, const cl_event* waits,
                                                    cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueReadBufferRect(queue, memory, blocking, buffer_origin, host_origin,
                                          region, buffer_row, buffer_slice, host_row, host_slice,
                                          host, n, waits, slot);
  };
  if (!active()) return callAndSettle([&] { return invoke(event); });
  return read(
      queue, memory, blocking, boxOf(false, buffer_origin, region, buffer_row, buffer_slice), host,
      rectPlace(host, host_origin, region, host_row, host_slice), {n, waits}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueReadImage)(cl_command_queue queue, cl_mem image,
                                               cl_bool blocking, const size_t* origin,
                                               const size_t* region, size_t row, size_t slice,
                                               void* host, cl_uint n, const cl_event* waits,
                                               cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueReadImage(queue, image, blocking, origin, region, row, slice, host, n,
                                     waits, slot);
  };
  if (!active()) return callAndSettle([&] { return invoke(event); });
  return read(queue, image, blocking, boxOf(true, origin, region, 0, 0), host,
              imagePlace(image, host, region, row, slice), {n, waits}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueWriteBuffer)(cl_command_queue queue, cl_mem memory,
                                                 cl_bool blocking, size_t offset, size_t bytes,
                                                 const void* host, cl_uint n, const cl_event* waits,
                                                 cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueWriteBuffer(queue, memory, blocking, offset, bytes, host, n, waits,
                                       slot);
  };
  if (!active()) return callAndSettle([&] { return invoke(event); });
  return write(queue, memory, blocking, linearBox(offset, bytes), host, stretch(host, bytes),
               {n, waits}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueWriteBufferRect)(cl_command_queue queue, cl_mem memory,
                                                     cl_bool blocking, const size_t* buffer_origin,
                                                     const size_t* host_origin,
                                                     const size_t* region, size_t buffer_row,
                                                     size_t buffer_slice, size_t host_row,
                                                     size_t host_slice, const void* host, cl_uint n,
                                                     const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueWriteBufferRect(queue, memory, blocking, buffer_origin, host_origin,
                                           region, buffer_row, buffer_slice, host_row, host_slice,
                                           host, n, waits, slot);
  };
  if (!active()) return callAndSettle([&] { return invoke(event); });
  return write(
      queue, memory, blocking, boxOf(false, buffer_origin, region, buffer_row, buffer_slice), host,
      rectPlace(host, host_origin, region, host_row, host_slice), {n, waits}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueWriteImage)(cl_command_queue queue, cl_mem image,
                                                cl_bool blocking, const size_t* origin,
                                                const size_t* region, size_t row, size_t slice,
                                                const void* host, cl_uint n, const cl_event* waits,
                                                cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueWriteImage(queue, image, blocking, origin, region, row, slice, host, n,
                                      waits, slot);
  };
  if (!active()) return callAndSettle([&] { return invoke(event); });
  return write(queue, image, blocking, boxOf(true, origin, region, 0, 0), host,
               imagePlace(image, host, region, row, slice), {n, waits}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueCopyBuffer)(cl_command_queue queue, cl_mem source,
                                                cl_mem destination, size_t from, size_t to,
                                                size_t bytes, cl_uint n, const cl_event* waits,
                                                cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueCopyBuffer(queue, source, destination, from, to, bytes, n, waits, slot);
  };
  if (!active()) return invoke(event);
  return copy(queue, source, destination, linearBox(from, bytes), linearBox(to, bytes), {n, waits},
              event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueCopyBufferRect)(cl_command_queue queue, cl_mem source,
                                                    cl_mem destination, const size_t* from,
                                                    const size_t* to, const size_t* region,
                                                    size_t from_row, size_t from_slice,
                                                    size_t to_row, size_t to_slice, cl_uint n,
                                                    const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueCopyBufferRect(queue, source, destination, from, to, region, from_row,
                                          from_slice, to_row, to_slice, n, waits, slot);
  };
  if (!active()) return invoke(event);
  return copy(queue, source, destination, boxOf(false, from, region, from_row, from_slice),
              boxOf(false, to, region, to_row, to_slice), {n, waits}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueCopyImage)(cl_command_queue queue, cl_mem source,
                                               cl_mem destination, const size_t* from,
                                               const size_t* to, const size_t* region, cl_uint n,
                                               const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueCopyImage(queue, source, destination, from, to, region, n, waits, slot);
  };
  if (!active()) return invoke(event);
  return copy(queue, source, destination, boxOf(true, from, region, 0, 0),
              boxOf(true, to, region, 0, 0), {n, waits}, event, invoke);
}

/// The range of a buffer that a copy from or to a region of an image accesses.
static rec::Box stretchOfImage(cl_mem image, const size_t* region, size_t offset) {
  const Place place = imagePlace(image, region, region, 0, 0);
  return linearBox(offset, place.bytes());
}

cl_int CL_API_CALL TS_WRAP(clEnqueueCopyImageToBuffer)(cl_command_queue queue, cl_mem image,
                                                       cl_mem memory, const size_t* from,
                                                       const size_t* region, size_t to, cl_uint n,
                                                       const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueCopyImageToBuffer(queue, image, memory, from, region, to, n, waits,
                                             slot);
  };
  if (!active()) return invoke(event);
  return copy(queue, image, memory, boxOf(true, from, region, 0, 0),
              stretchOfImage(image, region, to), {n, waits}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueCopyBufferToImage)(cl_command_queue queue, cl_mem memory,
                                                       cl_mem image, size_t from, const size_t* to,
                                                       const size_t* region, cl_uint n,
                                                       const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueCopyBufferToImage(queue, memory, image, from, to, region, n, waits,
                                             slot);
  };
  if (!active()) return invoke(event);
  return copy(queue, memory, image, stretchOfImage(image, region, from),
              boxOf(true, to, region, 0, 0), {n, waits}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueFillBuffer)(cl_command_queue queue, cl_mem memory,
                                                const void* pattern, size_t pattern_bytes,
                                                size_t offset, size_t bytes, cl_uint n,
                                                const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueFillBuffer(queue, memory, pattern, pattern_bytes, offset, bytes, n,
                                      waits, slot);
  };
  if (!active()) return invoke(event);
  rec::Fill c;
  c.queue = handleOf(queue);
  c.memory = handleOf(memory);
  c.box = linearBox(offset, bytes);
  if (pattern != nullptr && pattern_bytes <= 128) {
    c.pattern = {static_cast<const uint8_t*>(pattern), pattern_bytes};
  }
  return writing(c, objectOf<cl_mem>(c.memory), queue, {n, waits}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueFillImage)(cl_command_queue queue, cl_mem image,
                                               const void* colour, const size_t* origin,
                                               const size_t* region, cl_uint n,
                                               const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueFillImage(queue, image, colour, origin, region, n, waits, slot);
  };
  if (!active()) return invoke(event);
  rec::Fill c;
  c.queue = handleOf(queue);
  c.memory = handleOf(image);
  c.box = boxOf(true, origin, region, 0, 0);
  if (colour != nullptr) c.pattern = {static_cast<const uint8_t*>(colour), 16};
  return writing(c, objectOf<cl_mem>(c.memory), queue, {n, waits}, event, invoke);
}

}  // extern "C"
