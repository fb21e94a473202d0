// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 without a device: memory is the host's, copies and fills are made, kernels are not
// run, but take their time on a timeline for each stream. As the vendor's, it loads what
// CUDA_INJECTION64_PATH names within cuInit, and is of no use in a forked child.
#include <dlfcn.h>

#include <algorithm>

#include "standin_cuda.hpp"

using namespace standin;

namespace {

thread_local std::vector<CUcontext> pushed_contexts;

bool exists(CUdevice device) { return device >= 0 && device < standinDevices(); }

// Gives a context life, for the first time or, if it is a primary one, again.
void begin(const Call& call, CUcontext context, CUdevice device) {
  {
    const std::lock_guard lock(driver().mutex);
    context->id = ++driver().contexts;
    context->device = device;
    context->is_alive = true;
    context->streams.assign(1, new CUstream_st{kNullStreamId, context, 0, true, 0});
  }
  call.resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, {.context = context});
}

// Objects stay, for records may still speak of them.
void destroy(const Call& call, CUcontext context) {
  waitUntil(readyNs(context));
  call.resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, {.context = context});
  context->is_alive = false;
  context->users = 0;
}

CUresult createContext(Call& call, CUcontext* context, CUdevice device) {
  CHECK_STATE(false);
  if (context == nullptr) return call.end(CUDA_ERROR_INVALID_VALUE);
  if (!exists(device)) return call.end(CUDA_ERROR_INVALID_DEVICE);
  *context = new CUctx_st{};
  begin(call, *context, device);
  if (current_context != nullptr) pushed_contexts.push_back(current_context);
  current_context = *context;
  return call.end(CUDA_SUCCESS);
}

// Those who retain and reset a primary context wait for each other.
std::mutex& primaryMutex() {
  static std::mutex& only = *new std::mutex;
  return only;
}

// The image is the callback's only: a tool that keeps the address finds something else there.
void reportModule(const Call& call, CUpti_CallbackIdResource what, CUmodule module) {
  std::string image = module->image;
  call.resource(what, {.context = current_context, .module = module, .image = image.c_str()});
  std::fill(image.begin(), image.end(), '?');
}

// A library that cannot be loaded is not missed.
void inject() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  void* library = path != nullptr ? dlopen(path, RTLD_NOW) : nullptr;
  if (library == nullptr) return;
  const auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (initialize != nullptr) initialize();
}

}  // namespace

extern "C" {

void standinAttach(const StandinTool* tool) { attached.store(tool); }
const StandinTool* standinAttached() { return attached.load(); }
bool standinIsInitialized() { return driver().is_initialized.load(); }
CUcontext standinCurrentContext() { return current_context; }

CUresult CUDAAPI cuInit(unsigned flags) {
  CALL(cuInit, flags);
  static std::once_flag once;
  std::call_once(once, [] {
    driver().pid = getpid();
    inject();
    driver().is_initialized.store(true);
    const StandinTool* tool = attached.load();
    if (tool != nullptr) tool->resource(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, {});
  });
  return call.end(call.state(false));
}

CUresult CUDAAPI cuDriverGetVersion(int* version) {
  CALL(cuDriverGetVersion, version);
  *version = CUDA_VERSION;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetCount(int* count) {
  CALL(cuDeviceGetCount, count);
  CHECK_STATE(false);
  *count = standinDevices();
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  CALL(cuDeviceGet, device, ordinal);
  CHECK_STATE(false);
  *device = ordinal;
  return call.end(exists(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE);
}

CUresult CUDAAPI cuDeviceGetName(char* name, int length, CUdevice device) {
  CALL(cuDeviceGetName, name, length, device);
  CHECK_STATE(false);
  std::strncpy(name, kStandinDeviceName, static_cast<size_t>(length));
  if (length > 0) name[length - 1] = '\0';
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  CALL(cuDeviceGetAttribute, value, attribute, device);
  CHECK_STATE(false);
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      *value = 32;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = kStandinMultiprocessors;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      *value = kStandinThreadsPerMultiprocessor;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      *value = kStandinRegistersPerMultiprocessor;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      *value = kStandinSharedBytesPerMultiprocessor;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = 1024;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      break;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      *value = 0x17 + device;
      break;
    default:
      *value = 0;
      break;
  }
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  CALL(cuDeviceTotalMem_v2, bytes, device);
  CHECK_STATE(false);
  *bytes = kStandinMemoryBytes;
  return call.end(CUDA_SUCCESS);
}

// The driver has both of them, whichever its header means.
#undef cuDeviceGetUuid
CUresult CUDAAPI cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  CALL(cuDeviceGetUuid, uuid, device);
  CHECK_STATE(false);
  standinUuid(device, uuid->bytes);
  return call.end(CUDA_SUCCESS);
}
CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  CALL(cuDeviceGetUuid_v2, uuid, device);
  CHECK_STATE(false);
  standinUuid(device, uuid->bytes);
  return call.end(CUDA_SUCCESS);
}

#if CUDA_VERSION >= 13000
CUresult CUDAAPI cuCtxCreate(CUcontext* context, CUctxCreateParams* how, unsigned flags,
                             CUdevice device) {
  CALL(cuCtxCreate_v4, context, how, flags, device);
  return createContext(call, context, device);
}
#else
CUresult CUDAAPI cuCtxCreate(CUcontext* context, unsigned flags, CUdevice device) {
  CALL(cuCtxCreate_v2, context, flags, device);
  return createContext(call, context, device);
}
#endif

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  CALL(cuDevicePrimaryCtxRetain, context, device);
  CHECK_STATE(false);
  if (!exists(device)) return call.end(CUDA_ERROR_INVALID_DEVICE);
  const std::lock_guard lock(primaryMutex());
  CUcontext& primary = driver().primary[device];
  if (primary == nullptr) primary = new CUctx_st{};
  if (!primary->is_alive) begin(call, primary, device);
  ++primary->users;
  *context = primary;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device) {
  CALL(cuDevicePrimaryCtxRelease_v2, device);
  CHECK_STATE(false);
  if (!exists(device)) return call.end(CUDA_ERROR_INVALID_DEVICE);
  const std::lock_guard lock(primaryMutex());
  CUcontext primary = driver().primary[device];
  if (primary == nullptr || !primary->is_alive) return call.end(CUDA_ERROR_INVALID_CONTEXT);
  if (--primary->users == 0) destroy(call, primary);
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice device) {
  CALL(cuDevicePrimaryCtxReset_v2, device);
  CHECK_STATE(false);
  if (!exists(device)) return call.end(CUDA_ERROR_INVALID_DEVICE);
  const std::lock_guard lock(primaryMutex());
  CUcontext primary = driver().primary[device];
  if (primary != nullptr && primary->is_alive) destroy(call, primary);
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  CALL(cuDevicePrimaryCtxGetState, device, flags, active);
  CHECK_STATE(false);
  if (!exists(device)) return call.end(CUDA_ERROR_INVALID_DEVICE);
  const std::lock_guard lock(primaryMutex());
  CUcontext primary = driver().primary[device];
  *flags = 0;
  *active = primary != nullptr && primary->is_alive;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext context) {
  CALL(cuCtxPushCurrent_v2, context);
  CHECK_STATE(false);
  if (context == nullptr) return call.end(CUDA_ERROR_INVALID_CONTEXT);
  pushed_contexts.push_back(current_context);
  current_context = context;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext* context) {
  CALL(cuCtxPopCurrent_v2, context);
  CHECK_STATE(false);
  if (current_context == nullptr) return call.end(CUDA_ERROR_INVALID_CONTEXT);
  if (context != nullptr) *context = current_context;
  current_context = nullptr;
  if (!pushed_contexts.empty()) {
    current_context = pushed_contexts.back();
    pushed_contexts.pop_back();
  }
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
  CALL(cuCtxSetCurrent, context);
  CHECK_STATE(false);
  current_context = context;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext* context) {
  CALL(cuCtxGetCurrent, context);
  CHECK_STATE(false);
  *context = current_context;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) {
  CALL(cuCtxGetDevice, device);
  CHECK_STATE();
  *device = current_context->device;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSynchronize() {
  Call call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, "cuCtxSynchronize", nullptr);
  CHECK_STATE();
  synchronize(call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, nullptr, nullptr,
              readyNs(current_context));
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxDestroy(CUcontext context) {
  CALL(cuCtxDestroy_v2, context);
  CHECK_STATE(false);
  if (context == nullptr || !context->is_alive) return call.end(CUDA_ERROR_INVALID_CONTEXT);
  destroy(call, context);
  if (current_context == context) current_context = nullptr;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void* image) {
  CALL(cuModuleLoadData, module, image);
  CHECK_STATE();
  if (image == nullptr) return call.end(CUDA_ERROR_INVALID_VALUE);
  {
    const std::lock_guard lock(driver().mutex);
    *module =
        new CUmod_st{++driver().modules, current_context, {}, static_cast<const char*>(image)};
  }
  if (std::strncmp(static_cast<const char*>(image), ".version", 8) == 0) {
    StandinWork compiled{};
    compiled.kind = CUPTI_ACTIVITY_KIND_JIT;
    compiled.start_ns = standinNow();
    waitUntil(compiled.start_ns + 100'000);
    compiled.end_ns = standinNow();
    call.work(compiled);
  }
  reportModule(call, CUPTI_CBID_RESOURCE_MODULE_LOADED, *module);
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleUnload(CUmodule module) {
  CALL(cuModuleUnload, module);
  CHECK_STATE();
  reportModule(call, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, module);
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  CALL(cuModuleGetFunction, function, module, name);
  CHECK_STATE();
  const std::lock_guard lock(driver().mutex);
  auto& known = module->functions;
  auto at = std::find_if(known.begin(), known.end(),
                         [&](CUfunction f) { return std::strcmp(f->name, name) == 0; });
  if (at == known.end()) at = known.insert(at, new CUfunc_st{module, strdup(name)});
  *function = *at;
  return call.end(CUDA_SUCCESS);
}

}  // extern "C"
