// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/opencl/opencl_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace tracesmith {
namespace {

Result<OpenClLibrary> load() {
  void* handle = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return fail(ErrorCode::kNotFound,
                fmt::format("replay needs an OpenCL loader ({}); install ocl-icd-libopencl1 and a "
                            "driver, pocl-opencl-icd for one that runs on any CPU",
                            dlerror()),
                "libOpenCL.so.1");
  }
  OpenClLibrary library;
  const char* missing = nullptr;
#define TS_X(function)                                                                       \
  library.function = reinterpret_cast<decltype(library.function)>(dlsym(handle, #function)); \
  if (library.function == nullptr) missing = #function;
  TS_REPLAYED_OPENCL(TS_X)
  const char* const really_missing = missing;
  TS_REPLAYED_OPENCL_LATER(TS_X)
#undef TS_X
  if (really_missing != nullptr) {
    return fail(ErrorCode::kNotFound,
                fmt::format("has no {}: replay needs OpenCL 1.2", really_missing),
                "libOpenCL.so.1");
  }
  return library;
}

}  // namespace

Result<const OpenClLibrary*> openClLibrary() {
  static const Result<OpenClLibrary> kLibrary = load();
  if (!kLibrary) return tl::unexpected<Error>(kLibrary.error());
  return &*kLibrary;
}

std::string openClError(cl_int code) {
  const char* name = "an error";
  switch (code) {
#define TS_X(error) \
  case error:       \
    name = #error;  \
    break;
    TS_X(CL_SUCCESS)
    TS_X(CL_DEVICE_NOT_FOUND)
    TS_X(CL_DEVICE_NOT_AVAILABLE)
    TS_X(CL_COMPILER_NOT_AVAILABLE)
    TS_X(CL_MEM_OBJECT_ALLOCATION_FAILURE)
    TS_X(CL_OUT_OF_RESOURCES)
    TS_X(CL_OUT_OF_HOST_MEMORY)
    TS_X(CL_PROFILING_INFO_NOT_AVAILABLE)
    TS_X(CL_MEM_COPY_OVERLAP)
    TS_X(CL_IMAGE_FORMAT_MISMATCH)
    TS_X(CL_IMAGE_FORMAT_NOT_SUPPORTED)
    TS_X(CL_BUILD_PROGRAM_FAILURE)
    TS_X(CL_MAP_FAILURE)
    TS_X(CL_MISALIGNED_SUB_BUFFER_OFFSET)
    TS_X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
    TS_X(CL_COMPILE_PROGRAM_FAILURE)
    TS_X(CL_LINKER_NOT_AVAILABLE)
    TS_X(CL_LINK_PROGRAM_FAILURE)
    TS_X(CL_DEVICE_PARTITION_FAILED)
    TS_X(CL_KERNEL_ARG_INFO_NOT_AVAILABLE)
    TS_X(CL_INVALID_VALUE)
    TS_X(CL_INVALID_DEVICE_TYPE)
    TS_X(CL_INVALID_PLATFORM)
    TS_X(CL_INVALID_DEVICE)
    TS_X(CL_INVALID_CONTEXT)
    TS_X(CL_INVALID_QUEUE_PROPERTIES)
    TS_X(CL_INVALID_COMMAND_QUEUE)
    TS_X(CL_INVALID_HOST_PTR)
    TS_X(CL_INVALID_MEM_OBJECT)
    TS_X(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR)
    TS_X(CL_INVALID_IMAGE_SIZE)
    TS_X(CL_INVALID_SAMPLER)
    TS_X(CL_INVALID_BINARY)
    TS_X(CL_INVALID_BUILD_OPTIONS)
    TS_X(CL_INVALID_PROGRAM)
    TS_X(CL_INVALID_PROGRAM_EXECUTABLE)
    TS_X(CL_INVALID_KERNEL_NAME)
    TS_X(CL_INVALID_KERNEL_DEFINITION)
    TS_X(CL_INVALID_KERNEL)
    TS_X(CL_INVALID_ARG_INDEX)
    TS_X(CL_INVALID_ARG_VALUE)
    TS_X(CL_INVALID_ARG_SIZE)
    TS_X(CL_INVALID_KERNEL_ARGS)
    TS_X(CL_INVALID_WORK_DIMENSION)
    TS_X(CL_INVALID_WORK_GROUP_SIZE)
    TS_X(CL_INVALID_WORK_ITEM_SIZE)
    TS_X(CL_INVALID_GLOBAL_OFFSET)
    TS_X(CL_INVALID_EVENT_WAIT_LIST)
    TS_X(CL_INVALID_EVENT)
    TS_X(CL_INVALID_OPERATION)
    TS_X(CL_INVALID_BUFFER_SIZE)
    TS_X(CL_INVALID_GLOBAL_WORK_SIZE)
    TS_X(CL_INVALID_PROPERTY)
    TS_X(CL_INVALID_IMAGE_DESCRIPTOR)
    TS_X(CL_INVALID_COMPILER_OPTIONS)
    TS_X(CL_INVALID_LINKER_OPTIONS)
#undef TS_X
    default:
      break;
  }
  return fmt::format("{} ({})", name, code);
}

}  // namespace tracesmith
