// SPDX-License-Identifier: Apache-2.0
// Snapshots of memory: at the start of a range, and after a launch.
#include <sys/mman.h>

#include "tracesmith/capture/agents/opencl_record/recorder.hpp"

namespace rec = tracesmith::recording;

namespace tracesmith::record {
namespace {

constexpr uint64_t kPieceBytes = 8 * rec::kChunkBytes;

/// Host memory for the bytes read.
class Scratch {
 public:
  explicit Scratch(uint64_t bytes) : p_(static_cast<uint8_t*>(malloc(bytes))) {}
  ~Scratch() { free(p_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  uint8_t* get() const { return p_; }

 private:
  uint8_t* p_;
};

/// A temporary queue of the recorder.
class OwnQueue {
 public:
  explicit OwnQueue(cl_context context) {
    cl_device_id device = nullptr;
    {
      StateLock lock;
      const ContextState* state = g_objects.contexts.find(handleOf(context));
      if (state != nullptr) device = state->device;
    }
    cl_int error = CL_SUCCESS;
    if (device != nullptr) queue_ = next().clCreateCommandQueue(context, device, 0, &error);
  }
  ~OwnQueue() {
    if (queue_ != nullptr) next().clReleaseCommandQueue(queue_);
  }
  OwnQueue(const OwnQueue&) = delete;
  OwnQueue& operator=(const OwnQueue&) = delete;
  cl_command_queue get() const { return queue_; }

 private:
  cl_command_queue queue_ = nullptr;
};

struct Object {
  Handle handle;
  MemoryState state;
};

/// State lock.
void addRetained(List<Object>& objects, const Object& o) {
  const auto memory = objectOf<cl_mem>(o.handle);
  if (retainLocked(memory) && !objects.add(o)) next().clReleaseMemObject(memory);
}

void release(List<Object>& objects) {
  for (const Object& o : objects) next().clReleaseMemObject(objectOf<cl_mem>(o.handle));
  objects.free();
}

/// Reads a range of a buffer, even of one that the host is not allowed to read.
bool readContiguous(cl_command_queue queue, const Object& o, uint64_t offset, uint64_t bytes,
                    uint8_t* into) {
  const auto memory = objectOf<cl_mem>(o.handle);
  if (next().clEnqueueReadBuffer(queue, memory, CL_TRUE, offset, bytes, into, 0, nullptr,
                                 nullptr) == CL_SUCCESS) {
    return true;
  }
  cl_int error = CL_SUCCESS;
  cl_mem copy = next().clCreateBuffer(o.state.context, CL_MEM_READ_WRITE, bytes, nullptr, &error);
  if (copy == nullptr) return false;
  const bool read = next().clEnqueueCopyBuffer(queue, memory, copy, offset, 0, bytes, 0, nullptr,
                                               nullptr) == CL_SUCCESS &&
                    next().clEnqueueReadBuffer(queue, copy, CL_TRUE, 0, bytes, into, 0, nullptr,
                                               nullptr) == CL_SUCCESS;
  next().clReleaseMemObject(copy);
  return read;
}

bool readImage(cl_command_queue queue, const Object& o, uint8_t* into) {
  const auto image = objectOf<cl_mem>(o.handle);
  const size_t origin[3] = {0, 0, 0};
  const size_t region[3] = {o.state.extent[0], o.state.extent[1], o.state.extent[2]};
  if (next().clEnqueueReadImage(queue, image, CL_TRUE, origin, region, 0, 0, into, 0, nullptr,
                                nullptr) == CL_SUCCESS) {
    return true;
  }
  cl_int error = CL_SUCCESS;
  cl_mem copy =
      next().clCreateBuffer(o.state.context, CL_MEM_READ_WRITE, o.state.bytes, nullptr, &error);
  if (copy == nullptr) return false;
  const bool read = next().clEnqueueCopyImageToBuffer(queue, image, copy, origin, region, 0, 0,
                                                      nullptr, nullptr) == CL_SUCCESS &&
                    next().clEnqueueReadBuffer(queue, copy, CL_TRUE, 0, o.state.bytes, into, 0,
                                               nullptr, nullptr) == CL_SUCCESS;
  next().clReleaseMemObject(copy);
  return read;
}

void snapshot(cl_command_queue queue, const Object& o, Keep keep, uint64_t after) {
  if (o.state.bytes == 0) return;
  Content content;
  const Scratch scratch(o.state.is_image || o.state.bytes < kPieceBytes ? o.state.bytes
                                                                        : kPieceBytes);
  bool read = scratch.get() != nullptr && queue != nullptr;
  content.begin(o.state.bytes);
  if (read && o.state.is_image) {
    read = readImage(queue, o, scratch.get());
    if (read) content.append(scratch.get(), o.state.bytes, keep);
  }
  for (uint64_t at = 0; read && !o.state.is_image && at < o.state.bytes; at += kPieceBytes) {
    const uint64_t n = o.state.bytes - at < kPieceBytes ? o.state.bytes - at : kPieceBytes;
    read = readContiguous(queue, o, at, n, scratch.get());
    if (read) content.append(scratch.get(), n, keep);
  }
  if (!read) content.unknown(o.state.bytes);
  rec::Snapshot s;
  s.memory = o.handle;
  s.after = after;
  s.content = content.payload();
  s.kept = read && keep == Keep::kBytes ? 1 : 0;
  const int64_t now = nowNs();
  put(s, {now, now, 0, rec::command_flags::kAddedByAgent});
}

/// `queue` may be nullptr for fine-grained memory.
void snapshotShared(cl_command_queue queue, const Shared& o, Keep keep, uint64_t after) {
  void* const p = objectOf<void*>(o.pointer);
  const bool mapped = !isFineGrained(o.state);
  if (mapped &&
      (queue == nullptr || next().clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, p, o.state.bytes, 0,
                                                  nullptr, nullptr) != CL_SUCCESS)) {
    return;
  }
  Content content;
  content.take(stretch(p, o.state.bytes), keep);
  if (mapped) {
    next().clEnqueueSVMUnmap(queue, p, 0, nullptr, nullptr);
    next().clFinish(queue);
  }
  recordShared(o, content, keep, after);
}

}  // namespace

namespace {

// Do not wait for a kernel that waits for the host. Queues that have not become idle in this time
// are checked again at each call, but only briefly.
constexpr int64_t kPatienceNs = 5'000'000'000;
constexpr int64_t kLaterPatienceNs = 1'000'000;
constinit std::atomic<int64_t> g_patience_ns{kPatienceNs};

/// An event that completes when all commands in the queue have; nullptr if the driver refuses.
cl_event markEnd(cl_command_queue queue) {
  cl_event event = nullptr;
  if (next().clEnqueueMarkerWithWaitList != nullptr) {
    next().clEnqueueMarkerWithWaitList(queue, 0, nullptr, &event);
  } else if (next().clEnqueueMarker != nullptr) {
    next().clEnqueueMarker(queue, &event);
  }
  next().clFlush(queue);
  return event;
}

bool isOver(cl_event event) {
  cl_int status = CL_COMPLETE;
  next().clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  return status <= CL_COMPLETE;
}

}  // namespace

bool finishQueues() {
  List<uint64_t> queues;
  {
    StateLock lock;
    if (g_objects.unset_user_events != 0) return false;
    g_objects.queues.forEach([&](uint64_t handle, const QueueState& q) {
      const auto queue = objectOf<cl_command_queue>(handle);
      if (!q.on_device && retainLocked(queue) && !queues.add(handle)) {
        next().clReleaseCommandQueue(queue);
      }
      return true;
    });
  }
  // Flush all queues before waiting for any: a queue may wait for a command of another queue that
  // has not been submitted to its device yet.
  List<uint64_t> ends;
  for (const uint64_t queue : queues) {
    const cl_event end = markEnd(objectOf<cl_command_queue>(queue));
    if (end == nullptr || !ends.add(handleOf(end))) {
      if (end != nullptr) next().clReleaseEvent(end);
      next().clFinish(objectOf<cl_command_queue>(queue));
    }
  }
  const int64_t until = nowNs() + g_patience_ns.load(std::memory_order_relaxed);
  bool finished = true;
  for (const uint64_t end : ends) {
    for (int64_t pause_ns = 10'000; !isOver(objectOf<cl_event>(end)); pause_ns *= 2) {
      finished = finished && nowNs() < until;
      if (!finished) break;
      pauseNs(pause_ns < 1'000'000 ? pause_ns : 1'000'000);
    }
    next().clReleaseEvent(objectOf<cl_event>(end));
  }
  for (const uint64_t queue : queues) {
    next().clReleaseCommandQueue(objectOf<cl_command_queue>(queue));
  }
  g_patience_ns.store(finished ? kPatienceNs : kLaterPatienceNs, std::memory_order_relaxed);
  queues.free();
  ends.free();
  return finished;
}

void snapshotAll() {
  const SharedAccess access;
  List<Object> objects;
  List<Shared> shared;
  List<uint64_t> contexts;
  {
    StateLock lock;
    State& s = g_objects;
    s.memory.forEach([&](uint64_t handle, const MemoryState& m) {
      // A sub-buffer's content is recorded with its parent's.
      if (s.memory.find(handleOf(m.parent)) == nullptr) addRetained(objects, {handle, m});
      return true;
    });
    s.svm.forEach([&](uint64_t pointer, const SvmState& m) { return shared.add({pointer, m}); });
    s.contexts.forEach([&](uint64_t handle, const ContextState&) {
      const auto context = objectOf<cl_context>(handle);
      if (retainLocked(context) && !contexts.add(handle)) next().clReleaseContext(context);
      return true;
    });
  }
  for (const uint64_t context : contexts) {
    const OwnQueue queue(objectOf<cl_context>(context));
    for (const Object& o : objects) {
      if (handleOf(o.state.context) == context) snapshot(queue.get(), o, Keep::kBytes, 0);
    }
    for (const Shared& o : shared) {
      if (handleOf(o.state.context) == context) {
        snapshotShared(queue.get(), o, Keep::kBytes, 0);
      }
    }
  }
  for (const uint64_t context : contexts) next().clReleaseContext(objectOf<cl_context>(context));
  release(objects);
  shared.free();
  contexts.free();
}

void snapshotArguments(cl_kernel kernel, cl_command_queue queue, uint64_t after) {
  const SharedAccess access;
  List<Object> objects;
  List<Shared> shared;
  {
    StateLock lock;
    State& s = g_objects;
    const KernelState* state = s.kernels.find(handleOf(kernel));
    if (state == nullptr || s.unset_user_events != 0) return;
    List<uint64_t> arguments = state->arguments;  // not a copy: the same memory
    for (uint64_t i = 0; i < arguments.size(); ++i) {
      bool again = false;
      for (uint64_t j = 0; j < i; ++j) again = again || arguments[j] == arguments[i];
      if (again) continue;
      if (const MemoryState* m = s.memory.find(arguments[i]))
        addRetained(objects, {arguments[i], *m});
      if (const SvmState* m = s.svm.find(arguments[i])) shared.add({arguments[i], *m});
    }
  }
  next().clFinish(queue);
  settle({handleOf(queue)});
  for (const Object& o : objects) snapshot(queue, o, Keep::kHashes, after);
  for (const Shared& o : shared) snapshotShared(queue, o, Keep::kHashes, after);
  release(objects);
  shared.free();
}

void zeroShared(cl_context context, void* p, uint64_t bytes, cl_svm_mem_flags flags) {
  if ((flags & CL_MEM_SVM_FINE_GRAIN_BUFFER) != 0) {
    memset(p, 0, bytes);
    return;
  }
  const OwnQueue queue(context);
  if (queue.get() == nullptr ||
      next().clEnqueueSVMMap(queue.get(), CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, p, bytes, 0,
                             nullptr, nullptr) != CL_SUCCESS) {
    return;
  }
  memset(p, 0, bytes);
  next().clEnqueueSVMUnmap(queue.get(), p, 0, nullptr, nullptr);
  next().clFinish(queue.get());
}

}  // namespace tracesmith::record
