// SPDX-License-Identifier: Apache-2.0
// Mapped memory objects. The content shown to the host is hashed; the content that the host leaves
// is recorded if it differs.
#include "tracesmith/capture/agents/opencl_record/recorder.hpp"

using namespace tracesmith::record;  // NOLINT: the wrappers below are C functions
namespace rec = tracesmith::recording;
using rec::command_flags::kBlocking;

namespace {

constexpr cl_map_flags kWrites = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;

void noteMap(cl_mem memory, const void* pointer, cl_map_flags flags, const rec::Box& box,
             const Place& place, const rec::ContentHash& shown) {
  MapState map;
  map.memory = handleOf(memory);
  map.pointer = handleOf(pointer);
  map.flags = flags;
  map.box = box;
  map.place = place;
  map.shown = shown;
  StateLock lock;
  g_objects.maps.add(map);
}

/// True if the host sees the mapped content; false if it only gets memory to overwrite.
bool isShownToHost(cl_map_flags flags) { return (flags & CL_MAP_WRITE_INVALIDATE_REGION) == 0; }

/// invoke(event, error) calls the driver; placeOf(pointer) returns the place of the bytes.
template <class PlaceOf, class Invoke>
void* map(cl_command_queue queue, cl_mem memory, cl_bool blocking, cl_map_flags flags,
          const rec::Box& box, Waits waits, cl_event* event, cl_int* error, PlaceOf&& placeOf,
          Invoke&& invoke) {
  cl_int e = CL_SUCCESS;
  rec::Map c;
  c.queue = handleOf(queue);
  c.memory = handleOf(memory);
  c.flags = flags;
  c.box = box;
  c.waits = handlesOf(waits.events, waits.count);
  Order order;
  const bool wanted = inRange();
  if (wanted && isShownToHost(flags)) recordHostChangesUnderObjects();
  Call call;
  void* pointer = nullptr;
  if (blocking) {
    call.flag(kBlocking);
    const uint64_t sequence = wanted ? put(c, call.started()) : kNotRecorded;
    order.release();
    const Sync waited = blockingIn(queue);
    pointer = invoke(event, &e);
    call.end(e);
    const Place place = pointer != nullptr ? placeOf(pointer) : Place{};
    Content content;
    if (wanted && pointer != nullptr && isShownToHost(flags)) content.take(place, Keep::kHashes);
    recordBlockingEnd(sequence, call, event, content, false, pointer);
    if (pointer != nullptr) noteMap(memory, pointer, flags, box, place, content.summary());
    settle(e == CL_SUCCESS ? waited : Sync{});
  } else {
    cl_event own = nullptr;
    cl_event* slot = event != nullptr ? event : &own;
    pointer = invoke(wanted && isShownToHost(flags) ? slot : event, &e);
    call.end(e);
    c.pointer = handleOf(pointer);
    c.event = pointer != nullptr && event != nullptr ? handleOf(*event) : 0;
    const uint64_t sequence = wanted ? put(c, call.info()) : kNotRecorded;
    const Place place = pointer != nullptr ? placeOf(pointer) : Place{};
    if (pointer != nullptr) noteMap(memory, pointer, flags, box, place, {});
    const bool tracked = pointer != nullptr && wanted && isShownToHost(flags) && *slot != nullptr;
    if (tracked && sequence != kNotRecorded) {
      awaitRead({PendingKind::kMap, sequence, *slot, handleOf(queue), place});
    }
    if (own != nullptr) next().clReleaseEvent(own);
  }
  if (error != nullptr) *error = e;
  return pointer;
}

/// Removes the latest map of this memory at this place from the table.
bool takeMap(Handle memory, Handle pointer, MapState& out) {
  StateLock lock;
  for (uint64_t i = g_objects.maps.size(); i-- > 0;) {
    const MapState& map = g_objects.maps[i];
    if (map.pointer != pointer || map.memory != memory) continue;
    out = map;
    g_objects.maps.erase(i);
    return true;
  }
  return false;
}

}  // namespace

extern "C" {

void* CL_API_CALL TS_WRAP(clEnqueueMapBuffer)(cl_command_queue queue, cl_mem memory,
                                              cl_bool blocking, cl_map_flags flags, size_t offset,
                                              size_t bytes, cl_uint n, const cl_event* waits,
                                              cl_event* event, cl_int* error) {
  auto invoke = [&](cl_event* slot, cl_int* e) {
    return next().clEnqueueMapBuffer(queue, memory, blocking, flags, offset, bytes, n, waits, slot,
                                     e);
  };
  if (!active()) return callAndSettle([&] { return invoke(event, error); });
  return map(
      queue, memory, blocking, flags, linearBox(offset, bytes), {n, waits}, event, error,
      [&](void* pointer) { return stretch(pointer, bytes); }, invoke);
}

void* CL_API_CALL TS_WRAP(clEnqueueMapImage)(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                             cl_map_flags flags, const size_t* origin,
                                             const size_t* region, size_t* row, size_t* slice,
                                             cl_uint n, const cl_event* waits, cl_event* event,
                                             cl_int* error) {
  auto invoke = [&](cl_event* slot, cl_int* e) {
    return next().clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice, n,
                                    waits, slot, e);
  };
  if (!active()) return callAndSettle([&] { return invoke(event, error); });
  return map(
      queue, image, blocking, flags, boxOf(true, origin, region, 0, 0), {n, waits}, event, error,
      [&](void* pointer) {
        return imagePlace(image, pointer, region, row != nullptr ? *row : 0,
                          slice != nullptr ? *slice : 0);
      },
      invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueUnmapMemObject)(cl_command_queue queue, cl_mem memory,
                                                    void* pointer, cl_uint n, const cl_event* waits,
                                                    cl_event* event) {
  auto invoke = [&] {
    return next().clEnqueueUnmapMemObject(queue, memory, pointer, n, waits, event);
  };
  if (!active()) {
    settle();  // another thread may be hashing it
    return invoke();
  }
  prepareUnmap(pointer);  // the content shown must be known before it can change
  Order order;
  const RangeCall wanted;
  rec::Unmap c;
  c.queue = handleOf(queue);
  c.memory = handleOf(memory);
  c.pointer = handleOf(pointer);
  MapState map;
  Content content;
  const bool mapped = takeMap(c.memory, c.pointer, map);
  if (mapped) {
    c.box = map.box;
    if (wanted && (map.flags & kWrites) != 0) {
      // The pointer is the program's until the driver has it back, so read the content now.
      Content now;
      if (!map.shown.empty()) now.take(map.place, Keep::kHashes);
      if (map.shown.empty() || !(now.summary() == map.shown)) {
        content.take(map.place, Keep::kBytes, map.shown.empty() ? nullptr : &now);
        c.content = content.payload();
      }
    }
  }
  Call call;
  call.end(invoke());
  if (mapped && call.info().result != CL_SUCCESS) {  // the host still has it
    StateLock lock;
    g_objects.maps.add(map);
  }
  if (wanted) {
    c.waits = handlesOf(waits, n);
    c.event = call.info().result == CL_SUCCESS && event != nullptr ? handleOf(*event) : 0;
    put(c, call.info());
  }
  return call.info().result;
}

}  // extern "C"
