// SPDX-License-Identifier: Apache-2.0
// A libcudart for the stand-in of libcuda: it loads that at its first call, makes contexts and
// loads modules when they are needed, and tells the tool of its own calls around the driver's that
// they consist of.
#include "standin_cudart.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

using namespace standin;

namespace standin {

void* driverFunction(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return library != nullptr ? dlsym(library, name) : nullptr;
}

namespace {

// What nvcc's code registers before main. A binary is loaded into a context with its first kernel.
struct Binary {
  const void* image = nullptr;
};
struct Kernel {
  Binary* binary;
  std::string name;
};
struct Runtime {
  std::mutex mutex;
  std::map<const void*, Kernel> kernels;
  std::map<std::pair<Binary*, uint32_t>, CUmodule> modules;  // by the context's id as well
  std::vector<CUcontext> primary = std::vector<CUcontext>(standinDevices());
};

Runtime& runtime() {
  static Runtime& only = *new Runtime;
  return only;
}

thread_local int device = 0;
thread_local cudaError_t last_error = cudaSuccess;

// Makes the device's primary context current.
CUresult useDevice() {
  CUcontext context = nullptr;
  {
    const std::lock_guard lock(runtime().mutex);
    context = runtime().primary[static_cast<size_t>(device)];
  }
  if (context == nullptr || !context->is_alive) {
    const CUresult result = DRIVER(cuDevicePrimaryCtxRetain)(&context, device);
    if (result != CUDA_SUCCESS) return result;
    const std::lock_guard lock(runtime().mutex);
    runtime().primary[static_cast<size_t>(device)] = context;
  }
  return DRIVER(cuCtxSetCurrent)(context);
}

// The driver's function for a kernel, its binary loaded into the current context.
CUresult functionOf(const void* symbol, CUfunction* function) {
  const std::lock_guard lock(runtime().mutex);
  const auto at = runtime().kernels.find(symbol);
  if (at == runtime().kernels.end()) return CUDA_ERROR_INVALID_HANDLE;
  const CUcontext context = DRIVER(standinCurrentContext)();
  CUmodule& module = runtime().modules[{at->second.binary, context->id}];
  if (module == nullptr) {
    const CUresult result = DRIVER(cuModuleLoadData)(&module, at->second.binary->image);
    if (result != CUDA_SUCCESS) return result;
  }
  return DRIVER(cuModuleGetFunction)(function, module, at->second.name.c_str());
}

}  // namespace

const StandinTool* RuntimeCall::begin() {
  static const CUresult initialized = DRIVER(cuInit)(0);
  return initialized == CUDA_SUCCESS ? DRIVER(standinAttached)() : nullptr;
}

cudaError_t RuntimeCall::end(int result) {
  call_.result = result;
  call_.context = DRIVER(standinCurrentContext)();
  if (tool_ != nullptr) tool_->exit(call_);
  if (result != cudaSuccess) last_error = static_cast<cudaError_t>(result);
  return static_cast<cudaError_t>(result);
}

int RuntimeCall::ready() {
  const CUcontext current = DRIVER(standinCurrentContext)();
  return current != nullptr && current->is_alive ? CUDA_SUCCESS : useDevice();
}

const char* kernelName(const void* symbol) {
  const std::lock_guard lock(runtime().mutex);
  const auto at = runtime().kernels.find(symbol);
  return at != runtime().kernels.end() ? at->second.name.c_str() : nullptr;
}

}  // namespace standin

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(new Binary{static_cast<StandinFatBinary*>(wrapper)->image});
}

void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void** binary, const char* symbol, char*, const char* name, int, void*,
                            void*, void*, void*, int*) {
  const std::lock_guard lock(runtime().mutex);
  runtime().kernels[symbol] = {reinterpret_cast<Binary*>(binary), name};
}

cudaError_t CUDARTAPI cudaGetLastError() {
  RuntimeCall call(CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020, "cudaGetLastError", nullptr);
  const cudaError_t last = last_error;
  call.end(last);
  last_error = cudaSuccess;
  return last;
}

const char* CUDARTAPI cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "an error of the stand-in";
}

cudaError_t CUDARTAPI cudaRuntimeGetVersion(int* version) {
  CALL(cudaRuntimeGetVersion, _v3020, version);
  *version = CUDART_VERSION;
  return call.end(0);
}

cudaError_t CUDARTAPI cudaGetDeviceCount(int* count) {
  CALL(cudaGetDeviceCount, _v3020, count);
  return call.end(DRIVER(cuDeviceGetCount)(count));
}

cudaError_t CUDARTAPI cudaSetDevice(int ordinal) {
  CALL(cudaSetDevice, _v3020, ordinal);
  if (ordinal < 0 || ordinal >= standinDevices()) return call.end(cudaErrorInvalidDevice);
  device = ordinal;
  return call.end(useDevice());
}

cudaError_t CUDARTAPI cudaGetDevice(int* ordinal) {
  CALL(cudaGetDevice, _v3020, ordinal);
  *ordinal = device;
  return call.end(0);
}

cudaError_t CUDARTAPI cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal) {
#if CUDART_VERSION >= 13000
  CALL(cudaGetDeviceProperties, _v12000, properties, ordinal);
#elif CUDART_VERSION >= 12000
  CALL(cudaGetDeviceProperties, _v2_v12000, properties, ordinal);
#else
  CALL(cudaGetDeviceProperties, _v3020, properties, ordinal);
#endif
  if (ordinal < 0 || ordinal >= standinDevices()) return call.end(cudaErrorInvalidDevice);
  *properties = cudaDeviceProp{};
  std::strcpy(properties->name, kStandinDeviceName);
  standinUuid(ordinal, properties->uuid.bytes);
  properties->totalGlobalMem = kStandinMemoryBytes;
  properties->multiProcessorCount = kStandinMultiprocessors;
  properties->major = 9;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  return call.end(0);
}

cudaError_t CUDARTAPI cudaDeviceSynchronize() {
  RuntimeCall call(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, "cudaDeviceSynchronize",
                   nullptr);
  CHECK_READY();
  return call.end(DRIVER(cuCtxSynchronize)());
}

cudaError_t CUDARTAPI cudaDeviceReset() {
  RuntimeCall call(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020, "cudaDeviceReset", nullptr);
  return call.end(DRIVER(cuDevicePrimaryCtxReset)(device));
}

cudaError_t CUDARTAPI cudaLaunchKernel(const void* symbol, dim3 grid, dim3 block, void** arguments,
                                       size_t shared_bytes, cudaStream_t stream) {
  LAUNCH_CALL(cudaLaunchKernel, _v7000, symbol, symbol, grid, block, arguments, shared_bytes,
              stream);
  CHECK_READY();
  CUfunction function = nullptr;
  if (const int result = functionOf(symbol, &function); result != 0) return call.end(result);
  return call.end(DRIVER(cuLaunchKernel)(function, grid.x, grid.y, grid.z, block.x, block.y,
                                         block.z, static_cast<unsigned>(shared_bytes), stream,
                                         arguments, nullptr));
}

cudaError_t CUDARTAPI cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* symbol,
                                          void** arguments) {
  LAUNCH_CALL(cudaLaunchKernelExC, _v11060, symbol, config, symbol, arguments);
  CHECK_READY();
  CUfunction function = nullptr;
  if (const int result = functionOf(symbol, &function); result != 0) return call.end(result);
  CUlaunchConfig how{};
  how.gridDimX = config->gridDim.x;
  how.gridDimY = config->gridDim.y;
  how.gridDimZ = config->gridDim.z;
  how.blockDimX = config->blockDim.x;
  how.blockDimY = config->blockDim.y;
  how.blockDimZ = config->blockDim.z;
  how.sharedMemBytes = static_cast<unsigned>(config->dynamicSmemBytes);
  how.hStream = config->stream;
  CUlaunchAttribute cluster{};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id != cudaLaunchAttributeClusterDimension) continue;
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = config->attrs[i].val.clusterDim.x;
    cluster.value.clusterDim.y = config->attrs[i].val.clusterDim.y;
    cluster.value.clusterDim.z = config->attrs[i].val.clusterDim.z;
    how.attrs = &cluster;
    how.numAttrs = 1;
  }
  return call.end(DRIVER(cuLaunchKernelEx)(&how, function, arguments, nullptr));
}

}  // extern "C"
