// SPDX-License-Identifier: Apache-2.0
// Writes OpenCL calls, commands and their completions into the calling thread's ring.
//
// Cost per call: see bench/enqueue_cost (script/bench).
#pragma once

#include <string.h>

#include "tracesmith/capture/agents/core/call_stack.hpp"
#include "tracesmith/capture/agents/core/writer.hpp"
#include "tracesmith/capture/agents/opencl/intercept.hpp"
#include "tracesmith/capture/protocol/opencl_api.hpp"

namespace tracesmith::agent {

template <class Handle>
uint64_t handleOf(Handle h) {
  return reinterpret_cast<uint64_t>(h);
}

/// True if this thread can write a record now: it has a ring, and the call does not come from a
/// signal handler that interrupted the writing of a record.
inline bool canRecord() { return __builtin_expect(ready(), 1) && !isBusy(t_state); }

/// True if this call must be recorded.
inline bool wanted() {
  if (!__builtin_expect(ready(), 1) || !capturing()) return false;
  if (!isBusy(t_state)) return true;
  countReentrant();
  return false;
}

/// One record of fixed and variable parts: reserves space, and commits when destroyed.
class RecordWriter {
 public:
  explicit RecordWriter(uint64_t bytes) : t_(t_state), bytes_((bytes + 7) & ~uint64_t{7}) {
    t_.busy = stackPointer();
    asm volatile("" ::: "memory");  // make it visible to signal handlers on this thread
    bump(t_.ring->emitted);
    p_ = reserve(t_, bytes_);
    at_ = p_;
  }
  ~RecordWriter() {
    if (p_ != nullptr) commit(t_, bytes_);
    asm volatile("" ::: "memory");
    t_.busy = 0;
  }
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  explicit operator bool() const { return p_ != nullptr; }
  uint16_t words() const { return static_cast<uint16_t>(bytes_ / 8); }

  /// The next part; the caller fills it in place.
  template <class T>
  T* next() {
    auto* part = reinterpret_cast<T*>(at_);
    at_ += sizeof(T);
    return part;
  }
  template <class T>
  void put(const T& part) {
    memcpy(at_, &part, sizeof part);
    at_ += sizeof part;
  }
  void putBytes(const void* p, size_t n) {
    if (n == 0) return;
    memcpy(at_, p, n);
    at_ += n;
  }

 private:
  ThreadState& t_;
  uint64_t bytes_;
  uint8_t* p_;
  uint8_t* at_;
};

/// A host call from its start on. Create it after wanted() returned true.
struct HostCall {
  HostCall(OpenClApi function, cl_command_queue queue)
      : api(function), stack(callStack()), stream(handleOf(queue)), start(stamp()) {}

  /// Writes the CallRecord field by field into the ring. Copying a record assembled on the stack
  /// from small stores would stall on every load of it.
  void put(RecordWriter& w, arena::RecordKind kind, uint8_t flags, int64_t result) const {
    auto* r = w.next<arena::CallRecord>();
    const uint64_t header = static_cast<uint64_t>(kind) | static_cast<uint64_t>(flags) << 8 |
                            static_cast<uint64_t>(w.words()) << 16 |
                            static_cast<uint64_t>(api) << 32;
    memcpy(&r->header, &header, sizeof header);
    r->start = start;
    r->end = end_stamp;
    r->correlation = correlation;
    r->stream = stream;
    r->result = static_cast<int32_t>(result);
    r->stack = stack;
  }
  /// Takes the end stamp and the correlation id. Call it right after the driver has returned.
  void end() {
    end_stamp = stamp();
    // Set busy, because a signal handler in between would take the same id.
    ThreadState& t = t_state;
    t.busy = stackPointer();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    correlation = nextCorrelation(t);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    t.busy = 0;
  }

  OpenClApi api;
  uint32_t stack;
  uint64_t stream;
  int64_t start;
  int64_t end_stamp = 0;
  uint64_t correlation = 0;
};

/// Records a call that starts no device work.
inline void recordCall(const HostCall& call, int64_t result) {
  if (!capturing()) return;
  RecordWriter w(sizeof(arena::CallRecord));
  if (w) call.put(w, arena::RecordKind::kCall, 0, result);
}

/// The event slot of a command: the program's own, or the agent's if the program passed none.
class EventSlot {
 public:
  explicit EventSlot(cl_event* program_slot) : program_slot_(program_slot) {}
  cl_event* get() { return program_slot_ != nullptr ? program_slot_ : &own_; }
  bool programHasIt() const { return program_slot_ != nullptr; }
  cl_event event() const { return program_slot_ != nullptr ? *program_slot_ : own_; }
  uint64_t programHandle() const { return programHasIt() ? handleOf(*program_slot_) : 0; }

 private:
  cl_event* program_slot_;
  cl_event own_ = nullptr;
};

/// Asks the driver to call back when the command completes. Commit the command's record first.
void track(const EventSlot& slot, uint64_t correlation);
/// Call before the first command.
void setCompletionCallbacks();
/// Releases an event of the agent that is not tracked (its record was dropped).
void discard(const EventSlot& slot);

struct WaitList {
  cl_uint count;
  const cl_event* events;
  uint32_t kept() const {
    if (events == nullptr) return 0;
    return count < arena::kMaxWaitHandles ? count : arena::kMaxWaitHandles;
  }
  uint8_t flags() const {
    return events != nullptr && count > arena::kMaxWaitHandles ? arena::kFlagWaitCut : 0;
  }
};

/// Runs and records a command. `invoke(cl_event*)` calls the driver. If it succeeds, `size()`
/// returns the size of the record and `write(RecordWriter&, EventSlot&)` writes it.
template <class Invoke, class Size, class Write>
[[gnu::always_inline]] inline cl_int command(HostCall& call, cl_event* program_slot,
                                             Invoke&& invoke, Size&& size, Write&& write) {
  EventSlot slot(program_slot);
  const cl_int result = invoke(slot.get());
  call.end();
  if (__builtin_expect(result != CL_SUCCESS, 0)) {
    recordCall(call, result);
    return result;
  }
  bool written = false;
  {
    RecordWriter w(size());
    if (w) {
      write(w, slot);
      written = true;
    }
  }
  if (written) {
    track(slot, call.correlation);
  } else {
    discard(slot);
  }
  return result;
}

}  // namespace tracesmith::agent
