// SPDX-License-Identifier: Apache-2.0
// An OpenCL loader and driver in one, of which each build knows only what it made itself: what
// another is asked for comes back as an error. ANSWER is its name. With OPENCL_LAYERS it asks for a
// layer, as loaders do; LAYERS=0 is one older than that.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <dlfcn.h>
#include <pthread.h>

#include <cstdlib>
#include <cstring>

namespace {

/// All objects are this one.
struct Object {
  int name = ANSWER;
} g_object;
template <class Handle>
Handle made() {
  return reinterpret_cast<Handle>(&g_object);
}
template <class Handle>
cl_int check(Handle handle) {
  // None at all is nobody's.
  const bool mine = handle == nullptr || static_cast<const void*>(handle) == &g_object;
  static bool all_mine = true;
  all_mine = all_mine && mine;
  return all_mine ? CL_SUCCESS : CL_INVALID_VALUE;
}

cl_int g_late = CL_SUCCESS;  // what came on a thread of the driver
void(CL_CALLBACK* g_callback)(cl_event, cl_int, void*) = nullptr;
void* g_user = nullptr;

cl_int getPlatforms(cl_uint most, cl_platform_id* platforms, cl_uint* count) {
  if (most > 0 && platforms != nullptr) *platforms = made<cl_platform_id>();
  if (count != nullptr) *count = 1;
  return CL_SUCCESS;
}
cl_int getDevices(cl_platform_id platform, cl_device_type, cl_uint most, cl_device_id* devices,
                  cl_uint* count) {
  if (most > 0 && devices != nullptr) *devices = made<cl_device_id>();
  if (count != nullptr) *count = 1;
  return check(platform);
}
template <class Handle>
cl_int returnNothing(Handle handle, cl_uint, size_t size, void* value, size_t* size_ret) {
  if (value != nullptr) memset(value, 0, size);
  if (size_ret != nullptr) *size_ret = 0;
  return check(handle);
}
cl_context createContext(const cl_context_properties*, cl_uint, const cl_device_id* devices,
                         void(CL_CALLBACK*)(const char*, const void*, size_t, void*), void*,
                         cl_int* error) {
  const cl_int result = check(*devices);
  if (error != nullptr) *error = result;
  return made<cl_context>();
}
cl_command_queue createQueue(cl_context context, cl_device_id, const cl_queue_properties*,
                             cl_int* error) {
  const cl_int result = check(context);
  if (error != nullptr) *error = result;
  return made<cl_command_queue>();
}
cl_program createProgram(cl_context, cl_uint, const char**, const size_t*, cl_int*) {
  return made<cl_program>();
}
cl_int build(cl_program program, cl_uint, const cl_device_id*, const char*,
             void(CL_CALLBACK*)(cl_program, void*), void*) {
  return check(program);
}
cl_kernel createKernel(cl_program, const char*, cl_int* error) {
  if (error != nullptr) *error = CL_SUCCESS;
  return made<cl_kernel>();
}
cl_int launch(cl_command_queue queue, cl_kernel, cl_uint, const size_t*, const size_t*,
              const size_t*, cl_uint, const cl_event*, cl_event* event) {
  if (event != nullptr) *event = made<cl_event>();
  return check(queue);
}
cl_int setCallback(cl_event event, cl_int, void(CL_CALLBACK* callback)(cl_event, cl_int, void*),
                   void* user) {
  g_callback = callback;
  g_user = user;
  void* (*const call)(void*) = [](void*) -> void* {
    g_callback(made<cl_event>(), CL_COMPLETE, g_user);
    return nullptr;
  };
  pthread_t thread;
  pthread_create(&thread, nullptr, call, nullptr);
  pthread_join(thread, nullptr);
  return check(event);
}
cl_int getTimes(cl_event event, cl_profiling_info, size_t, void* value, size_t*) {
  static cl_ulong now = ANSWER;
  *static_cast<cl_ulong*>(value) = ++now;
  const cl_int result = check(event);
  if (result != CL_SUCCESS) g_late = result;
  return result;
}
cl_int releaseEvent(cl_event event) {
  const cl_int result = check(event);
  if (result != CL_SUCCESS) g_late = result;
  return result;
}
cl_int finish(cl_command_queue queue) {
  const cl_int result = check(queue);
  return result != CL_SUCCESS ? result : g_late;
}

cl_icd_dispatch own() {
  cl_icd_dispatch d{};
  d.clGetPlatformIDs = getPlatforms;
  d.clGetDeviceIDs = getDevices;
  d.clGetPlatformInfo = returnNothing<cl_platform_id>;
  d.clGetDeviceInfo = returnNothing<cl_device_id>;
  d.clGetContextInfo = returnNothing<cl_context>;
  d.clGetKernelInfo = returnNothing<cl_kernel>;
  d.clGetEventInfo = returnNothing<cl_event>;
  d.clGetCommandQueueInfo = returnNothing<cl_command_queue>;
  d.clCreateContext = createContext;
  d.clCreateCommandQueueWithProperties = createQueue;
  d.clCreateProgramWithSource = createProgram;
  d.clBuildProgram = build;
  d.clCreateKernel = createKernel;
  d.clEnqueueNDRangeKernel = launch;
  d.clSetEventCallback = setCallback;
  d.clGetEventProfilingInfo = getTimes;
  d.clReleaseEvent = releaseEvent;
  d.clFinish = finish;
  return d;
}

const cl_icd_dispatch& table() {
  static const cl_icd_dispatch* const used = [] {
    static const cl_icd_dispatch mine = own();
    const cl_icd_dispatch* top = &mine;
#if LAYERS
    const char* const layer = std::getenv("OPENCL_LAYERS");
    void* const library = layer == nullptr ? nullptr : dlopen(layer, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      const auto init = reinterpret_cast<pfn_clInitLayer>(dlsym(library, "clInitLayer"));
      cl_uint entries = 0;
      if (init != nullptr) init(sizeof mine / sizeof(void*), &mine, &entries, &top);
    }
#endif
    return top;
  }();
  return *used;
}

}  // namespace

extern "C" {

#define HAND_ON(result, name, parameters, arguments) \
  result name parameters { return table().name arguments; }
HAND_ON(cl_int, clGetPlatformIDs, (cl_uint n, cl_platform_id* p, cl_uint* c), (n, p, c))
HAND_ON(cl_int, clGetDeviceIDs,
        (cl_platform_id p, cl_device_type t, cl_uint n, cl_device_id* d, cl_uint* c),
        (p, t, n, d, c))
#define HAND_ON_QUERY(name, Handle, What)                                            \
  HAND_ON(cl_int, name, (Handle h, What w, size_t n, void* value, size_t* size_ret), \
          (h, w, n, value, size_ret))
HAND_ON_QUERY(clGetPlatformInfo, cl_platform_id, cl_platform_info)
HAND_ON_QUERY(clGetDeviceInfo, cl_device_id, cl_device_info)
HAND_ON_QUERY(clGetContextInfo, cl_context, cl_context_info)
HAND_ON_QUERY(clGetKernelInfo, cl_kernel, cl_kernel_info)
HAND_ON_QUERY(clGetEventInfo, cl_event, cl_event_info)
HAND_ON_QUERY(clGetEventProfilingInfo, cl_event, cl_profiling_info)
HAND_ON_QUERY(clGetCommandQueueInfo, cl_command_queue, cl_command_queue_info)
HAND_ON(cl_context, clCreateContext,
        (const cl_context_properties* p, cl_uint n, const cl_device_id* d,
         void(CL_CALLBACK* f)(const char*, const void*, size_t, void*), void* u, cl_int* e),
        (p, n, d, f, u, e))
HAND_ON(cl_command_queue, clCreateCommandQueueWithProperties,
        (cl_context c, cl_device_id d, const cl_queue_properties* p, cl_int* e), (c, d, p, e))
HAND_ON(cl_program, clCreateProgramWithSource,
        (cl_context c, cl_uint n, const char** s, const size_t* l, cl_int* e), (c, n, s, l, e))
HAND_ON(cl_int, clBuildProgram,
        (cl_program p, cl_uint n, const cl_device_id* d, const char* o,
         void(CL_CALLBACK* f)(cl_program, void*), void* u),
        (p, n, d, o, f, u))
HAND_ON(cl_kernel, clCreateKernel, (cl_program p, const char* n, cl_int* e), (p, n, e))
HAND_ON(cl_int, clEnqueueNDRangeKernel,
        (cl_command_queue q, cl_kernel k, cl_uint d, const size_t* o, const size_t* g,
         const size_t* l, cl_uint n, const cl_event* w, cl_event* e),
        (q, k, d, o, g, l, n, w, e))
HAND_ON(cl_int, clSetEventCallback,
        (cl_event e, cl_int t, void(CL_CALLBACK* f)(cl_event, cl_int, void*), void* u),
        (e, t, f, u))
HAND_ON(cl_int, clReleaseEvent, (cl_event e), (e))
HAND_ON(cl_int, clFinish, (cl_command_queue q), (q))

}  // extern "C"
