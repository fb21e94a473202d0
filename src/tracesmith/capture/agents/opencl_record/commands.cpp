// SPDX-License-Identifier: Apache-2.0
// Launches, markers, barriers, migrations, and calls that cannot be replayed.
#include "tracesmith/capture/agents/opencl_record/recorder.hpp"

using namespace tracesmith::record;  // NOLINT: the wrappers below are C functions
namespace rec = tracesmith::recording;

namespace {

template <class Invoke>
cl_int launch(rec::Launch& c, cl_command_queue queue, cl_kernel kernel, Waits waits,
              cl_event* event, Invoke&& invoke) {
  Order order;
  const RangeCall wanted(QueueCall::kLaunch, kernel);
  if (!wanted) {
    const cl_int result = invoke(event);
    afterLaunch(queue, kernel, kNotRecorded, result == CL_SUCCESS);
    return result;
  }
  recordHostChanges();
  SharedUse use;
  use.add(kernel);
  c.queue = handleOf(queue);
  c.kernel = handleOf(kernel);
  uint64_t sequence = kNotRecorded;
  const cl_int result = usingShared(c, use, queue, waits, event, invoke, &sequence);
  afterLaunch(queue, kernel, sequence, result == CL_SUCCESS);
  return result;
}

template <class Invoke>
cl_int marker(cl_command_queue queue, bool is_barrier, Waits waits, cl_event* event,
              Invoke&& invoke) {
  rec::Marker c;
  c.queue = handleOf(queue);
  c.is_barrier = is_barrier ? 1 : 0;
  return queueCommand(c, waits, event, invoke);
}

/// A queue command of which only the name can be recorded.
template <class Invoke>
cl_int foreign(const char* function, cl_command_queue queue, cl_event* event, Invoke&& invoke) {
  Order order;
  const RangeCall wanted;
  Call call;
  call.end(invoke());
  const bool has_event = call.info().result == CL_SUCCESS && event != nullptr;
  if (wanted) unsupported(function, call, queue, has_event ? *event : nullptr);
  return call.info().result;
}

}  // namespace

extern "C" {

cl_int CL_API_CALL TS_WRAP(clEnqueueNDRangeKernel)(cl_command_queue queue, cl_kernel kernel,
                                                   cl_uint dimensions, const size_t* offset,
                                                   const size_t* global, const size_t* local,
                                                   cl_uint n, const cl_event* waits,
                                                   cl_event* event) {
  auto invoke = [&](cl_event* slot) {
    return next().clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, n, waits,
                                         slot);
  };
  if (!active()) return invoke(event);
  rec::Launch c;
  const cl_uint kept = dimensions <= 3 ? dimensions : 0;
  c.offset = sizesOf(offset, kept);
  c.global = sizesOf(global, kept);
  c.local = sizesOf(local, kept);
  return launch(c, queue, kernel, {n, waits}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueTask)(cl_command_queue queue, cl_kernel kernel, cl_uint n,
                                          const cl_event* waits, cl_event* event) {
  auto invoke = [&](cl_event* slot) { return next().clEnqueueTask(queue, kernel, n, waits, slot); };
  if (!active()) return invoke(event);
  rec::Launch c;
  c.is_task = 1;
  return launch(c, queue, kernel, {n, waits}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueNativeKernel)(cl_command_queue queue,
                                                  void(CL_CALLBACK* function)(void*), void* args,
                                                  size_t bytes, cl_uint count, const cl_mem* list,
                                                  const void** places, cl_uint n,
                                                  const cl_event* waits, cl_event* event) {
  auto invoke = [&] {
    return next().clEnqueueNativeKernel(queue, function, args, bytes, count, list, places, n, waits,
                                        event);
  };
  if (!active()) return invoke();
  return foreign("clEnqueueNativeKernel", queue, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueMarker)(cl_command_queue queue, cl_event* event) {
  auto invoke = [&] { return next().clEnqueueMarker(queue, event); };
  if (!active()) return invoke();
  return marker(queue, false, {0, nullptr}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueMarkerWithWaitList)(cl_command_queue queue, cl_uint n,
                                                        const cl_event* waits, cl_event* event) {
  auto invoke = [&] { return next().clEnqueueMarkerWithWaitList(queue, n, waits, event); };
  if (!active()) return invoke();
  return marker(queue, false, {n, waits}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueBarrier)(cl_command_queue queue) {
  auto invoke = [&] { return next().clEnqueueBarrier(queue); };
  if (!active()) return invoke();
  return marker(queue, true, {0, nullptr}, nullptr, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueBarrierWithWaitList)(cl_command_queue queue, cl_uint n,
                                                         const cl_event* waits, cl_event* event) {
  auto invoke = [&] { return next().clEnqueueBarrierWithWaitList(queue, n, waits, event); };
  if (!active()) return invoke();
  return marker(queue, true, {n, waits}, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueWaitForEvents)(cl_command_queue queue, cl_uint n,
                                                   const cl_event* events) {
  auto invoke = [&] { return next().clEnqueueWaitForEvents(queue, n, events); };
  if (!active()) return invoke();
  Order order;
  const RangeCall wanted;
  Call call;
  call.end(invoke());
  if (!wanted) return call.info().result;
  rec::WaitForEvents c;
  c.events = handlesOf(events, n);
  c.queue = handleOf(queue);
  put(c, call.info());
  return call.info().result;
}

cl_int CL_API_CALL TS_WRAP(clEnqueueMigrateMemObjects)(cl_command_queue queue, cl_uint count,
                                                       const cl_mem* objects,
                                                       cl_mem_migration_flags flags, cl_uint n,
                                                       const cl_event* waits, cl_event* event) {
  auto invoke = [&] {
    return next().clEnqueueMigrateMemObjects(queue, count, objects, flags, n, waits, event);
  };
  if (!active()) return invoke();
  rec::Migrate c;
  c.queue = handleOf(queue);
  c.objects = handlesOf(objects, count);
  c.flags = flags;
  return queueCommand(c, {n, waits}, event, invoke);
}

cl_mem CL_API_CALL TS_WRAP(clCreatePipe)(cl_context context, cl_mem_flags flags, cl_uint packet,
                                         cl_uint packets, const cl_pipe_properties* properties,
                                         cl_int* error) {
  if (!active()) {
    return next().clCreatePipe(context, flags, packet, packets, properties, error);
  }
  Call call;
  cl_int e = CL_SUCCESS;
  cl_mem pipe = next().clCreatePipe(context, flags, packet, packets, properties, &e);
  call.end(e);
  unsupported("clCreatePipe", call);
  if (error != nullptr) *error = e;
  return pipe;
}

// --- Objects shared with a graphics API: created elsewhere, so their content is unknown ---------

#define TS_FROM_GL(Function, parameters, arguments)                          \
  cl_mem CL_API_CALL TS_WRAP(Function) parameters {                          \
    if (!active()) return next().Function arguments;                         \
    Call call;                                                               \
    cl_mem made = next().Function arguments;                                 \
    call.end(made != nullptr ? CL_SUCCESS : error != nullptr ? *error : -1); \
    unsupported(#Function, call);                                            \
    return made;                                                             \
  }
TS_FROM_GL(clCreateFromGLBuffer,
           (cl_context context, cl_mem_flags flags, cl_GLuint object, int* error),
           (context, flags, object, error))
TS_FROM_GL(clCreateFromGLTexture,
           (cl_context context, cl_mem_flags flags, cl_GLenum target, cl_GLint level,
            cl_GLuint texture, cl_int* error),
           (context, flags, target, level, texture, error))
TS_FROM_GL(clCreateFromGLTexture2D,
           (cl_context context, cl_mem_flags flags, cl_GLenum target, cl_GLint level,
            cl_GLuint texture, cl_int* error),
           (context, flags, target, level, texture, error))
TS_FROM_GL(clCreateFromGLTexture3D,
           (cl_context context, cl_mem_flags flags, cl_GLenum target, cl_GLint level,
            cl_GLuint texture, cl_int* error),
           (context, flags, target, level, texture, error))
TS_FROM_GL(clCreateFromGLRenderbuffer,
           (cl_context context, cl_mem_flags flags, cl_GLuint object, cl_int* error),
           (context, flags, object, error))
#undef TS_FROM_GL

cl_int CL_API_CALL TS_WRAP(clEnqueueAcquireGLObjects)(cl_command_queue queue, cl_uint count,
                                                      const cl_mem* objects, cl_uint n,
                                                      const cl_event* waits, cl_event* event) {
  auto invoke = [&] {
    return next().clEnqueueAcquireGLObjects(queue, count, objects, n, waits, event);
  };
  if (!active()) return invoke();
  return foreign("clEnqueueAcquireGLObjects", queue, event, invoke);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueReleaseGLObjects)(cl_command_queue queue, cl_uint count,
                                                      const cl_mem* objects, cl_uint n,
                                                      const cl_event* waits, cl_event* event) {
  auto invoke = [&] {
    return next().clEnqueueReleaseGLObjects(queue, count, objects, n, waits, event);
  };
  if (!active()) return invoke();
  return foreign("clEnqueueReleaseGLObjects", queue, event, invoke);
}

}  // extern "C"
