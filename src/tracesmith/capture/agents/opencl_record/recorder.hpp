// SPDX-License-Identifier: Apache-2.0
// Shared by the wrappers: the recorder's state of the program's objects, and the conversion of
// calls to commands.
#pragma once

#include <string.h>

#include <atomic>

#include "tracesmith/capture/agents/opencl_record/content.hpp"
#include "tracesmith/capture/agents/opencl_record/intercept.hpp"
#include "tracesmith/capture/agents/opencl_record/table.hpp"

namespace tracesmith::record {

using recording::Handle;
using recording::Handles;

template <class Object>
Handle handleOf(Object o) {
  return reinterpret_cast<uint64_t>(o);
}
template <class Object>
Object objectOf(Handle h) {
  return reinterpret_cast<Object>(h);
}
/// A list of the program's handles; a handle has 8 bytes, as in recordings.
template <class Object>
Handles handlesOf(const Object* list, uint64_t count) {
  static_assert(sizeof(Object) == sizeof(Handle));
  if (list == nullptr || count > 1u << 20) return {};
  return {reinterpret_cast<const uint64_t*>(list), count};
}
inline recording::Sizes sizesOf(const size_t* list, uint64_t count) {
  if (list == nullptr) return {};
  return {reinterpret_cast<const uint64_t*>(list), count};
}
inline recording::Text textOf(const char* text) {
  if (text == nullptr) return {};
  return {text, strlen(text)};
}
/// For a call that the driver has refused, or may still refuse: empty if the text is not readable.
inline recording::Text readableTextOf(const char* text) {
  size_t length = 0;  // an even longer one ends the recording
  if (!readableLength(text, channel::kMaxFrameBytes + 1, length)) return {};
  return {text, length};
}
/// The same for origins and regions.
inline const size_t* readableSizes(const size_t* three) {
  return isReadable(three, 3 * sizeof *three) ? three : nullptr;
}
/// Visits a zero-terminated list of pairs of a call that created `object`, or null.
template <class Function>
void forEachPair(const uint64_t* list, const void* object, Function&& function) {
  const auto canRead = [&](const uint64_t* p) {
    return object != nullptr || isReadable(p, sizeof *p);
  };
  for (; list != nullptr && canRead(list) && *list != 0 && canRead(list + 1); list += 2) {
    function(list[0], list[1]);
  }
}

struct ContextState {
  uint32_t references = 1;
  cl_device_id device = nullptr;  // the first one
};

struct QueueState {
  uint32_t references = 1;
  cl_context context = nullptr;
  bool out_of_order = false;
  bool on_device = false;
};

struct MemoryState {
  uint32_t references = 1;
  cl_context context = nullptr;
  cl_mem_flags flags = 0;  // as passed by the program
  bool zeroed = false;     // the recorder added COPY_HOST_PTR to the flags passed to the driver
  bool is_image = false;
  bool is_1d_array = false;  // the rows of a region are one slice pitch apart
  cl_mem parent = nullptr;
  Handle shared = 0;           // its address in shared memory (USE_HOST_PTR)
  uint64_t bytes = 0;          // size of a buffer, or of a packed image
  uint64_t element_bytes = 0;  // of an image
  uint64_t extent[3] = {};     // of an image, in the units of regions
};

struct KernelState {
  uint32_t references = 1;
  bool wanted = false;  // selected by a range of kernels
  List<uint64_t> arguments;
  List<uint64_t> indirect;  // shared memory that it accesses without an argument
};

struct EventState {
  uint32_t references = 1;
  bool set = false;
};

struct SvmState {
  cl_context context = nullptr;
  uint64_t flags = 0;
  uint64_t bytes = 0;
  uint64_t number = 0;          // unique, unlike addresses
  uint32_t uses = 0;            // running commands that may write it; fine-grained only
  recording::ContentHash last;  // of the last known content
};
inline bool isFineGrained(const SvmState& s) {
  return (s.flags & CL_MEM_SVM_FINE_GRAIN_BUFFER) != 0;
}
struct Shared {
  Handle pointer = 0;
  SvmState state;
};

struct FreedShared {
  cl_context context = nullptr;
  void* pointer = nullptr;
};

/// A mapped part of a memory object.
struct MapState {
  Handle memory = 0;
  Handle pointer = 0;
  uint64_t flags = 0;
  recording::Box box;
  Place place;
  recording::ContentHash shown;  // hash of the content shown to the host; empty: not read
};

/// Everything is guarded by the state lock.
struct State {
  Table<ContextState> contexts;
  Table<QueueState> queues;
  Table<MemoryState> memory;
  Table<KernelState> kernels;
  Table<EventState> user_events;
  Table<SvmState> svm;
  Table<uint8_t> devices;  // devices that were recorded
  Table<uint32_t> plain;   // reference counts of samplers and programs
  Table<uint32_t> known;   // by complete event: the thread that was last told of the completion
  List<MapState> maps;
  uint64_t unset_user_events = 0;
  uint64_t allocations = 0;      // number of shared allocations so far
  uint32_t shared_accesses = 0;  // number of SharedAccess objects
  /// A memory object was created over shared memory. Readable without the lock.
  std::atomic<bool> any_over_shared{false};
  List<FreedShared> freed;  // while `shared_accesses` was not 0
};
extern constinit State g_objects;

/// Times and result of a call, starting at construction.
class Call {
 public:
  Call() { info_.start_ns = nowNs(); }
  cl_int end(cl_int result) {
    info_.end_ns = nowNs();
    info_.result = result;
    return result;
  }
  void flag(uint16_t flags) { info_.flags = static_cast<uint16_t>(info_.flags | flags); }
  const CallInfo& info() const { return info_; }
  /// For a call recorded before it is made: it has no end yet.
  CallInfo started() const {
    CallInfo info = info_;
    info.flags = static_cast<uint16_t>(info.flags | recording::command_flags::kStarted);
    info.end_ns = info.start_ns;
    return info;
  }

 private:
  CallInfo info_;
};

/// Records the result of a command that was recorded when it started.
inline void done(uint64_t of, const Call& call, const recording::Payload& content = {},
                 bool kept = false) {
  if (of == kNotRecorded) return;
  recording::Done d;
  d.of = of;
  d.content = content;
  d.kept = kept ? 1 : 0;
  put(d, call.info());
}

/// Records a device when it is first seen.
void recordDevice(cl_device_id device);
/// Adds an object of which only references are counted. State lock.
void noteObject(Table<uint32_t>& table, Handle handle);
/// Records the files included by the source of a program that is about to be built (includes.cpp).
void recordIncludes(cl_program program, const char* options);
/// Records a call whose effect cannot be replayed. A call that failed has no effect.
void unsupported(const char* function, const Call& call, cl_command_queue queue = nullptr,
                 cl_event event = nullptr);

inline Keep keepOutputs() { return options().keep_outputs ? Keep::kBytes : Keep::kHashes; }

// --- ranges (range.cpp) -----------------------------------------------------------------------

enum class QueueCall : uint8_t { kLaunch, kOther };

/// True if queue commands must be recorded. Starts and ends ranges; order lock.
bool inRange(QueueCall what = QueueCall::kOther, cl_kernel kernel = nullptr);
/// The same for a command that may change memory. Create it before calling the driver. A command
/// that is not recorded must be completely outside of every range: no range starts during the
/// lifetime of its RangeCall.
class RangeCall {
 public:
  explicit RangeCall(QueueCall what = QueueCall::kOther, cl_kernel kernel = nullptr);
  ~RangeCall();
  RangeCall(const RangeCall&) = delete;
  RangeCall& operator=(const RangeCall&) = delete;
  explicit operator bool() const { return recorded_; }

 private:
  bool recorded_ = false;
  bool counted_ = false;
  uint16_t wait_ = 0;  // number of the last wait for such commands at construction
};
/// Call after a launch, recorded or not: takes hashes and ends a range. Order lock.
void afterLaunch(cl_command_queue queue, cl_kernel kernel, uint64_t sequence, bool success);
/// Call at a call that ends a step (clFinish), for ranges of steps.
void noteSync();
/// True if everything is recorded, or inside a range. False between ranges, where events of
/// commands that are not recorded come and go. Does not start or end a range.
bool inRangeNow();
bool isKernelSelected(const char* name);
bool readRange();

// --- reads (reads.cpp) ------------------------------------------------------------------------

enum class PendingKind : uint8_t {
  kRead,    // hash the bytes that the host got
  kMap,     // as kRead; later compare them with the bytes that the host leaves there
  kSource,  // record the host memory that the command read, which an earlier read had yet to fill
  kUse,     // the command may write fine-grained shared memory
};

/// A running command. The recorder must act once `event` is complete.
struct PendingRead {
  PendingKind what = PendingKind::kRead;
  uint64_t sequence = kNotRecorded;
  cl_event event = nullptr;
  Handle queue = 0;
  Place place;
  uint64_t allocation = 0;  // number of the shared memory in use
  bool lost = false;        // another read has overwritten the place
};
/// False: the command cannot be followed.
bool awaitRead(const PendingRead& read);
/// Call before another read gets the host memory: hashes its content, or marks it lost.
void prepareOverwrite(const Place& place);
/// True if a running command may still fill this host memory: another command's input from there is
/// only known when the first is complete.
bool mayBeFilled(const Place& place);
/// Call before an unmap: hashes the mapped content, or marks it lost.
void prepareUnmap(const void* pointer);

/// The commands that a synchronization proves complete.
struct Sync {
  Handle queue = 0;  // everything submitted to it
  const cl_event* events = nullptr;
  uint64_t count = 0;
  uint64_t before = UINT64_MAX;  // in the queue: readsSoFar() when the wait started
  bool if_in_order = false;      // proves nothing if the queue is out of order
};
uint64_t readsSoFar();
/// What a blocking command proves complete. Create it before the call.
inline Sync blockingIn(cl_command_queue queue) {
  return {handleOf(queue), nullptr, 0, readsSoFar(), true};
}
/// Hashes completed reads. Call before the program can learn that they are complete. After the
/// recording has ended, only releases their events.
void settle(const Sync& sync = {});
/// Makes a call that may wait, on a thread that does not record (any more). Settles afterwards,
/// since another thread may still be working on earlier reads.
template <class Invoke>
auto callAndSettle(Invoke&& invoke) {
  const auto result = invoke();
  settle();
  return result;
}
bool readsPending();
/// The recorder's references on an event.
uint32_t heldReferences(cl_event event);

// --- access to the program's objects (shared_access.cpp) ----------------------------------------

/// Keeps shared memory in the tables alive during its lifetime. Shared memory has no reference
/// count, so memory that the program frees meanwhile is freed at the end of the last SharedAccess.
class SharedAccess {
 public:
  SharedAccess();
  ~SharedAccess();
  SharedAccess(const SharedAccess&) = delete;
  SharedAccess& operator=(const SharedAccess&) = delete;
};
/// True: a SharedAccess exists, and frees the memory for the caller. State lock.
bool deferFree(cl_context context, void* p);
bool isSharedBeingRead();

/// Retain objects that are used after the state lock is released, because other threads may release
/// them. While that lock is held, an object in the tables is alive.
inline bool retainLocked(cl_command_queue o) {
  return next().clRetainCommandQueue(o) == CL_SUCCESS;
}
inline bool retainLocked(cl_context o) { return next().clRetainContext(o) == CL_SUCCESS; }
inline bool retainLocked(cl_mem o) { return next().clRetainMemObject(o) == CL_SUCCESS; }

// --- snapshots (snapshot.cpp) -----------------------------------------------------------------

/// Waits for all queues. False: a command waits for a user event that is not set, or does not end.
bool finishQueues();
/// Records every live memory object and shared allocation, with contents.
void snapshotAll();
/// Records hashes of a kernel's arguments.
void snapshotArguments(cl_kernel kernel, cl_command_queue queue, uint64_t after);
/// Fills newly allocated shared memory with zeros.
void zeroShared(cl_context context, void* p, uint64_t bytes, cl_svm_mem_flags flags);

// --- fine-grained shared memory (fine_grained.cpp) --------------------------------------------

/// True if this range is inside one allocation of shared memory. State lock.
bool isShared(const void* p, uint64_t bytes);
/// Records the host's changes to memory that no running command may write. Call before a command
/// that may use that memory.
void recordHostChanges();
/// The same, before a command on memory objects, which may be in shared memory.
inline void recordHostChangesUnderObjects() {
  if (g_objects.any_over_shared.load(std::memory_order_relaxed)) recordHostChanges();
}
/// Records the content of shared memory as a command of the recorder; the content is known from now
/// on.
void recordShared(const Shared& o, const Content& content, Keep keep, uint64_t after);

/// The fine-grained memory that a command may write, from before the driver call until the command
/// is complete. The host owns all other fine-grained memory.
class SharedUse {
 public:
  SharedUse() = default;
  ~SharedUse();  // the command is complete, or was refused
  SharedUse(const SharedUse&) = delete;
  SharedUse& operator=(const SharedUse&) = delete;
  void add(Handle address);
  void add(cl_kernel kernel);  // its arguments
  void add(cl_mem memory);     // the shared memory it is in, if any
  bool any() const { return used_.size() != 0; }
  /// The command is running until `event` is complete.
  void await(cl_command_queue queue, cl_event event);

 private:
  struct Used {
    Handle pointer;
    uint64_t bytes;
    uint64_t allocation;
  };
  void addLocked(Handle address);
  List<Used> used_;
};
/// A command that could write this memory has completed.
void endSharedUse(Handle pointer, uint64_t allocation);

// --- places and boxes (transfers.cpp) ---------------------------------------------------------

recording::Box linearBox(uint64_t offset, uint64_t bytes);
recording::Box boxOf(bool is_image, const size_t* origin, const size_t* region, uint64_t row_pitch,
                     uint64_t slice_pitch);
/// An empty place if the image is unknown.
Place imagePlace(cl_mem image, const void* host, const size_t* region, size_t row_pitch,
                 size_t slice_pitch);
/// True if there is no known reason to refuse a command of this queue with these waits. `context`:
/// that of the command's objects.
bool isProbablyValid(cl_command_queue queue, cl_context context, cl_uint count,
                     const cl_event* waits);
/// Records the end of a command that waited, with the event and the pointer that the program got.
void recordBlockingEnd(uint64_t sequence, const Call& call, const cl_event* event,
                       const Content& content, bool kept, const void* pointer);

// --- queue commands ---------------------------------------------------------------------------

struct Waits {
  cl_uint count;
  const cl_event* events;
};

/// A queue command that does not wait: calls the driver and records, in order.
template <class Command, class Invoke>
cl_int queueCommand(Command& c, Waits waits, cl_event* event, Invoke&& invoke) {
  Order order;
  const RangeCall wanted;
  Call call;
  call.end(invoke());
  if (!wanted) return call.info().result;
  c.waits = handlesOf(waits.events, waits.count);
  c.event = call.info().result == CL_SUCCESS && event != nullptr ? handleOf(*event) : 0;
  put(c, call.info());
  return call.info().result;
}

/// The same for a command that may write fine-grained shared memory. Order lock.
template <class Command, class Invoke>
cl_int usingShared(Command& c, SharedUse& use, cl_command_queue queue, Waits waits, cl_event* event,
                   Invoke&& invoke, uint64_t* sequence = nullptr) {
  cl_event own = nullptr;
  cl_event* const slot = event == nullptr && use.any() ? &own : event;
  Call call;
  call.end(invoke(slot));
  const bool success = call.info().result == CL_SUCCESS;
  c.waits = handlesOf(waits.events, waits.count);
  c.event = success && event != nullptr ? handleOf(*event) : 0;
  const uint64_t at = put(c, call.info());
  if (sequence != nullptr) *sequence = at;
  use.await(queue, success && slot != nullptr ? *slot : nullptr);
  if (own != nullptr) next().clReleaseEvent(own);
  return call.info().result;
}

/// Call for a loader that has just been added. LoaderLock.
void findTracingAgent(uint32_t loader);

}  // namespace tracesmith::record
