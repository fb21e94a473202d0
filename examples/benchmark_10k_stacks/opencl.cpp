// SPDX-License-Identifier: Apache-2.0
#include <CL/cl.h>
#include <dlfcn.h>

#include "device.hpp"

namespace benchmark {
namespace {

constexpr const char* kSource = R"(
__kernel void benchmark_kernel(__global float* data, int id, int work) {
  const size_t i = get_global_id(0);
  float value = data[i];
  for (int k = 0; k < work; ++k) value = value * 0.5f + (float)id;
  data[i] = value;
}
)";

void check(cl_int code, const char* what) {
  if (code != CL_SUCCESS) die(what, code);
}

/// The loader functions used here.
struct Library {
  void* handle = dlopen("libOpenCL.so.1", RTLD_NOW);

  template <typename Function>
  Function find(const char* name) const {
    void* const found = dlsym(handle, name);
    if (found == nullptr) die(name, 1);
    return reinterpret_cast<Function>(found);
  }
};
#define FIND(name) const decltype(&::name) name = find<decltype(&::name)>(#name)

struct OpenCl : Library {
  FIND(clGetPlatformIDs);
  FIND(clGetDeviceIDs);
  FIND(clGetDeviceInfo);
  FIND(clCreateContext);
  FIND(clCreateCommandQueue);
  FIND(clCreateProgramWithSource);
  FIND(clBuildProgram);
  FIND(clCreateKernel);
  FIND(clCreateBuffer);
  FIND(clSetKernelArg);
  FIND(clEnqueueFillBuffer);
  FIND(clEnqueueNDRangeKernel);
  FIND(clFinish);
  FIND(clReleaseMemObject);
  FIND(clReleaseKernel);
  FIND(clReleaseProgram);
  FIND(clReleaseCommandQueue);
  FIND(clReleaseContext);
};
#undef FIND

/// A GPU if there is one, else (unless only a GPU is wanted) the first device.
cl_device_id pickDevice(const OpenCl& cl, bool gpu_only, bool& is_gpu) {
  cl_platform_id platforms[16];
  cl_uint count = 0;
  // Without a driver, the loader returns an error of its own.
  if (cl.clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) return nullptr;
  for (const cl_device_type type :
       {cl_device_type{CL_DEVICE_TYPE_GPU}, cl_device_type{CL_DEVICE_TYPE_ALL}}) {
    is_gpu = type == CL_DEVICE_TYPE_GPU;
    if (!is_gpu && gpu_only) break;
    for (cl_uint i = 0; i < count && i < 16; ++i) {
      cl_device_id device = nullptr;
      if (cl.clGetDeviceIDs(platforms[i], type, 1, &device, nullptr) == CL_SUCCESS) return device;
    }
  }
  return nullptr;
}

class OpenClDevice : public Device {
 public:
  OpenClDevice(const OpenCl& functions, cl_device_id device, bool gpu) : cl_(functions) {
    api = "OpenCL";
    is_gpu = gpu;
    char text[256] = {};
    cl_.clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof text - 1, text, nullptr);
    name = text;
    cl_int e = CL_SUCCESS;
    context_ = cl_.clCreateContext(nullptr, 1, &device, nullptr, nullptr, &e);
    check(e, "clCreateContext");
    queue_ = cl_.clCreateCommandQueue(context_, device, 0, &e);
    check(e, "clCreateCommandQueue");
    const char* source = kSource;
    program_ = cl_.clCreateProgramWithSource(context_, 1, &source, nullptr, &e);
    check(e, "clCreateProgramWithSource");
    check(cl_.clBuildProgram(program_, 1, &device, "", nullptr, nullptr), "clBuildProgram");
    kernel_ = cl_.clCreateKernel(program_, "benchmark_kernel", &e);
    check(e, "clCreateKernel");
    data_ = cl_.clCreateBuffer(context_, CL_MEM_READ_WRITE, kItems * sizeof(float), nullptr, &e);
    check(e, "clCreateBuffer");
    const float zero = 0;
    check(cl_.clEnqueueFillBuffer(queue_, data_, &zero, sizeof zero, 0, kItems * sizeof(float), 0,
                                  nullptr, nullptr),
          "clEnqueueFillBuffer");
    check(cl_.clSetKernelArg(kernel_, 0, sizeof data_, static_cast<const void*>(&data_)),
          "clSetKernelArg");
  }

  ~OpenClDevice() override {
    cl_.clReleaseMemObject(data_);
    cl_.clReleaseKernel(kernel_);
    cl_.clReleaseProgram(program_);
    cl_.clReleaseCommandQueue(queue_);
    cl_.clReleaseContext(context_);
  }

  void launch(int number, int work) override {
    const size_t items = kItems;
    check(cl_.clSetKernelArg(kernel_, 1, sizeof number, &number), "clSetKernelArg");
    if (work != work_) check(cl_.clSetKernelArg(kernel_, 2, sizeof work, &work), "clSetKernelArg");
    work_ = work;
    check(cl_.clEnqueueNDRangeKernel(queue_, kernel_, 1, nullptr, &items, nullptr, 0, nullptr,
                                     nullptr),
          "clEnqueueNDRangeKernel");
  }

  void finish() override { check(cl_.clFinish(queue_), "clFinish"); }

 private:
  OpenCl cl_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
  cl_mem data_ = nullptr;
  int work_ = -1;  // the current value of the kernel's argument
};

}  // namespace

std::unique_ptr<Device> openOpenCl(bool gpu_only, std::string& why) {
  if (dlopen("libOpenCL.so.1", RTLD_NOW) == nullptr) {
    why += "OpenCL: libOpenCL.so.1 was not found (a loader: ocl-icd-libopencl1)\n";
    return nullptr;
  }
  const OpenCl cl;
  bool is_gpu = false;
  cl_device_id device = pickDevice(cl, gpu_only, is_gpu);
  if (device == nullptr) {
    why += gpu_only ? "OpenCL: no OpenCL GPU was found\n"
                    : "OpenCL: no driver with a device was found (pocl-opencl-icd has one that "
                      "runs on any processor)\n";
    return nullptr;
  }
  return std::make_unique<OpenClDevice>(cl, device, is_gpu);
}

}  // namespace benchmark
