// SPDX-License-Identifier: Apache-2.0
// The program's end of the channel: one ring per process, written under one lock.
//
// There are two locks:
// - The order lock is held around a recorded call, so that commands are in the stream in the order
//   of the calls. Waiting for it is bounded, because a driver's call may wait for another thread's
//   call (SetUserEventStatus).
// - The state lock guards the ring and every table of the recorder. It is never held while the
//   driver runs, except for retains, which wait for nobody. Signals are blocked meanwhile.
//
// Cost: bench/record_cost.sh.
#pragma once

#include <time.h>

#include <cstdint>

#include "tracesmith/base/linux/readable_memory.hpp"
#include "tracesmith/capture/protocol/channel_layout.hpp"
#include "tracesmith/recording/command_codec.hpp"

namespace tracesmith::record {

/// The activity of a thread. Zero in a new thread; reset by the first call in a forked child.
struct ThreadState {
  uint32_t tid = 0;
  uint32_t ordered = 0;          // nesting depth of the order lock
  bool quiet = false;            // its calls are the recorder's own
  bool in_callback = false;      // the driver may be waiting for it
  bool beginning = false;        // it starts a range (range.cpp)
  bool was_in_callback = false;  // value of in_callback before `beginning`
  uint32_t unrecorded = 0;       // nesting depth of commands outside of any range (RangeCall)
  uintptr_t order_frame = 0;     // the end of the frame of the call that holds the order lock
  uintptr_t busy = 0;            // the same for the owner of the state lock, else 0
  uint64_t signals = 0;          // signal mask before the state lock
  /// Not null while the tracing agent below has been told that this thread's calls are attempts
  /// (opencl_attempt_layout.hpp): the function that ends this.
  void (*attempting)(int) = nullptr;
};
extern constinit thread_local ThreadState t_state __attribute__((tls_model("initial-exec")));

inline int64_t nowNs() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

/// Sleeps. Not by a C library function, since those are cancellation points: a thread cancelled
/// there would never release the recorder's locks.
void pauseNs(int64_t ns);

/// Reads the environment. False: this process is not to be recorded.
bool arm();

/// True if this process is recorded and the calling thread may record; creates the channel at the
/// first call. False for a call from a signal handler that interrupted the recorder; such a call
/// ends the recording. `frame`: the end of the frame of the call.
///
/// A signal handler may leave by siglongjmp() and discard the frame of a recorded call. When the
/// frame of a later call shows this, the function releases the locks of the discarded call and
/// records that a call is missing.
bool activeAt(uintptr_t frame);
[[gnu::always_inline]] inline bool active() {
  return activeAt(reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa()));
}

/// Ends the start of a range by this thread (range.cpp), so that other threads may start one.
void leaveRangeStart();

/// False once the recording of this process has ended; the recorder then ignores all calls.
bool recording();

/// False in a forked child of a recorded process: a thread that does not exist there may hold the
/// locks.
bool tablesUsable();

/// Ends the recording of this process; frames in the ring remain. Callable from anywhere.
void endRecording(const char* reason);

struct Options {
  bool keep_outputs = false;
  bool launch_hashes = false;
  char range[256] = {};
};
const Options& options();

channel::ChannelHeader* header();

/// Guards the ring and the tables. Never held across a call of the driver.
class StateLock {
 public:
  StateLock();
  ~StateLock();
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;
};

/// Holds the order lock. Takes it over from a thread that does not release it in time. Can be
/// nested.
class Order {
 public:
  Order();
  ~Order();
  Order(const Order&) = delete;
  Order& operator=(const Order&) = delete;
  /// For a call that waits: lets other threads proceed.
  void release();

 private:
  bool mine_ = true;
};

/// Space for a frame of `bytes` (a multiple of 8), or nullptr if the recording has ended. Waits for
/// the collector if the ring is full. State lock.
uint8_t* reserve(channel::FrameKind kind, uint64_t bytes);
/// Publishes the frame. State lock.
void commit();

constexpr uint64_t kNotRecorded = UINT64_MAX;

struct CallInfo {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int32_t result = 0;
  uint16_t flags = 0;
};

/// Takes the next sequence number.
uint64_t nextSequence();

using tracesmith::isReadable;

/// Empties those lists of a command that are not readable.
class ReadableFields {
 public:
  template <class T>
  void operator()(T& field) {
    if constexpr (!recording::codec::kIsNumber<T> && !std::is_same_v<T, recording::Payload>) {
      if (!isReadable(field.data(), field.size_bytes())) field = {};
    }
  }
};

/// Writes a command; returns its sequence number, or kNotRecorded. State lock.
///
/// The driver has read the lists of a call that succeeded, so they are readable. A call that the
/// driver refuses, or may still refuse, can have invalid lists: reading them must not crash the
/// program.
template <class Command>
uint64_t putLocked(Command& command, const CallInfo& info) {
  if (info.result != 0 || (info.flags & recording::command_flags::kStarted) != 0) {
    ReadableFields readable;
    command.visit(readable);
  }
  const uint64_t bytes = recording::encodedBytes(command);
  uint8_t* p = reserve(channel::FrameKind::kCommand, sizeof(channel::FrameHeader) + bytes);
  if (p == nullptr) return kNotRecorded;
  recording::CommandHeader h;
  h.flags = info.flags;
  h.thread = t_state.tid;
  h.result = info.result;
  h.start_ns = info.start_ns;
  h.end_ns = info.end_ns;
  h.sequence = nextSequence();
  recording::encode(h, command, p + sizeof(channel::FrameHeader));
  commit();
  return h.sequence;
}

template <class Command>
uint64_t put(Command&& command, const CallInfo& info) {
  StateLock lock;
  return putLocked(command, info);
}

}  // namespace tracesmith::record
