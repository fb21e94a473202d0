// SPDX-License-Identifier: Apache-2.0
// Devices, contexts, queues, samplers and events as objects, and the reference counts of all
// objects. A new object may get the handle of a released one, so a release is recorded before the
// driver can reuse the handle.
#include "tracesmith/capture/agents/opencl_record/recorder.hpp"

using namespace tracesmith::record;  // NOLINT: the wrappers below are C functions
namespace rec = tracesmith::recording;
using rec::ObjectClass;

namespace tracesmith::record {
namespace {

constexpr uint16_t kAddedByAgent = rec::command_flags::kAddedByAgent;

struct DeviceText {
  char text[256];
  size_t bytes = 0;
  rec::Text view() const { return {text, bytes > 0 ? bytes - 1 : 0}; }  // without the NUL
};

void read(cl_device_id device, cl_device_info what, DeviceText& into) {
  if (next().clGetDeviceInfo(device, what, sizeof into.text, into.text, &into.bytes) !=
      CL_SUCCESS) {
    into.bytes = 0;
  }
}

}  // namespace

void recordDevice(cl_device_id device) {
  {
    StateLock lock;
    if (device == nullptr || g_objects.devices.find(handleOf(device)) != nullptr) return;
    g_objects.devices.insert(handleOf(device));
  }
  rec::Device d;
  d.handle = handleOf(device);
  cl_device_type type = 0;
  next().clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, nullptr);
  d.type = type;
  DeviceText name, vendor, driver, version, platform_name;
  read(device, CL_DEVICE_NAME, name);
  read(device, CL_DEVICE_VENDOR, vendor);
  read(device, CL_DRIVER_VERSION, driver);
  read(device, CL_DEVICE_VERSION, version);
  cl_platform_id platform = nullptr;
  next().clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr);
  if (platform == nullptr ||
      next().clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name.text,
                               platform_name.text, &platform_name.bytes) != CL_SUCCESS) {
    platform_name.bytes = 0;
  }
  d.name = name.view();
  d.vendor = vendor.view();
  d.driver = driver.view();
  d.version = version.view();
  d.platform = platform_name.view();
  const int64_t now = nowNs();
  put(d, {now, now, 0, kAddedByAgent});
}

namespace {

constexpr cl_uint kMostDevices = 64;

void noteNewContext(const Call& call, cl_context context, const cl_device_id* given,
                    cl_uint given_count) {
  cl_device_id devices[kMostDevices];
  size_t bytes = 0;
  cl_uint count = 0;
  if (context != nullptr && next().clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices,
                                                    devices, &bytes) == CL_SUCCESS) {
    count = static_cast<cl_uint>(bytes / sizeof devices[0]);
  } else if (context == nullptr && given != nullptr && given_count <= kMostDevices &&
             isReadable(given, given_count * sizeof devices[0])) {
    memcpy(devices, given, given_count * sizeof devices[0]);
    count = given_count;
  }
  // After a call that failed, the handles may be invalid.
  for (cl_uint i = 0; context != nullptr && i < count; ++i) recordDevice(devices[i]);
  rec::CreateContext c;
  c.context = handleOf(context);
  c.devices = handlesOf(devices, count);
  StateLock lock;
  putLocked(c, call.info());
  if (context == nullptr) return;
  if (ContextState* state = g_objects.contexts.insert(c.context)) {
    state->device = count > 0 ? devices[0] : nullptr;
  }
}

void noteNewQueue(const Call& call, cl_command_queue queue, cl_context context, cl_device_id device,
                  uint64_t properties, rec::Sizes others) {
  rec::CreateQueue c;
  c.queue = handleOf(queue);
  c.context = handleOf(context);
  c.device = handleOf(device);
  c.properties = properties;
  c.others = others;
  if (queue != nullptr) recordDevice(device);
  StateLock lock;
  putLocked(c, call.info());
  if (queue == nullptr) return;
  if (QueueState* state = g_objects.queues.insert(c.queue)) {
    state->context = context;
    state->out_of_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
    state->on_device = (properties & CL_QUEUE_ON_DEVICE) != 0;
  }
}

/// Adds `change` to the reference count. True: it was the program's last reference.
template <class Value>
bool count(Table<Value>& table, Handle handle, int change) {
  Value* value = table.find(handle);
  if (value == nullptr) return false;
  uint32_t* references = nullptr;
  if constexpr (std::is_same_v<Value, uint32_t>) {
    references = value;
  } else {
    references = &value->references;
  }
  *references += static_cast<uint32_t>(change);
  return *references == 0;
}

void countObject(ObjectClass what, Handle handle, int change) {
  State& s = g_objects;
  switch (what) {
    case ObjectClass::kContext:
      if (count(s.contexts, handle, change)) s.contexts.erase(handle);
      break;
    case ObjectClass::kQueue:
      if (count(s.queues, handle, change)) s.queues.erase(handle);
      break;
    case ObjectClass::kMemory:
      if (count(s.memory, handle, change)) s.memory.erase(handle);
      break;
    case ObjectClass::kSampler:
    case ObjectClass::kProgram:
      if (count(s.plain, handle, change)) s.plain.erase(handle);
      break;
    case ObjectClass::kKernel:
      if (count(s.kernels, handle, change)) {
        s.kernels.find(handle)->arguments.free();
        s.kernels.find(handle)->indirect.free();
        s.kernels.erase(handle);
      }
      break;
    case ObjectClass::kEvent: {
      const EventState* event = s.user_events.find(handle);
      const bool set = event != nullptr && event->set;
      if (change < 0) s.known.erase(handle);
      if (count(s.user_events, handle, change)) {
        s.user_events.erase(handle);
        if (!set && s.unset_user_events > 0) --s.unset_user_events;
      }
      break;
    }
    case ObjectClass::kDevice:
      break;
  }
}

/// True for an event of a command that is not recorded. User events are objects like others.
bool passes(ObjectClass what, const void* object) {
  if (what != ObjectClass::kEvent || inRangeNow()) return false;
  StateLock lock;
  g_objects.known.erase(handleOf(object));  // its handle may be reused
  return g_objects.user_events.find(handleOf(object)) == nullptr;
}

template <class Object, class Invoke>
cl_int retain(ObjectClass what, Object object, Invoke&& invoke) {
  if (!active() || passes(what, object)) return invoke(object);
  Order order;
  Call call;
  call.end(invoke(object));
  rec::Retain c;
  c.object = handleOf(object);
  c.object_class = what;
  StateLock lock;
  putLocked(c, call.info());
  if (call.info().result == CL_SUCCESS) countObject(what, c.object, 1);
  return call.info().result;
}

template <class Object, class Invoke>
cl_int release(ObjectClass what, Object object, Invoke&& invoke) {
  if (!active() || passes(what, object)) return invoke(object);
  Call call;
  uint64_t sequence = kNotRecorded;
  rec::Release c;
  c.object = handleOf(object);
  c.object_class = what;
  {
    Order order;
    StateLock lock;
    CallInfo info = call.info();
    info.end_ns = info.start_ns;
    sequence = putLocked(c, info);
    countObject(what, c.object, -1);
  }
  // The driver may wait here for the object's last commands.
  call.end(invoke(object));
  if (call.info().result != CL_SUCCESS) {
    done(sequence, call);
    StateLock lock;
    countObject(what, c.object, 1);
  }
  return call.info().result;
}

}  // namespace

void noteObject(Table<uint32_t>& table, Handle handle) {
  if (uint32_t* references = table.insert(handle)) *references = 1;
}

}  // namespace tracesmith::record

extern "C" {

cl_context CL_API_CALL TS_WRAP(clCreateContext)(
    const cl_context_properties* properties, cl_uint count, const cl_device_id* devices,
    void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*), void* user, cl_int* error) {
  if (!active()) return next().clCreateContext(properties, count, devices, notify, user, error);
  Call call;
  cl_int e = CL_SUCCESS;
  cl_context context = next().clCreateContext(properties, count, devices, notify, user, &e);
  call.end(e);
  noteNewContext(call, context, devices, count);
  if (error != nullptr) *error = e;
  return context;
}

cl_context CL_API_CALL TS_WRAP(clCreateContextFromType)(
    const cl_context_properties* properties, cl_device_type type,
    void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*), void* user, cl_int* error) {
  if (!active()) return next().clCreateContextFromType(properties, type, notify, user, error);
  Call call;
  cl_int e = CL_SUCCESS;
  cl_context context = next().clCreateContextFromType(properties, type, notify, user, &e);
  call.end(e);
  noteNewContext(call, context, nullptr, 0);
  if (error != nullptr) *error = e;
  return context;
}

cl_command_queue CL_API_CALL TS_WRAP(clCreateCommandQueue)(cl_context context, cl_device_id device,
                                                           cl_command_queue_properties properties,
                                                           cl_int* error) {
  if (!active()) return next().clCreateCommandQueue(context, device, properties, error);
  Call call;
  cl_int e = CL_SUCCESS;
  cl_command_queue queue = next().clCreateCommandQueue(context, device, properties, &e);
  call.end(e);
  noteNewQueue(call, queue, context, device, properties, {});
  if (error != nullptr) *error = e;
  return queue;
}

cl_command_queue CL_API_CALL TS_WRAP(clCreateCommandQueueWithProperties)(
    cl_context context, cl_device_id device, const cl_queue_properties* properties, cl_int* error) {
  if (!active()) {
    return next().clCreateCommandQueueWithProperties(context, device, properties, error);
  }
  Call call;
  cl_int e = CL_SUCCESS;
  cl_command_queue queue =
      next().clCreateCommandQueueWithProperties(context, device, properties, &e);
  call.end(e);
  constexpr size_t kMost = 32;
  uint64_t others[kMost];
  size_t n = 0;
  uint64_t asked = 0;
  forEachPair(properties, queue, [&](uint64_t name, uint64_t value) {
    if (name == CL_QUEUE_PROPERTIES) {
      asked = value;
    } else if (n + 2 <= kMost) {
      others[n++] = name;
      others[n++] = value;
    }
  });
  noteNewQueue(call, queue, context, device, asked, {others, n});
  if (error != nullptr) *error = e;
  return queue;
}

static void noteNewSampler(const Call& call, cl_sampler sampler, cl_context context,
                           uint64_t normalized, uint64_t addressing, uint64_t filter) {
  rec::CreateSampler c;
  c.sampler = handleOf(sampler);
  c.context = handleOf(context);
  c.normalized = normalized;
  c.addressing = addressing;
  c.filter = filter;
  StateLock lock;
  putLocked(c, call.info());
  noteObject(g_objects.plain, c.sampler);
}

cl_sampler CL_API_CALL TS_WRAP(clCreateSampler)(cl_context context, cl_bool normalized,
                                                cl_addressing_mode addressing,
                                                cl_filter_mode filter, cl_int* error) {
  if (!active()) return next().clCreateSampler(context, normalized, addressing, filter, error);
  Call call;
  cl_int e = CL_SUCCESS;
  cl_sampler sampler = next().clCreateSampler(context, normalized, addressing, filter, &e);
  call.end(e);
  noteNewSampler(call, sampler, context, normalized, addressing, filter);
  if (error != nullptr) *error = e;
  return sampler;
}

cl_sampler CL_API_CALL TS_WRAP(clCreateSamplerWithProperties)(
    cl_context context, const cl_sampler_properties* properties, cl_int* error) {
  if (!active()) return next().clCreateSamplerWithProperties(context, properties, error);
  Call call;
  cl_int e = CL_SUCCESS;
  cl_sampler sampler = next().clCreateSamplerWithProperties(context, properties, &e);
  call.end(e);
  uint64_t normalized = CL_TRUE;
  uint64_t addressing = CL_ADDRESS_CLAMP;
  uint64_t filter = CL_FILTER_NEAREST;
  forEachPair(properties, sampler, [&](uint64_t name, uint64_t value) {
    if (name == CL_SAMPLER_NORMALIZED_COORDS) normalized = value;
    if (name == CL_SAMPLER_ADDRESSING_MODE) addressing = value;
    if (name == CL_SAMPLER_FILTER_MODE) filter = value;
  });
  noteNewSampler(call, sampler, context, normalized, addressing, filter);
  if (error != nullptr) *error = e;
  return sampler;
}

cl_event CL_API_CALL TS_WRAP(clCreateUserEvent)(cl_context context, cl_int* error) {
  if (!active()) return next().clCreateUserEvent(context, error);
  Call call;
  cl_int e = CL_SUCCESS;
  cl_event event = next().clCreateUserEvent(context, &e);
  call.end(e);
  rec::CreateUserEvent c;
  c.event = handleOf(event);
  c.context = handleOf(context);
  {
    StateLock lock;
    putLocked(c, call.info());
    if (event != nullptr && g_objects.user_events.insert(c.event) != nullptr) {
      ++g_objects.unset_user_events;
    }
  }
  if (error != nullptr) *error = e;
  return event;
}

cl_int CL_API_CALL TS_WRAP(clSetUserEventStatus)(cl_event event, cl_int status) {
  if (!active()) return next().clSetUserEventStatus(event, status);
  rec::SetUserEventStatus c;
  c.event = handleOf(event);
  c.status = status;
  // Recorded before the call: commands that it releases may call back, and others may follow.
  Call call;
  uint64_t sequence = kNotRecorded;
  {
    Order order;
    StateLock lock;
    CallInfo info = call.info();
    info.end_ns = info.start_ns;
    sequence = putLocked(c, info);
    EventState* state = g_objects.user_events.find(c.event);
    if (state != nullptr && !state->set) {
      state->set = true;
      if (g_objects.unset_user_events > 0) --g_objects.unset_user_events;
    }
  }
  call.end(next().clSetUserEventStatus(event, status));
  if (call.info().result != CL_SUCCESS) done(sequence, call);
  return call.info().result;
}

#define TS_REFERENCES(Class, Type, Function)                              \
  cl_int CL_API_CALL TS_WRAP(clRetain##Function)(Type object) {           \
    return retain(ObjectClass::Class, object,                             \
                  [](Type o) { return next().clRetain##Function(o); });   \
  }                                                                       \
  cl_int CL_API_CALL TS_WRAP(clRelease##Function)(Type object) {          \
    return release(ObjectClass::Class, object,                            \
                   [](Type o) { return next().clRelease##Function(o); }); \
  }
TS_REFERENCES(kContext, cl_context, Context)
TS_REFERENCES(kQueue, cl_command_queue, CommandQueue)
TS_REFERENCES(kMemory, cl_mem, MemObject)
TS_REFERENCES(kSampler, cl_sampler, Sampler)
TS_REFERENCES(kProgram, cl_program, Program)
TS_REFERENCES(kKernel, cl_kernel, Kernel)
TS_REFERENCES(kEvent, cl_event, Event)
#undef TS_REFERENCES

}  // extern "C"
