// SPDX-License-Identifier: Apache-2.0
// Programs in every form, their builds, kernels and kernel arguments.
#include "tracesmith/capture/agents/opencl_record/recorder.hpp"

using namespace tracesmith::record;  // NOLINT: the wrappers below are C functions
namespace rec = tracesmith::recording;
using rec::ProgramForm;

namespace tracesmith::record {

void unsupported(const char* function, const Call& call, cl_command_queue queue, cl_event event) {
  if (call.info().result != CL_SUCCESS) return;  // it had no effect that a replay would need
  rec::Unsupported c;
  c.function = textOf(function);
  c.queue = handleOf(queue);
  c.event = handleOf(event);
  put(c, call.info());
}

namespace {

/// Joins pieces of bytes.
class Joined {
 public:
  ~Joined() { free(bytes_); }
  bool add(const void* p, size_t n) {
    auto* more = static_cast<char*>(realloc(bytes_, size_ + n + 1));
    if (more == nullptr) return false;
    bytes_ = more;
    if (n > 0) memcpy(bytes_ + size_, p, n);
    size_ += n;
    return true;
  }
  const char* data() const { return bytes_; }
  size_t size() const { return size_; }

 private:
  char* bytes_ = nullptr;
  size_t size_ = 0;
};

void noteNewProgram(const Call& call, cl_program program, cl_context context, ProgramForm form,
                    const void* code, uint64_t bytes, Handles devices = {}, rec::Sizes sizes = {}) {
  Content content;
  content.take(code, code != nullptr ? bytes : 0);
  rec::CreateProgram c;
  c.program = handleOf(program);
  c.context = handleOf(context);
  c.form = form;
  c.devices = devices;
  c.code = content.payload();
  c.sizes = sizes;
  StateLock lock;
  putLocked(c, call.info());
  if (program != nullptr) noteObject(g_objects.plain, c.program);
}

void noteNewKernel(const Call& call, cl_kernel kernel, cl_program program, const char* name,
                   uint16_t flags = 0) {
  const bool wanted = kernel != nullptr && name != nullptr && isKernelSelected(name);
  rec::CreateKernel c;
  c.kernel = handleOf(kernel);
  c.program = handleOf(program);
  c.name = kernel != nullptr ? textOf(name) : readableTextOf(name);
  CallInfo info = call.info();
  info.flags = static_cast<uint16_t>(info.flags | flags);
  StateLock lock;
  putLocked(c, info);
  if (kernel == nullptr) return;
  if (KernelState* state = g_objects.kernels.insert(c.kernel)) state->wanted = wanted;
}

template <class Invoke>
cl_int build(rec::BuildProgram& c, Invoke&& invoke) {
  Call call;
  const uint64_t sequence = put(c, call.started());
  call.end(invoke());
  done(sequence, call);
  return call.info().result;
}

/// State lock.
void noteArgument(cl_kernel kernel, cl_uint index, uint64_t value) {
  KernelState* state = g_objects.kernels.find(handleOf(kernel));
  if (state == nullptr || index > 4096) return;
  while (state->arguments.size() <= index) {
    if (!state->arguments.add(0)) return;
  }
  state->arguments[index] = value;
}

}  // namespace
}  // namespace tracesmith::record

extern "C" {

cl_program CL_API_CALL TS_WRAP(clCreateProgramWithSource)(cl_context context, cl_uint count,
                                                          const char** texts, const size_t* lengths,
                                                          cl_int* error) {
  if (!active()) {
    return next().clCreateProgramWithSource(context, count, texts, lengths, error);
  }
  Call call;
  cl_int e = CL_SUCCESS;
  cl_program program = next().clCreateProgramWithSource(context, count, texts, lengths, &e);
  call.end(e);
  Joined source;
  for (cl_uint i = 0; program != nullptr && i < count; ++i) {
    const size_t n = lengths != nullptr && lengths[i] != 0 ? lengths[i] : strlen(texts[i]);
    if (!source.add(texts[i], n)) break;
  }
  noteNewProgram(call, program, context, ProgramForm::kSource, source.data(), source.size());
  if (error != nullptr) *error = e;
  return program;
}

cl_program CL_API_CALL TS_WRAP(clCreateProgramWithBinary)(cl_context context, cl_uint count,
                                                          const cl_device_id* devices,
                                                          const size_t* lengths,
                                                          const unsigned char** binaries,
                                                          cl_int* status, cl_int* error) {
  if (!active()) {
    return next().clCreateProgramWithBinary(context, count, devices, lengths, binaries, status,
                                            error);
  }
  Call call;
  cl_int e = CL_SUCCESS;
  cl_program program =
      next().clCreateProgramWithBinary(context, count, devices, lengths, binaries, status, &e);
  call.end(e);
  Joined code;
  const bool made = program != nullptr;
  const bool given = devices != nullptr && lengths != nullptr && binaries != nullptr &&
                     (made || (isReadable(lengths, count * sizeof *lengths) &&
                               isReadable(binaries, count * sizeof *binaries)));
  for (cl_uint i = 0; given && i < count; ++i) {
    if (!made && !isReadable(binaries[i], lengths[i])) break;
    if (binaries[i] == nullptr || !code.add(binaries[i], lengths[i])) break;
  }
  noteNewProgram(call, program, context, ProgramForm::kBinary, code.data(), code.size(),
                 given ? handlesOf(devices, count) : Handles{},
                 given ? sizesOf(lengths, count) : rec::Sizes{});
  if (error != nullptr) *error = e;
  return program;
}

cl_program CL_API_CALL TS_WRAP(clCreateProgramWithBuiltInKernels)(cl_context context, cl_uint count,
                                                                  const cl_device_id* devices,
                                                                  const char* names,
                                                                  cl_int* error) {
  if (!active()) {
    return next().clCreateProgramWithBuiltInKernels(context, count, devices, names, error);
  }
  Call call;
  cl_int e = CL_SUCCESS;
  cl_program program = next().clCreateProgramWithBuiltInKernels(context, count, devices, names, &e);
  call.end(e);
  const rec::Text text = program != nullptr ? textOf(names) : readableTextOf(names);
  noteNewProgram(call, program, context, ProgramForm::kBuiltIn, text.data(), text.size(),
                 handlesOf(devices, count));
  if (error != nullptr) *error = e;
  return program;
}

cl_program CL_API_CALL TS_WRAP(clCreateProgramWithIL)(cl_context context, const void* il,
                                                      size_t bytes, cl_int* error) {
  if (!active()) return next().clCreateProgramWithIL(context, il, bytes, error);
  Call call;
  cl_int e = CL_SUCCESS;
  cl_program program = next().clCreateProgramWithIL(context, il, bytes, &e);
  call.end(e);
  const bool read = program != nullptr || isReadable(il, bytes);
  noteNewProgram(call, program, context, ProgramForm::kIl, read ? il : nullptr, bytes);
  if (error != nullptr) *error = e;
  return program;
}

cl_int CL_API_CALL TS_WRAP(clSetProgramSpecializationConstant)(cl_program program, cl_uint id,
                                                               size_t bytes, const void* value) {
  if (!active()) return next().clSetProgramSpecializationConstant(program, id, bytes, value);
  Call call;
  call.end(next().clSetProgramSpecializationConstant(program, id, bytes, value));
  unsupported("clSetProgramSpecializationConstant", call);
  return call.info().result;
}

cl_int CL_API_CALL TS_WRAP(clBuildProgram)(cl_program program, cl_uint count,
                                           const cl_device_id* devices, const char* options,
                                           void(CL_CALLBACK* notify)(cl_program, void*),
                                           void* user) {
  auto invoke = [&] {
    return next().clBuildProgram(program, count, devices, options, notify, user);
  };
  if (!active()) return invoke();
  rec::BuildProgram c;
  c.program = handleOf(program);
  c.devices = handlesOf(devices, count);
  c.options = readableTextOf(options);
  recordIncludes(program, c.options.data());
  return build(c, invoke);
}

cl_int CL_API_CALL TS_WRAP(clCompileProgram)(cl_program program, cl_uint count,
                                             const cl_device_id* devices, const char* options,
                                             cl_uint headers, const cl_program* header_programs,
                                             const char** header_names,
                                             void(CL_CALLBACK* notify)(cl_program, void*),
                                             void* user) {
  auto invoke = [&] {
    return next().clCompileProgram(program, count, devices, options, headers, header_programs,
                                   header_names, notify, user);
  };
  if (!active()) return invoke();
  Joined names;
  const bool named = header_programs != nullptr && header_names != nullptr &&
                     isReadable(header_names, headers * sizeof *header_names);
  for (cl_uint i = 0; named && i < headers; ++i) {
    const rec::Text name = readableTextOf(header_names[i]);
    if (name.data() == nullptr || !names.add(name.data(), name.size()) || !names.add("", 1)) break;
  }
  rec::BuildProgram c;
  c.program = handleOf(program);
  c.compile_only = 1;
  c.devices = handlesOf(devices, count);
  c.options = readableTextOf(options);
  recordIncludes(program, c.options.data());
  c.headers = handlesOf(header_programs, headers);
  c.header_names = {names.data(), names.size()};
  return build(c, invoke);
}

cl_program CL_API_CALL TS_WRAP(clLinkProgram)(cl_context context, cl_uint count,
                                              const cl_device_id* devices, const char* options,
                                              cl_uint inputs, const cl_program* input_programs,
                                              void(CL_CALLBACK* notify)(cl_program, void*),
                                              void* user, cl_int* error) {
  if (!active()) {
    return next().clLinkProgram(context, count, devices, options, inputs, input_programs, notify,
                                user, error);
  }
  Call call;
  cl_int e = CL_SUCCESS;
  cl_program program = next().clLinkProgram(context, count, devices, options, inputs,
                                            input_programs, notify, user, &e);
  call.end(e);
  rec::CreateProgram c;
  c.program = handleOf(program);
  c.context = handleOf(context);
  c.form = ProgramForm::kLinked;
  c.devices = handlesOf(devices, count);
  c.options = program != nullptr ? textOf(options) : readableTextOf(options);
  c.inputs = handlesOf(input_programs, inputs);
  {
    StateLock lock;
    putLocked(c, call.info());
    if (program != nullptr) noteObject(g_objects.plain, c.program);
  }
  if (error != nullptr) *error = e;
  return program;
}

cl_kernel CL_API_CALL TS_WRAP(clCreateKernel)(cl_program program, const char* name, cl_int* error) {
  if (!active()) return next().clCreateKernel(program, name, error);
  Call call;
  cl_int e = CL_SUCCESS;
  cl_kernel kernel = next().clCreateKernel(program, name, &e);
  call.end(e);
  noteNewKernel(call, kernel, program, name);
  if (error != nullptr) *error = e;
  return kernel;
}

cl_int CL_API_CALL TS_WRAP(clCreateKernelsInProgram)(cl_program program, cl_uint count,
                                                     cl_kernel* kernels, cl_uint* made) {
  if (!active()) return next().clCreateKernelsInProgram(program, count, kernels, made);
  Call call;
  cl_uint n = 0;
  const cl_int result = call.end(next().clCreateKernelsInProgram(program, count, kernels, &n));
  for (cl_uint i = 0; result == CL_SUCCESS && kernels != nullptr && i < n && i < count; ++i) {
    char name[512] = {};
    next().clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof name - 1, name, nullptr);
    noteNewKernel(call, kernels[i], program, name);
  }
  if (result == CL_SUCCESS && made != nullptr) *made = n;
  return result;
}

cl_kernel CL_API_CALL TS_WRAP(clCloneKernel)(cl_kernel source, cl_int* error) {
  if (!active()) return next().clCloneKernel(source, error);
  Order order;
  Call call;
  cl_int e = CL_SUCCESS;
  cl_kernel kernel = next().clCloneKernel(source, &e);
  call.end(e);
  rec::CloneKernel c;
  c.kernel = handleOf(kernel);
  c.source = handleOf(source);
  {
    StateLock lock;
    putLocked(c, call.info());
    KernelState* made = kernel != nullptr ? g_objects.kernels.insert(c.kernel) : nullptr;
    if (KernelState* from = g_objects.kernels.find(c.source); made != nullptr && from != nullptr) {
      made->wanted = from->wanted;
      for (const uint64_t value : from->arguments) made->arguments.add(value);
      for (const uint64_t pointer : from->indirect) made->indirect.add(pointer);
    }
  }
  if (error != nullptr) *error = e;
  return kernel;
}

cl_int CL_API_CALL TS_WRAP(clSetKernelArg)(cl_kernel kernel, cl_uint index, size_t size,
                                           const void* value) {
  if (!active()) return next().clSetKernelArg(kernel, index, size, value);
  Order order;
  Call call;
  call.end(next().clSetKernelArg(kernel, index, size, value));
  const bool success = call.info().result == CL_SUCCESS;
  rec::SetArgument c;
  c.kernel = handleOf(kernel);
  c.index = index;
  c.bytes = size;
  uint64_t handle = 0;
  if (value == nullptr) {
    c.form = rec::ArgumentForm::kLocal;
  } else if (success) {
    c.value = {static_cast<const uint8_t*>(value), size};
    if (size == sizeof handle) memcpy(&handle, value, sizeof handle);
  }
  StateLock lock;
  putLocked(c, call.info());
  if (success) noteArgument(kernel, index, handle);
  return call.info().result;
}

cl_int CL_API_CALL TS_WRAP(clSetKernelArgSVMPointer)(cl_kernel kernel, cl_uint index,
                                                     const void* pointer) {
  if (!active()) return next().clSetKernelArgSVMPointer(kernel, index, pointer);
  Order order;
  Call call;
  call.end(next().clSetKernelArgSVMPointer(kernel, index, pointer));
  rec::SetArgument c;
  c.kernel = handleOf(kernel);
  c.index = index;
  c.form = rec::ArgumentForm::kSvm;
  c.bytes = sizeof pointer;
  c.value = {reinterpret_cast<const uint8_t*>(&pointer), sizeof pointer};
  StateLock lock;
  putLocked(c, call.info());
  if (call.info().result == CL_SUCCESS) noteArgument(kernel, index, handleOf(pointer));
  return call.info().result;
}

cl_int CL_API_CALL TS_WRAP(clSetKernelExecInfo)(cl_kernel kernel, cl_kernel_exec_info what,
                                                size_t size, const void* value) {
  if (!active()) return next().clSetKernelExecInfo(kernel, what, size, value);
  Order order;
  Call call;
  call.end(next().clSetKernelExecInfo(kernel, what, size, value));
  rec::SetExecInfo c;
  c.kernel = handleOf(kernel);
  c.name = what;
  if (value != nullptr && call.info().result == CL_SUCCESS) {
    c.value = {static_cast<const uint8_t*>(value), size};
  }
  StateLock lock;
  putLocked(c, call.info());
  KernelState* state = g_objects.kernels.find(c.kernel);
  if (what == CL_KERNEL_EXEC_INFO_SVM_PTRS && !c.value.empty() && state != nullptr) {
    state->indirect.clear();  // a new list replaces the previous one
    const auto* pointers = static_cast<const uint64_t*>(value);
    for (size_t i = 0; i < size / sizeof *pointers; ++i) state->indirect.add(pointers[i]);
  }
  return call.info().result;
}

}  // extern "C"
