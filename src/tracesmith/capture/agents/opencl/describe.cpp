// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/opencl/describe.hpp"

#include <atomic>

namespace tracesmith::agent {
namespace {

constexpr uint32_t kMostText = 1024;  // of a name; longer names are cut

/// Devices that have been described in this life of the process.
class SeenDevices {
 public:
  /// True at the first call for `device` since the last fork.
  bool firstTime(cl_device_id device) {
    const uint64_t key = handleOf(device) ^ (g_epoch->load() << 48);
    for (std::atomic<uint64_t>& slot : slots_) {
      uint64_t seen = slot.load(std::memory_order_acquire);
      if (seen == key) return false;
      if (seen == 0 && slot.compare_exchange_strong(seen, key, std::memory_order_acq_rel)) {
        return true;
      }
      if (seen == key) return false;
    }
    return true;  // with more devices than slots, some are recorded repeatedly, which is harmless
  }

 private:
  std::atomic<uint64_t> slots_[256]{};
};
constinit SeenDevices g_seen_devices;

template <class T>
T deviceValue(cl_device_id device, cl_device_info what) {
  T value{};
  if (next().clGetDeviceInfo(device, what, sizeof value, &value, nullptr) != CL_SUCCESS) return T{};
  return value;
}

/// Number of a root device within its platform; a sub-device has that of its root.
uint32_t ordinalOf(cl_device_id device, cl_platform_id platform) {
  while (auto parent = deviceValue<cl_device_id>(device, CL_DEVICE_PARENT_DEVICE)) device = parent;
  cl_device_id all[64];
  cl_uint count = 0;
  if (next().clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 64, all, &count) != CL_SUCCESS) return 0;
  for (cl_uint i = 0; i < count && i < 64; ++i) {
    if (all[i] == device) return i;
  }
  return 0;
}

/// A list of NUL-terminated texts in a fixed buffer.
struct TextList {
  char bytes[6 * kMostText];
  uint32_t used = 0;

  template <class Get>
  void add(Get&& get) {
    char* at = bytes + used;
    at[0] = 0;
    size_t size = 0;
    if (get(kMostText - 1, at, &size) != CL_SUCCESS) at[0] = 0;
    at[kMostText - 1] = 0;
    used += static_cast<uint32_t>(strlen(at)) + 1;
  }
};

void CL_CALLBACK onMemoryFreed(cl_mem memory, void*) {
  if (!wanted()) return;
  arena::FreeRecord r{{arena::RecordKind::kFree, 0, sizeof r / 8, 0}, stamp(), handleOf(memory)};
  RecordWriter w(sizeof r);
  if (w) w.put(r);
}

}  // namespace

void recordObject(ObjectKind kind, uint64_t handle, uint64_t parent, uint64_t other,
                  uint32_t properties, const char* name, uint32_t name_bytes) {
  RecordWriter w(sizeof(arena::ObjectRecord) + name_bytes);
  if (!w) return;
  w.put(arena::ObjectRecord{{arena::RecordKind::kObject, 0, w.words(), static_cast<uint32_t>(kind)},
                            stamp(),
                            handle,
                            parent,
                            other,
                            properties,
                            name_bytes});
  w.putBytes(name, name_bytes);
}

void describeDevice(cl_device_id device) {
  if (!g_seen_devices.firstTime(device)) return;
  const auto platform = deviceValue<cl_platform_id>(device, CL_DEVICE_PLATFORM);
  TextList texts;
  auto deviceText = [&](cl_device_info what) {
    return [device, what](size_t n, char* to, size_t* size) {
      return next().clGetDeviceInfo(device, what, n, to, size);
    };
  };
  texts.add(deviceText(CL_DEVICE_NAME));
  texts.add(deviceText(CL_DEVICE_VENDOR));
  texts.add([&](size_t n, char* to, size_t* size) {
    return next().clGetPlatformInfo(platform, CL_PLATFORM_NAME, n, to, size);
  });
  texts.add(deviceText(CL_DRIVER_VERSION));
  texts.add(deviceText(CL_DEVICE_VERSION));

  const auto type = deviceValue<cl_device_type>(device, CL_DEVICE_TYPE);
  DeviceKind kind = DeviceKind::kUnknown;
  if (type & CL_DEVICE_TYPE_GPU) {
    kind = DeviceKind::kGpu;
  } else if (type & CL_DEVICE_TYPE_CPU) {
    kind = DeviceKind::kCpu;
  } else if (type & CL_DEVICE_TYPE_ACCELERATOR) {
    kind = DeviceKind::kAccelerator;
  }
  arena::DeviceRecord r{};
  r.handle = handleOf(device);
  r.memory_bytes = deviceValue<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE);
  r.ordinal = ordinalOf(device, platform);
  r.compute_units = deviceValue<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS);
  r.clock_mhz = deviceValue<cl_uint>(device, CL_DEVICE_MAX_CLOCK_FREQUENCY);
  r.max_work_group_size =
      static_cast<uint32_t>(deviceValue<size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  r.device_kind = static_cast<uint32_t>(kind);
  r.text_bytes = texts.used;
  RecordWriter w(sizeof r + texts.used);
  if (!w) return;
  r.header = {arena::RecordKind::kDevice, 0, w.words(), 0};
  w.put(r);
  w.putBytes(texts.bytes, texts.used);
}

void describeContext(cl_context context) {
  cl_device_id devices[64];
  size_t bytes = 0;
  if (next().clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &bytes) !=
      CL_SUCCESS) {
    bytes = 0;
  }
  const size_t count = bytes / sizeof devices[0];
  for (size_t i = 0; i < count; ++i) describeDevice(devices[i]);
  recordObject(ObjectKind::kContext, handleOf(context), count > 0 ? handleOf(devices[0]) : 0, 0, 0,
               nullptr, 0);
}

void describeQueue(cl_command_queue queue, cl_context context, cl_device_id device,
                   cl_command_queue_properties asked_for) {
  describeDevice(device);
  uint32_t flags = 0;
  if (asked_for & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) flags |= stream_flags::kOutOfOrder;
  if (asked_for & CL_QUEUE_PROFILING_ENABLE) flags |= stream_flags::kApplicationProfiling;
  recordObject(ObjectKind::kStream, handleOf(queue), handleOf(context), handleOf(device), flags,
               nullptr, 0);
}

void describeKernel(cl_kernel kernel) {
  char name[kMostText] = {};
  size_t size = 0;
  if (next().clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name - 1, name, &size) !=
      CL_SUCCESS) {
    name[0] = 0;
  }
  cl_program program = nullptr;
  next().clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, nullptr);
  cl_context context = nullptr;
  next().clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof context, &context, nullptr);
  recordObject(ObjectKind::kKernel, handleOf(kernel), handleOf(program), handleOf(context), 0, name,
               static_cast<uint32_t>(strlen(name)));
}

void describeMemory(const HostCall& call, cl_mem memory, cl_context context, bool allocates) {
  size_t bytes = 0;
  next().clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof bytes, &bytes, nullptr);
  if (!capturing()) {
    recordObject(ObjectKind::kMemory, handleOf(memory), handleOf(context), bytes, 0, nullptr, 0);
  } else {
    RecordWriter w(sizeof(arena::CallRecord) + sizeof(arena::MemoryPart));
    if (!w) return;
    call.put(w, arena::RecordKind::kMemory, allocates ? 0 : arena::kFlagNoEvent, CL_SUCCESS);
    w.put(arena::MemoryPart{handleOf(memory), handleOf(context), bytes});
  }
  if (allocates) next().clSetMemObjectDestructorCallback(memory, onMemoryFreed, nullptr);
}

}  // namespace tracesmith::agent
