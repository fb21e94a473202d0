// SPDX-License-Identifier: Apache-2.0
// The minimum of OpenCL that the example needs: a device with two queues, programs and buffers that
// release themselves, and one way to handle errors: print the call and its code, then exit.
#pragma once

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <cstddef>
#include <string>
#include <vector>

/// Ends the program with "opencl_demo: CALL failed: CL_NAME (code)" when `code` is not CL_SUCCESS.
void check(cl_int code, const char* call);

/// The first device of any platform; GPUs are preferred.
struct Device {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  std::string name;
};
Device pickDevice();

/// A context with two in-order queues without profiling, and the built kernels.
class Compute {
 public:
  Compute(const Device& device, const char* source);
  ~Compute();
  Compute(const Compute&) = delete;
  Compute& operator=(const Compute&) = delete;

  cl_command_queue queue(int index) const { return queues_[index]; }

  /// A kernel of the program; released with this object.
  cl_kernel kernel(const char* name);

  /// A device buffer of `bytes`; released with this object.
  cl_mem buffer(cl_mem_flags flags, size_t bytes);

 private:
  cl_context context_ = nullptr;
  cl_command_queue queues_[2] = {};
  cl_program program_ = nullptr;
  std::vector<cl_kernel> kernels_;
  std::vector<cl_mem> buffers_;
};

/// Sets arguments 0.. of `kernel`, each by its own size.
template <class... Args>
void setArguments(cl_kernel kernel, const Args&... arguments) {
  cl_uint index = 0;
  (check(clSetKernelArg(kernel, index++, sizeof(arguments), &arguments), "clSetKernelArg"), ...);
}
