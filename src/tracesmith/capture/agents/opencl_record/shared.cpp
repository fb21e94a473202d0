// SPDX-License-Identifier: Apache-2.0
// Shared virtual memory: allocations, commands on them, and the host's changes to them.
#include "tracesmith/capture/agents/opencl_record/recorder.hpp"

using namespace tracesmith::record;  // NOLINT: the wrappers below are C functions
namespace rec = tracesmith::recording;
using rec::command_flags::kBlocking;

namespace {

/// Removes freed allocations from the table before the driver can reuse their addresses.
void forget(Handles pointers) {
  for (const uint64_t p : pointers) g_objects.svm.erase(p);
}

/// nullptr if the queue is unknown.
cl_context contextOfQueue(cl_command_queue queue) {
  StateLock lock;
  const QueueState* state = g_objects.queues.find(handleOf(queue));
  return state != nullptr ? state->context : nullptr;
}

/// The retained context, or nullptr.
cl_context contextOf(cl_command_queue queue) {
  cl_context context = nullptr;
  next().clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, nullptr);
  return context != nullptr && next().clRetainContext(context) == CL_SUCCESS ? context : nullptr;
}

/// Frees the pointers of a clEnqueueSVMFree instead of the driver.
void CL_CALLBACK freeForUs(cl_command_queue /*queue*/, cl_uint count, void* pointers[],
                           void* context_of_queue) {
  auto* const context = static_cast<cl_context>(context_of_queue);
  for (cl_uint i = 0; i < count; ++i) {
    bool later = false;
    if (tablesUsable()) {
      StateLock lock;
      later = deferFree(context, pointers[i]);
    }
    if (!later) next().clSVMFree(context, pointers[i]);
  }
  next().clReleaseContext(context);
}

/// A recorded copy between shared memory and host memory, or within either.
struct SharedCopy {
  SharedCopy(cl_command_queue q, void* destination, const void* source, size_t bytes) : queue(q) {
    command.queue = handleOf(q);
    command.destination = handleOf(destination);
    command.source = handleOf(source);
    command.bytes = bytes;
    StateLock lock;
    from_host = !isShared(source, bytes);
    to_host = !isShared(destination, bytes);
  }
  cl_command_queue queue;
  rec::SvmCopy command;
  bool from_host = false;
  bool to_host = false;
  bool later = false;  // read the source when the command is complete
  Place here;          // the source
  Place there;         // the destination, if it is host memory
  Content content;
};

template <class Invoke>
cl_int copyAndWait(SharedCopy& copy, Call& call, Order& order, cl_event* event, Invoke& invoke) {
  if (copy.from_host && !copy.later) copy.content.take(copy.here, Keep::kBytes);
  copy.command.content = copy.content.payload();
  call.flag(kBlocking);
  const uint64_t sequence = put(copy.command, call.started());
  order.release();
  const Sync waited = blockingIn(copy.queue);
  call.end(invoke(event));
  Content shown;
  const bool success = call.info().result == CL_SUCCESS;
  if (copy.to_host && success) shown.take(copy.there, keepOutputs());
  if (copy.later && success) shown.take(copy.here, Keep::kBytes);
  recordBlockingEnd(sequence, call, event, shown,
                    copy.later || (copy.to_host && options().keep_outputs), nullptr);
  settle(success ? waited : Sync{});
  return call.info().result;
}

template <class Invoke>
cl_int enqueueCopy(SharedCopy& copy, Call& call, SharedUse& use, cl_event* event, Invoke& invoke) {
  const bool read_later = copy.to_host || copy.later;
  cl_event own = nullptr;
  cl_event* slot = event == nullptr && (read_later || use.any()) ? &own : event;
  call.end(invoke(slot));
  const bool success = call.info().result == CL_SUCCESS;
  if (success && copy.from_host && !copy.later) {
    copy.content.take(copy.here, Keep::kBytes);
  }
  copy.command.content = copy.content.payload();
  copy.command.event = success && event != nullptr ? handleOf(*event) : 0;
  const uint64_t sequence = put(copy.command, call.info());
  const bool followed = success && slot != nullptr;
  if (followed && read_later && sequence != kNotRecorded) {
    awaitRead({copy.to_host ? PendingKind::kRead : PendingKind::kSource, sequence, *slot,
               handleOf(copy.queue), copy.to_host ? copy.there : copy.here});
  }
  use.await(copy.queue, followed ? *slot : nullptr);
  if (own != nullptr) next().clReleaseEvent(own);
  return call.info().result;
}

}  // namespace

extern "C" {

void* CL_API_CALL TS_WRAP(clSVMAlloc)(cl_context context, cl_svm_mem_flags flags, size_t bytes,
                                      cl_uint alignment) {
  if (!active()) return next().clSVMAlloc(context, flags, bytes, alignment);
  Call call;
  void* p = next().clSVMAlloc(context, flags, bytes, alignment);
  if (p != nullptr) zeroShared(context, p, bytes, flags);
  call.end(p != nullptr ? CL_SUCCESS : CL_OUT_OF_RESOURCES);  // the API returns no error code here
  rec::SvmAlloc c;
  c.pointer = handleOf(p);
  c.context = handleOf(context);
  c.flags = flags;
  c.bytes = bytes;
  c.alignment = alignment;
  StateLock lock;
  putLocked(c, call.info());
  if (SvmState* state = p != nullptr ? g_objects.svm.insert(c.pointer) : nullptr) {
    state->context = context;
    state->flags = flags;
    state->bytes = bytes;
    state->number = ++g_objects.allocations;
  }
  return p;
}

void CL_API_CALL TS_WRAP(clSVMFree)(cl_context context, void* p) {
  const Handle pointer = handleOf(p);
  if (active()) {
    rec::SvmFree c;
    c.context = handleOf(context);
    c.pointers = {&pointer, 1};
    Order order;
    Call call;
    call.end(CL_SUCCESS);
    StateLock lock;
    putLocked(c, call.info());
    forget(c.pointers);
    if (deferFree(context, p)) return;
  } else if (tablesUsable()) {
    StateLock lock;
    forget({&pointer, 1});
    if (deferFree(context, p)) return;
  }
  next().clSVMFree(context, p);
}

cl_int CL_API_CALL
TS_WRAP(clEnqueueSVMFree)(cl_command_queue queue, cl_uint count, void* pointers[],
                          void(CL_CALLBACK* function)(cl_command_queue, cl_uint, void*[], void*),
                          void* user, cl_uint n, const cl_event* waits, cl_event* event) {
  auto invoke = [&] {
    return next().clEnqueueSVMFree(queue, count, pointers, function, user, n, waits, event);
  };
  if (!tablesUsable()) return invoke();
  const bool records = active();
  Order order;
  if (records) (void)inRange();
  rec::SvmFree c;
  c.queue = handleOf(queue);
  c.pointers = handlesOf(pointers, count);
  if (!isReadable(c.pointers.data(), c.pointers.size_bytes())) c.pointers = {};
  c.waits = handlesOf(waits, n);
  // From now on the driver may free the memory at any time, so remove it from the table first.
  List<Shared> forgotten;
  bool looked_at = false;
  {
    StateLock lock;
    for (const uint64_t p : c.pointers) {
      if (const SvmState* s = g_objects.svm.find(p)) forgotten.add({p, *s});
    }
    forget(c.pointers);
    looked_at = isSharedBeingRead();
  }
  if (looked_at && function == nullptr) {
    user = contextOf(queue);
    if (user != nullptr) function = freeForUs;
  }
  Call call;
  call.end(invoke());
  const bool success = call.info().result == CL_SUCCESS;
  if (!success && function == freeForUs) next().clReleaseContext(static_cast<cl_context>(user));
  c.event = success && event != nullptr ? handleOf(*event) : 0;
  {
    StateLock lock;
    if (records) putLocked(c, call.info());
    for (const Shared& o : forgotten) {
      SvmState* state = success ? nullptr : g_objects.svm.insert(o.pointer);
      if (state == nullptr) continue;
      *state = o.state;
      state->uses = 0;
    }
  }
  forgotten.free();
  return call.info().result;
}

cl_int CL_API_CALL TS_WRAP(clEnqueueSVMMemcpy)(cl_command_queue queue, cl_bool blocking,
                                               void* destination, const void* source, size_t bytes,
                                               cl_uint n, const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueSVMMemcpy(queue, blocking, destination, source, bytes, n, waits, slot);
  };
  if (!active()) return callAndSettle([&] { return invoke(event); });
  Order order;
  const RangeCall wanted;
  if (!wanted) {
    if (blocking) order.release();
    const cl_int result = invoke(event);
    if (blocking) settle();
    return result;
  }
  SharedCopy copy(queue, destination, source, bytes);
  recordHostChanges();
  SharedUse use;
  if (!copy.to_host) use.add(handleOf(destination));
  copy.there = stretch(destination, copy.to_host ? bytes : 0);
  if (copy.to_host) prepareOverwrite(copy.there);
  copy.command.waits = handlesOf(waits, n);
  Call call;
  copy.here = stretch(source, bytes);
  copy.later = copy.from_host && !copy.to_host && mayBeFilled(copy.here);
  if (blocking && copy.from_host && !copy.later) {
    copy.later = !isProbablyValid(queue, contextOfQueue(queue), n, waits) || source == nullptr ||
                 destination == nullptr;
  }
  if (copy.later) copy.content.unknown(bytes);
  return blocking ? copyAndWait(copy, call, order, event, invoke)
                  : enqueueCopy(copy, call, use, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueSVMMemFill)(cl_command_queue queue, void* p,
                                                const void* pattern, size_t pattern_bytes,
                                                size_t bytes, cl_uint n, const cl_event* waits,
                                                cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueSVMMemFill(queue, p, pattern, pattern_bytes, bytes, n, waits, slot);
  };
  if (!active()) return invoke(event);
  rec::SvmFill c;
  c.queue = handleOf(queue);
  c.pointer = handleOf(p);
  c.bytes = bytes;
  if (pattern != nullptr && pattern_bytes <= 128) {
    c.pattern = {static_cast<const uint8_t*>(pattern), pattern_bytes};
  }
  Order order;
  const RangeCall wanted;
  if (!wanted) return invoke(event);
  recordHostChanges();
  SharedUse use;
  use.add(c.pointer);
  return usingShared(c, use, queue, {n, waits}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueSVMMap)(cl_command_queue queue, cl_bool blocking,
                                            cl_map_flags flags, void* p, size_t bytes, cl_uint n,
                                            const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueSVMMap(queue, blocking, flags, p, bytes, n, waits, slot);
  };
  if (!active()) return callAndSettle([&] { return invoke(event); });
  Order order;
  const bool wanted = inRange();
  rec::SvmMap c;
  c.queue = handleOf(queue);
  c.pointer = handleOf(p);
  c.flags = flags;
  c.bytes = bytes;
  c.waits = handlesOf(waits, n);
  MapState map;
  map.pointer = handleOf(p);
  map.flags = flags;
  map.place = stretch(p, bytes);
  const bool shows = (flags & CL_MAP_WRITE_INVALIDATE_REGION) == 0;
  Call call;
  if (blocking) {
    call.flag(kBlocking);
    const uint64_t sequence = wanted ? put(c, call.started()) : kNotRecorded;
    order.release();
    const Sync waited = blockingIn(queue);
    call.end(invoke(event));
    Content content;
    const bool success = call.info().result == CL_SUCCESS;
    if (wanted && success && shows) content.take(map.place, Keep::kHashes);
    map.shown = content.summary();
    recordBlockingEnd(sequence, call, event, content, false, p);
    if (success) {
      StateLock lock;
      g_objects.maps.add(map);
    }
    settle(success ? waited : Sync{});
    return call.info().result;
  }
  cl_event own = nullptr;
  cl_event* slot = event != nullptr || !wanted || !shows ? event : &own;
  call.end(invoke(slot));
  const bool success = call.info().result == CL_SUCCESS;
  c.event = success && event != nullptr ? handleOf(*event) : 0;
  const uint64_t sequence = wanted ? put(c, call.info()) : kNotRecorded;
  if (success) {
    StateLock lock;
    g_objects.maps.add(map);
  }
  if (success && wanted && shows && sequence != kNotRecorded && *slot != nullptr) {
    awaitRead({PendingKind::kMap, sequence, *slot, handleOf(queue), map.place});
  }
  if (own != nullptr) next().clReleaseEvent(own);
  return call.info().result;
}

cl_int CL_API_CALL TS_WRAP(clEnqueueSVMUnmap)(cl_command_queue queue, void* p, cl_uint n,
                                              const cl_event* waits, cl_event* event) {
  auto invoke = [&] { return next().clEnqueueSVMUnmap(queue, p, n, waits, event); };
  if (!active()) {
    settle();
    return invoke();
  }
  prepareUnmap(p);
  Order order;
  const RangeCall wanted;
  MapState map;
  bool mapped = false;
  {
    StateLock lock;
    for (uint64_t i = g_objects.maps.size(); i-- > 0 && !mapped;) {
      if (g_objects.maps[i].memory != 0 || g_objects.maps[i].pointer != handleOf(p)) continue;
      map = g_objects.maps[i];
      g_objects.maps.erase(i);
      mapped = true;
    }
  }
  constexpr cl_map_flags kWrites = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
  if (wanted && mapped && (map.flags & kWrites) != 0) {
    Content now;
    if (!map.shown.empty()) now.take(map.place, Keep::kHashes);
    if (map.shown.empty() || !(now.summary() == map.shown)) {
      // Record the host's changes before it gives the memory back.
      Content content;
      content.take(map.place, Keep::kBytes, map.shown.empty() ? nullptr : &now);
      rec::Snapshot s;
      s.memory = handleOf(p);
      s.is_svm = 1;
      s.content = content.payload();
      s.kept = 1;
      const int64_t at = nowNs();
      put(s, {at, at, 0, rec::command_flags::kAddedByAgent});
    }
  }
  rec::SvmUnmap c;
  c.queue = handleOf(queue);
  c.pointer = handleOf(p);
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

cl_int CL_API_CALL TS_WRAP(clEnqueueSVMMigrateMem)(cl_command_queue queue, cl_uint count,
                                                   const void** pointers, const size_t* sizes,
                                                   cl_mem_migration_flags flags, cl_uint n,
                                                   const cl_event* waits, cl_event* event) {
  auto invoke = [&] {
    return next().clEnqueueSVMMigrateMem(queue, count, pointers, sizes, flags, n, waits, event);
  };
  if (!active()) return invoke();
  rec::Migrate c;
  c.queue = handleOf(queue);
  c.objects = handlesOf(pointers, count);
  c.sizes = sizesOf(sizes, count);
  c.is_svm = 1;
  c.flags = flags;
  return queueCommand(c, {n, waits}, event, invoke);
}

}  // extern "C"
