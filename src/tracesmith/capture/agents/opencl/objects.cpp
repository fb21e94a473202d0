// SPDX-License-Identifier: Apache-2.0
// Calls that create contexts, queues, memory, programs and kernels.
#include "tracesmith/base/linux/readable_memory.hpp"
#include "tracesmith/capture/agents/opencl/describe.hpp"
#include "tracesmith/capture/agents/opencl/driver_quirks.hpp"
#include "tracesmith/capture/agents/opencl/layer_variable.hpp"
#include "tracesmith/capture/agents/opencl/queue_profiling.hpp"
#include "tracesmith/capture/agents/opencl/recorder.hpp"
#include "tracesmith/capture/agents/opencl/unwrapped_loaders.hpp"

namespace tracesmith::agent {

using tracesmith::isReadable;

namespace {

/// Set by the recorder (opencl_attempt_layout.hpp): a call that fails is not a call of the program.
constinit thread_local bool t_attempting __attribute__((tls_model("initial-exec"))) = false;

/// Runs `make(cl_int* error)`, records the call, and calls `describe(object)` if it succeeded.
template <class Make, class Describe>
auto create(OpenClApi api, cl_int* program_error, Make&& make, Describe&& describe) {
  if (!canRecord()) return make(program_error);
  HostCall call(api, nullptr);
  cl_int error = CL_SUCCESS;
  auto object = make(&error);
  call.end();
  if (object != nullptr && error == CL_SUCCESS) {
    describe(call, object);
  } else if (!t_attempting) {
    recordCall(call, error);
  }
  if (program_error != nullptr) *program_error = error;
  return object;
}

/// Creates a queue of the program with profiling enabled. If the driver refuses that, creates
/// exactly the queue that the program asked for.
template <class Make>
cl_command_queue createQueue(OpenClApi api, cl_context context, cl_device_id device,
                             cl_command_queue_properties asked_for, uint64_t bits,
                             cl_int* program_error, Make&& make) {
  HostCall call(api, nullptr);
  cl_int error = CL_SUCCESS;
  const bool on_device = (asked_for & CL_QUEUE_ON_DEVICE) != 0;
  const bool unasked = device != nullptr && profilesEveryQueue(device);
  const bool add = (asked_for & CL_QUEUE_PROFILING_ENABLE) == 0 && !on_device && !unasked;
  cl_command_queue queue = nullptr;
  bool ours = false;
  if (add) {
    queue = make(true, &error);
    ours = queue != nullptr && error == CL_SUCCESS;
  }
  if (!ours) queue = make(false, &error);
  call.end();
  if (queue != nullptr && error == CL_SUCCESS) {
    queueProfiling().set(queue, ours ? QueueProfiling::kOurs | bits : 0);
    call.stream = handleOf(queue);
    describeQueue(queue, context, device, asked_for);
  }
  recordCall(call, error);
  if (program_error != nullptr) *program_error = error;
  return queue;
}

/// A build step: `run()` calls the driver; the log size is read if the build has ended on return.
template <class Run>
cl_int build(OpenClApi api, BuildKind kind, cl_program* program, cl_context context,
             const char* options, bool asynchronous, Run&& run) {
  HostCall call(api, nullptr);
  const cl_int result = run();
  call.end();
  uint64_t log_bytes = 0;
  cl_device_id devices[64];
  size_t bytes = 0;
  if (*program != nullptr && !asynchronous &&
      next().clGetProgramInfo(*program, CL_PROGRAM_DEVICES, sizeof devices, devices, &bytes) ==
          CL_SUCCESS &&
      bytes >= sizeof devices[0]) {
    size_t size = 0;
    if (next().clGetProgramBuildInfo(*program, devices[0], CL_PROGRAM_BUILD_LOG, 0, nullptr,
                                     &size) == CL_SUCCESS) {
      log_bytes = size > 0 ? size - 1 : 0;  // without the NUL
    }
  }
  if (*program != nullptr && context == nullptr) {
    next().clGetProgramInfo(*program, CL_PROGRAM_CONTEXT, sizeof context, &context, nullptr);
  }
  constexpr size_t kMostOptions = 4096;
  // A driver that refuses the call may not have read the options, so they may be invalid.
  size_t length = 0;
  if (result == CL_SUCCESS) {
    length = options != nullptr ? strnlen(options, kMostOptions) : 0;
  } else if (!readableLength(options, kMostOptions, length)) {
    length = 0;
  }
  RecordWriter w(sizeof(arena::CallRecord) + sizeof(arena::BuildPart) + length);
  if (w) {
    call.put(w, arena::RecordKind::kBuild, asynchronous ? arena::kFlagAsync : 0, result);
    w.put(arena::BuildPart{handleOf(*program),
                           handleOf(context),
                           log_bytes,
                           static_cast<uint8_t>(kind),
                           {},
                           static_cast<uint32_t>(length)});
    w.putBytes(options, length);
  }
  return result;
}

void recordFree(const void* p) {
  const arena::FreeRecord r{{arena::RecordKind::kFree, 0, sizeof r / 8, 0}, stamp(), handleOf(p)};
  RecordWriter w(sizeof r);
  if (w) w.put(r);
}

void recordArgument(cl_kernel kernel, cl_uint index, size_t size, const void* value,
                    bool is_local) {
  arena::ArgumentRecord r{};
  r.header = {arena::RecordKind::kArgument, 0, sizeof r / 8, index};
  r.kernel = handleOf(kernel);
  r.bytes = size;
  r.is_local = is_local;
  if (value != nullptr) memcpy(&r.value, value, size < sizeof r.value ? size : sizeof r.value);
  RecordWriter w(sizeof r);
  if (w) w.put(r);
}

}  // namespace
}  // namespace tracesmith::agent

using namespace tracesmith::agent;  // NOLINT: the wrappers below are C functions
using tracesmith::BuildKind;
using tracesmith::OpenClApi;

extern "C" {

/// See opencl_attempt_layout.hpp.
__attribute__((visibility("default"))) void tracesmith_opencl_attempt(int attempting) {
  t_attempting = attempting != 0;
}

// The first call of most programs. Restores the variable before another loader reads it.
cl_int CL_API_CALL TS_WRAP(clGetPlatformIDs)(cl_uint most, cl_platform_id* platforms,
                                             cl_uint* count) {
  restoreLayerVariable();
  return next().clGetPlatformIDs(most, platforms, count);
}

cl_context CL_API_CALL TS_WRAP(clCreateContext)(
    const cl_context_properties* properties, cl_uint count, const cl_device_id* devices,
    void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*), void* user, cl_int* error) {
  restoreLayerVariable();
  reportLoadersWithoutLayers();
  return create(
      OpenClApi::clCreateContext, error,
      [&](cl_int* e) {
        return next().clCreateContext(properties, count, devices, notify, user, e);
      },
      [](const HostCall& call, cl_context context) {
        describeContext(context);
        recordCall(call, CL_SUCCESS);
      });
}

cl_context CL_API_CALL TS_WRAP(clCreateContextFromType)(
    const cl_context_properties* properties, cl_device_type type,
    void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*), void* user, cl_int* error) {
  restoreLayerVariable();
  reportLoadersWithoutLayers();
  return create(
      OpenClApi::clCreateContextFromType, error,
      [&](cl_int* e) { return next().clCreateContextFromType(properties, type, notify, user, e); },
      [](const HostCall& call, cl_context context) {
        describeContext(context);
        recordCall(call, CL_SUCCESS);
      });
}

cl_command_queue CL_API_CALL TS_WRAP(clCreateCommandQueue)(cl_context context, cl_device_id device,
                                                           cl_command_queue_properties properties,
                                                           cl_int* error) {
  if (!canRecord()) return next().clCreateCommandQueue(context, device, properties, error);
  return createQueue(OpenClApi::clCreateCommandQueue, context, device, properties, 0, error,
                     [&](bool with_profiling, cl_int* e) {
                       const cl_command_queue_properties p =
                           properties | (with_profiling ? CL_QUEUE_PROFILING_ENABLE : 0);
                       return next().clCreateCommandQueue(context, device, p, e);
                     });
}

cl_command_queue CL_API_CALL TS_WRAP(clCreateCommandQueueWithProperties)(
    cl_context context, cl_device_id device, const cl_queue_properties* properties, cl_int* error) {
  if (!canRecord()) {
    return next().clCreateCommandQueueWithProperties(context, device, properties, error);
  }
  // A copy of the list with the profiling bit added, in its CL_QUEUE_PROPERTIES pair or in a new
  // one.
  constexpr size_t kMost = 62;
  cl_queue_properties list[kMost + 3] = {};
  cl_command_queue_properties asked_for = 0;
  uint64_t bits = QueueProfiling::kPairAdded;
  size_t n = 0;
  // A driver that gets no context or device may not read the list at all.
  if (properties != nullptr && !isReadable(properties, sizeof *properties)) {
    return createQueue(OpenClApi::clCreateCommandQueueWithProperties, context, device, 0, bits,
                       error, [&](bool, cl_int* e) -> cl_command_queue {
                         return next().clCreateCommandQueueWithProperties(context, device,
                                                                          properties, e);
                       });
  }
  for (; properties != nullptr && properties[n] != 0 && n + 2 <= kMost; n += 2) {
    list[n] = properties[n];
    list[n + 1] = properties[n + 1];
    if (list[n] == CL_QUEUE_PROPERTIES) {
      asked_for = list[n + 1];
      list[n + 1] |= CL_QUEUE_PROFILING_ENABLE;
      bits = 0;
    }
  }
  const bool too_long = properties != nullptr && properties[n] != 0;
  if (bits == QueueProfiling::kPairAdded) {
    list[n] = CL_QUEUE_PROPERTIES;
    list[n + 1] = CL_QUEUE_PROFILING_ENABLE;
  }
  if (properties == nullptr) bits |= QueueProfiling::kListAdded;
  return createQueue(OpenClApi::clCreateCommandQueueWithProperties, context, device, asked_for,
                     bits, error, [&](bool with_profiling, cl_int* e) -> cl_command_queue {
                       const bool changed = with_profiling && !too_long;
                       return next().clCreateCommandQueueWithProperties(
                           context, device, changed ? list : properties, e);
                     });
}

cl_int CL_API_CALL TS_WRAP(clReleaseCommandQueue)(cl_command_queue queue) {
  if (!wanted()) return next().clReleaseCommandQueue(queue);
  HostCall call(OpenClApi::clReleaseCommandQueue, queue);
  const cl_int result = next().clReleaseCommandQueue(queue);
  call.end();
  recordCall(call, result);
  return result;
}

cl_mem CL_API_CALL TS_WRAP(clCreateBuffer)(cl_context context, cl_mem_flags flags, size_t size,
                                           void* host, cl_int* error) {
  return create(
      OpenClApi::clCreateBuffer, error,
      [&](cl_int* e) { return next().clCreateBuffer(context, flags, size, host, e); },
      [&](const HostCall& call, cl_mem m) { describeMemory(call, m, context, true); });
}

cl_mem CL_API_CALL TS_WRAP(clCreateBufferWithProperties)(cl_context context,
                                                         const cl_mem_properties* properties,
                                                         cl_mem_flags flags, size_t size,
                                                         void* host, cl_int* error) {
  return create(
      OpenClApi::clCreateBufferWithProperties, error,
      [&](cl_int* e) {
        return next().clCreateBufferWithProperties(context, properties, flags, size, host, e);
      },
      [&](const HostCall& call, cl_mem m) { describeMemory(call, m, context, true); });
}

cl_mem CL_API_CALL TS_WRAP(clCreateSubBuffer)(cl_mem parent, cl_mem_flags flags,
                                              cl_buffer_create_type type, const void* info,
                                              cl_int* error) {
  return create(
      OpenClApi::clCreateSubBuffer, error,
      [&](cl_int* e) { return next().clCreateSubBuffer(parent, flags, type, info, e); },
      [](const HostCall& call, cl_mem m) { describeMemory(call, m, nullptr, false); });
}

cl_mem CL_API_CALL TS_WRAP(clCreateImage)(cl_context context, cl_mem_flags flags,
                                          const cl_image_format* format,
                                          const cl_image_desc* description, void* host,
                                          cl_int* error) {
  return create(
      OpenClApi::clCreateImage, error,
      [&](cl_int* e) { return next().clCreateImage(context, flags, format, description, host, e); },
      [&](const HostCall& call, cl_mem m) { describeMemory(call, m, context, true); });
}

cl_mem CL_API_CALL TS_WRAP(clCreateImageWithProperties)(
    cl_context context, const cl_mem_properties* properties, cl_mem_flags flags,
    const cl_image_format* format, const cl_image_desc* description, void* host, cl_int* error) {
  return create(
      OpenClApi::clCreateImageWithProperties, error,
      [&](cl_int* e) {
        return next().clCreateImageWithProperties(context, properties, flags, format, description,
                                                  host, e);
      },
      [&](const HostCall& call, cl_mem m) { describeMemory(call, m, context, true); });
}

cl_mem CL_API_CALL TS_WRAP(clCreateImage2D)(cl_context context, cl_mem_flags flags,
                                            const cl_image_format* format, size_t width,
                                            size_t height, size_t row, void* host, cl_int* error) {
  return create(
      OpenClApi::clCreateImage2D, error,
      [&](cl_int* e) {
        return next().clCreateImage2D(context, flags, format, width, height, row, host, e);
      },
      [&](const HostCall& call, cl_mem m) { describeMemory(call, m, context, true); });
}

cl_mem CL_API_CALL TS_WRAP(clCreateImage3D)(cl_context context, cl_mem_flags flags,
                                            const cl_image_format* format, size_t width,
                                            size_t height, size_t depth, size_t row, size_t slice,
                                            void* host, cl_int* error) {
  return create(
      OpenClApi::clCreateImage3D, error,
      [&](cl_int* e) {
        return next().clCreateImage3D(context, flags, format, width, height, depth, row, slice,
                                      host, e);
      },
      [&](const HostCall& call, cl_mem m) { describeMemory(call, m, context, true); });
}

void* CL_API_CALL TS_WRAP(clSVMAlloc)(cl_context context, cl_svm_mem_flags flags, size_t size,
                                      cl_uint alignment) {
  if (!wanted()) return next().clSVMAlloc(context, flags, size, alignment);
  HostCall call(OpenClApi::clSVMAlloc, nullptr);
  void* p = next().clSVMAlloc(context, flags, size, alignment);
  call.end();
  if (p == nullptr) {
    recordCall(call, CL_OUT_OF_RESOURCES);  // the API returns no error code here
    return p;
  }
  RecordWriter w(sizeof(tracesmith::arena::CallRecord) + sizeof(tracesmith::arena::MemoryPart));
  if (w) {
    call.put(w, tracesmith::arena::RecordKind::kMemory, 0, CL_SUCCESS);
    w.put(tracesmith::arena::MemoryPart{handleOf(p), handleOf(context), size});
  }
  return p;
}

void CL_API_CALL TS_WRAP(clSVMFree)(cl_context context, void* p) {
  // Record it before the driver can give the address to another thread.
  if (p != nullptr && wanted()) recordFree(p);
  next().clSVMFree(context, p);
}

cl_int CL_API_CALL TS_WRAP(clEnqueueSVMFree)(
    cl_command_queue queue, cl_uint count, void* pointers[],
    void(CL_CALLBACK* free_function)(cl_command_queue, cl_uint, void*[], void*), void* user,
    cl_uint n, const cl_event* waits, cl_event* event) {
  if (!wanted()) {
    return next().clEnqueueSVMFree(queue, count, pointers, free_function, user, n, waits, event);
  }
  HostCall call(OpenClApi::clEnqueueSVMFree, queue);
  const cl_int result =
      next().clEnqueueSVMFree(queue, count, pointers, free_function, user, n, waits, event);
  call.end();
  recordCall(call, result);
  if (result == CL_SUCCESS) {
    for (cl_uint i = 0; pointers != nullptr && i < count; ++i) recordFree(pointers[i]);
  }
  return result;
}

cl_int CL_API_CALL TS_WRAP(clBuildProgram)(cl_program program, cl_uint count,
                                           const cl_device_id* devices, const char* options,
                                           void(CL_CALLBACK* notify)(cl_program, void*),
                                           void* user) {
  auto run = [&] { return next().clBuildProgram(program, count, devices, options, notify, user); };
  if (!wanted()) return run();
  return build(OpenClApi::clBuildProgram, BuildKind::kBuild, &program, nullptr, options,
               notify != nullptr, run);
}

cl_int CL_API_CALL TS_WRAP(clCompileProgram)(cl_program program, cl_uint count,
                                             const cl_device_id* devices, const char* options,
                                             cl_uint headers, const cl_program* header_programs,
                                             const char** header_names,
                                             void(CL_CALLBACK* notify)(cl_program, void*),
                                             void* user) {
  auto run = [&] {
    return next().clCompileProgram(program, count, devices, options, headers, header_programs,
                                   header_names, notify, user);
  };
  if (!wanted()) return run();
  return build(OpenClApi::clCompileProgram, BuildKind::kCompile, &program, nullptr, options,
               notify != nullptr, run);
}

cl_program CL_API_CALL TS_WRAP(clLinkProgram)(cl_context context, cl_uint count,
                                              const cl_device_id* devices, const char* options,
                                              cl_uint inputs, const cl_program* input_programs,
                                              void(CL_CALLBACK* notify)(cl_program, void*),
                                              void* user, cl_int* error) {
  if (!wanted()) {
    return next().clLinkProgram(context, count, devices, options, inputs, input_programs, notify,
                                user, error);
  }
  cl_program linked = nullptr;
  const cl_int result = build(OpenClApi::clLinkProgram, BuildKind::kLink, &linked, context, options,
                              notify != nullptr, [&] {
                                cl_int e = CL_SUCCESS;
                                linked =
                                    next().clLinkProgram(context, count, devices, options, inputs,
                                                         input_programs, notify, user, &e);
                                return e;
                              });
  if (error != nullptr) *error = result;
  return linked;
}

cl_kernel CL_API_CALL TS_WRAP(clCreateKernel)(cl_program program, const char* name, cl_int* error) {
  return create(
      OpenClApi::clCreateKernel, error,
      [&](cl_int* e) { return next().clCreateKernel(program, name, e); },
      [](const HostCall& call, cl_kernel kernel) {
        describeKernel(kernel);
        recordCall(call, CL_SUCCESS);
      });
}

cl_int CL_API_CALL TS_WRAP(clCreateKernelsInProgram)(cl_program program, cl_uint count,
                                                     cl_kernel* kernels, cl_uint* made) {
  if (!canRecord()) return next().clCreateKernelsInProgram(program, count, kernels, made);
  HostCall call(OpenClApi::clCreateKernelsInProgram, nullptr);
  cl_uint n = 0;
  const cl_int result = next().clCreateKernelsInProgram(program, count, kernels, &n);
  call.end();
  if (result == CL_SUCCESS) {
    for (cl_uint i = 0; kernels != nullptr && i < n; ++i) describeKernel(kernels[i]);
    if (made != nullptr) *made = n;
  }
  recordCall(call, result);
  return result;
}

cl_kernel CL_API_CALL TS_WRAP(clCloneKernel)(cl_kernel source, cl_int* error) {
  return create(
      OpenClApi::clCloneKernel, error, [&](cl_int* e) { return next().clCloneKernel(source, e); },
      [](const HostCall& call, cl_kernel kernel) {
        describeKernel(kernel);
        recordCall(call, CL_SUCCESS);
      });
}

cl_event CL_API_CALL TS_WRAP(clCreateUserEvent)(cl_context context, cl_int* error) {
  return create(
      OpenClApi::clCreateUserEvent, error,
      [&](cl_int* e) { return next().clCreateUserEvent(context, e); },
      [](const HostCall& call, cl_event event) {
        // The handle may have been a command's event. Waits for it are from now on not waits for a
        // command.
        recordObject(tracesmith::ObjectKind::kEvent, handleOf(event), 0, 0, 0, nullptr, 0);
        recordCall(call, CL_SUCCESS);
      });
}

cl_int CL_API_CALL TS_WRAP(clSetKernelArg)(cl_kernel kernel, cl_uint index, size_t size,
                                           const void* value) {
  const cl_int result = next().clSetKernelArg(kernel, index, size, value);
  if (!canRecord()) return result;
  if (result == CL_SUCCESS) {
    recordArgument(kernel, index, size, value, value == nullptr);
  } else {
    HostCall call(OpenClApi::clSetKernelArg, nullptr);
    call.end();
    recordCall(call, result);
  }
  return result;
}

cl_int CL_API_CALL TS_WRAP(clSetKernelArgSVMPointer)(cl_kernel kernel, cl_uint index,
                                                     const void* pointer) {
  const cl_int result = next().clSetKernelArgSVMPointer(kernel, index, pointer);
  if (canRecord() && result == CL_SUCCESS) {
    recordArgument(kernel, index, sizeof pointer, &pointer, false);
  }
  return result;
}

}  // extern "C"
