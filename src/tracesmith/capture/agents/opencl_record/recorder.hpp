// SPDX-License-Identifier: Apache-2.0
// What the wrappers share: the program's objects as far as the recorder must know them, and how a
// call becomes a command.
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
/// A list of the program's handles; handles are 8 bytes, as they are in recordings.
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
/// Of a call that the driver has refused, or may refuse yet: nothing when it cannot be read.
inline recording::Text doubtfulTextOf(const char* text) {
  size_t length = 0;  // one that is longer ends the recording
  if (!readableLength(text, channel::kMaxFrameBytes + 1, length)) return {};
  return {text, length};
}
/// The same of origins and regions.
inline const size_t* doubtfulSizes(const size_t* three) {
  return isReadable(three, 3 * sizeof *three) ? three : nullptr;
}
/// A list of pairs that 0 ends, of a call that made `object`, or nothing.
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
  cl_device_id device = nullptr;  // its first
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
  cl_mem_flags flags = 0;  // as the program gave them
  bool zeroed = false;     // the flags that the driver has say COPY_HOST_PTR because of us
  bool is_image = false;
  bool is_1d_array = false;  // what a region has as rows lies a slice pitch apart
  cl_mem parent = nullptr;
  Handle shared = 0;           // the address in shared memory that it lies at (USE_HOST_PTR)
  uint64_t bytes = 0;          // of a buffer; of an image when packed
  uint64_t element_bytes = 0;  // of an image
  uint64_t extent[3] = {};     // of an image as regions have it
};

struct KernelState {
  uint32_t references = 1;
  bool wanted = false;  // by a range of kernels
  List<uint64_t> arguments;
  List<uint64_t> indirect;  // shared memory that it reaches without an argument
};

struct EventState {
  uint32_t references = 1;
  bool set = false;
};

struct SvmState {
  cl_context context = nullptr;
  uint64_t flags = 0;
  uint64_t bytes = 0;
  uint64_t number = 0;          // an address comes again
  uint32_t uses = 0;            // commands under way that may write it; fine-grained only
  recording::ContentHash last;  // of what is known to be there
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

/// A part of memory that the host sees.
struct MapState {
  Handle memory = 0;
  Handle pointer = 0;
  uint64_t flags = 0;
  recording::Box box;
  Place place;
  recording::ContentHash shown;  // empty: not looked at
};

/// All under the state lock.
struct State {
  Table<ContextState> contexts;
  Table<QueueState> queues;
  Table<MemoryState> memory;
  Table<KernelState> kernels;
  Table<EventState> user_events;
  Table<SvmState> svm;
  Table<uint8_t> devices;  // that were told
  Table<uint32_t> plain;   // references of samplers and programs
  Table<uint32_t> known;   // by complete event: the thread that was told of it last
  List<MapState> maps;
  uint64_t unset_user_events = 0;
  uint64_t allocations = 0;  // of shared memory so far
  uint32_t looking = 0;      // how many look at shared memory
  /// Some memory object was made of shared memory. Read without the lock.
  std::atomic<bool> any_over_shared{false};
  List<FreedShared> freed;  // meanwhile
};
extern constinit State g_objects;

/// Times and result of a call, from its start on.
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
  /// Recorded before it is made: no end yet.
  CallInfo begun() const {
    CallInfo info = info_;
    info.flags = static_cast<uint16_t>(info.flags | recording::command_flags::kBegun);
    info.end_ns = info.start_ns;
    return info;
  }

 private:
  CallInfo info_;
};

/// The result of a command that was recorded when it began.
inline void done(uint64_t of, const Call& call, const recording::Payload& content = {},
                 bool kept = false) {
  if (of == kNotRecorded) return;
  recording::Done d;
  d.of = of;
  d.content = content;
  d.kept = kept ? 1 : 0;
  put(d, call.info());
}

/// Tells of a device when it is met for the first time.
void tellDevice(cl_device_id device);
/// An object of which only references are counted. State lock.
void noteObject(Table<uint32_t>& table, Handle handle);
/// What the source of a program that is about to be built includes (includes.cpp).
void recordIncludes(cl_program program, const char* options);
/// A call whose effect cannot be replayed. One that failed has none.
void unsupported(const char* function, const Call& call, cl_command_queue queue = nullptr,
                 cl_event event = nullptr);

inline Keep keepOutputs() { return options().keep_outputs ? Keep::kBytes : Keep::kHashes; }

// --- ranges (range.cpp) -----------------------------------------------------------------------

enum class QueueCall : uint8_t { kLaunch, kOther };

/// True when commands of queues are to be recorded. Begins and ends ranges; order lock.
bool inRange(QueueCall what = QueueCall::kOther, cl_kernel kernel = nullptr);
/// The same of a command that may change what memory holds. One that is not recorded lies outside
/// of every range as a whole: while this lives no range begins. Made before the driver is called.
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
  uint16_t wait_ = 0;  // the last one for commands like this, when it came
};
/// After a launch was recorded (or not): hashes, and the end of a range. Order lock.
void afterLaunch(cl_command_queue queue, cl_kernel kernel, uint64_t sequence, bool success);
/// At a call that ends a step (clFinish): ranges of steps.
void noteSync();
/// True when everything is recorded, or a range has begun and not ended: false between ranges,
/// where events of commands that are not recorded come and go. Begins and ends none.
bool inRangeNow();
bool kernelIsWanted(const char* name);
bool readRange();

// --- reads (reads.cpp) ------------------------------------------------------------------------

enum class Awaited : uint8_t {
  kRead,    // what it showed the host is hashed
  kMap,     // the same; what the host leaves there will be compared with it
  kSource,  // what it took from the host's memory is recorded: a read had yet to fill that
  kUse,     // it may write fine-grained shared memory
};

/// A command that is under way. Once `event` is complete there is something to be looked at.
struct PendingRead {
  Awaited what = Awaited::kRead;
  uint64_t sequence = kNotRecorded;
  cl_event event = nullptr;
  Handle queue = 0;
  Place place;
  uint64_t allocation = 0;  // of shared memory that is used
  bool lost = false;        // something else was read to the same place
};
/// False: it cannot be followed.
bool awaitRead(const PendingRead& read);
/// Before the host's memory is given to another read: what lies there is hashed, or is lost.
void aboutToOverwrite(const Place& place);
/// True when a command that is under way may yet fill this memory of the host's: what another gets
/// from there is known only when that is complete.
bool yetToBeFilled(const Place& place);
/// Before a map is given back: what it showed is hashed, or is lost.
void aboutToUnmap(const void* pointer);

/// What a synchronization has made certain.
struct Sync {
  Handle queue = 0;  // everything that was in it
  const cl_event* events = nullptr;
  uint64_t count = 0;
  uint64_t before = UINT64_MAX;  // in the queue: readsSoFar() when the wait began
  bool if_in_order = false;      // of a queue that is not, nothing is certain
};
uint64_t readsSoFar();
/// What a blocking command makes certain. Made before it is called.
inline Sync blockingIn(cl_command_queue queue) {
  return {handleOf(queue), nullptr, 0, readsSoFar(), true};
}
/// Hashes reads that are complete. Before the program can learn that they are. Once the recording
/// has ended: only gives their events back.
void settle(const Sync& sync = {});
/// A call that may wait, of a thread that records nothing (any more): another may still be at what
/// was read before.
template <class Invoke>
auto passOn(Invoke&& invoke) {
  const auto result = invoke();
  settle();
  return result;
}
bool readsPending();
/// Our references on an event.
uint32_t heldReferences(cl_event event);

// --- looking at what is the program's (shared_access.cpp) ---------------------------------------

/// Shared memory that is in the tables stays there while one of these lives: it has no references
/// that could be counted, so what the program frees meanwhile is freed at its end.
class Looking {
 public:
  Looking();
  ~Looking();
  Looking(const Looking&) = delete;
  Looking& operator=(const Looking&) = delete;
};
/// True: somebody is looking, and frees it for the caller. State lock.
bool freedLater(cl_context context, void* p);
bool somebodyLooks();

/// Objects that are used after the state lock is given up; other threads may release them. One that
/// is in the tables is alive under that lock.
inline bool retainLocked(cl_command_queue o) {
  return next().clRetainCommandQueue(o) == CL_SUCCESS;
}
inline bool retainLocked(cl_context o) { return next().clRetainContext(o) == CL_SUCCESS; }
inline bool retainLocked(cl_mem o) { return next().clRetainMemObject(o) == CL_SUCCESS; }

// --- snapshots (snapshot.cpp) -----------------------------------------------------------------

/// Waits for all queues. False: something waits for a user event that is not set, or does not end.
bool finishQueues();
/// Of every live memory object and shared allocation, contents included.
void snapshotAll();
/// Of what a kernel was given, hashes alone.
void snapshotArguments(cl_kernel kernel, cl_command_queue queue, uint64_t after);
/// Zeros in shared memory that was just made.
void zeroShared(cl_context context, void* p, uint64_t bytes, cl_svm_mem_flags flags);

// --- fine-grained shared memory (fine_grained.cpp) --------------------------------------------

/// True when this stretch lies in one allocation of shared memory. State lock.
bool isShared(const void* p, uint64_t bytes);
/// What the host has changed in memory that no command is about to write: before a command that may
/// use it.
void recordHostChanges();
/// The same before a command about memory objects, which may lie in shared memory.
inline void recordHostChangesUnderObjects() {
  if (g_objects.any_over_shared.load(std::memory_order_relaxed)) recordHostChanges();
}
/// What lies in shared memory, as a command of ours; it is known from now on.
void recordShared(const Shared& o, const Content& content, Keep keep, uint64_t after);

/// The fine-grained memory that a command may write: from before the driver has it until it is
/// complete. All else is the host's.
class SharedUse {
 public:
  SharedUse() = default;
  ~SharedUse();  // the command is complete, or was refused
  SharedUse(const SharedUse&) = delete;
  SharedUse& operator=(const SharedUse&) = delete;
  void add(Handle address);
  void add(cl_kernel kernel);  // what it was given
  void add(cl_mem memory);     // what it lies in, if that is shared memory
  bool any() const { return used_.size() != 0; }
  /// The command is under way, until `event` is complete.
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
/// A command that may write this memory is complete.
void endUse(Handle pointer, uint64_t allocation);

// --- places and boxes (transfers.cpp) ---------------------------------------------------------

recording::Box stretchBox(uint64_t offset, uint64_t bytes);
recording::Box boxOf(bool is_image, const size_t* origin, const size_t* region, uint64_t row_pitch,
                     uint64_t slice_pitch);
/// Nowhere when the image is not known.
Place imagePlace(cl_mem image, const void* host, const size_t* region, size_t row_pitch,
                 size_t slice_pitch);
/// True when nothing is known that a command of this queue with these waits would be refused for.
/// `context`: that of what it is about.
bool seemsGood(cl_command_queue queue, cl_context context, cl_uint count, const cl_event* waits);
/// The end of a command that waited: with the event and the pointer that the program got.
void doneBlocking(uint64_t sequence, const Call& call, const cl_event* event,
                  const Content& content, bool kept, const void* pointer);

// --- queue commands ---------------------------------------------------------------------------

struct Waits {
  cl_uint count;
  const cl_event* events;
};

/// A command of a queue that does not wait: driver call and record, in order.
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

/// A command that does not wait and may write fine-grained shared memory. Order lock.
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

/// For a loader that has just been added. LoaderLock.
void findTracingAgent(uint32_t loader);

}  // namespace tracesmith::record
