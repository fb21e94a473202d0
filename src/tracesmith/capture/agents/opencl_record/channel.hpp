// SPDX-License-Identifier: Apache-2.0
// The program's end of the channel: one ring per process, written under one lock.
//
// Two locks. The order lock is held around a recorded call, so that commands lie in the stream in
// the order of the calls; it is only waited for so long, because a driver's call may wait for
// another thread's call (SetUserEventStatus). The state lock guards the ring and every table of the
// recorder; it is never held while the driver runs, but for retains, which wait for nobody. Signals
// wait meanwhile.
//
// Cost: bench/record_cost.sh.
#pragma once

#include <time.h>

#include <cstdint>

#include "tracesmith/base/readable_memory.hpp"
#include "tracesmith/capture/protocol/channel_layout.hpp"
#include "tracesmith/recording/command_codec.hpp"

namespace tracesmith::record {

/// What a thread is doing. Zero in a new thread; a forked child's first call begins it anew.
struct ThreadState {
  uint32_t tid = 0;
  uint32_t ordered = 0;          // how often it holds the order lock
  bool quiet = false;            // its calls are the recorder's own
  bool in_callback = false;      // the driver may be waiting for it
  bool beginning = false;        // it begins a range (range.cpp)
  bool was_in_callback = false;  // before that
  uint32_t unrecorded = 0;       // how many commands it is in that are in no range (RangeCall)
  uintptr_t order_frame = 0;     // of the call that holds the order lock: where its frame ends
  uintptr_t busy = 0;            // the same of what has the state lock, else 0
  uint64_t signals = 0;          // those that were blocked before the state lock
  /// Told the tracing agent below that its calls are attempts (opencl_attempt_layout.hpp).
  void (*attempting)(int) = nullptr;
};
extern constinit thread_local ThreadState t_state __attribute__((tls_model("initial-exec")));

inline int64_t nowNs() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

/// Sleeps. The C library's functions for it are cancellation points: a thread of the program that
/// is cancelled there would take our locks with it.
void pauseNs(int64_t ns);

/// Reads the environment. False: nothing is to be recorded in this process.
bool arm();

/// True while this process is recorded and the calling thread may record: makes the channel at the
/// first call. False for a call from a signal handler that interrupted the recorder, which ends the
/// recording. `frame`: where the frame of the call ends.
///
/// A signal handler may leave by siglongjmp() and take the frame of a recorded call with it. What
/// that call held is given back here, when the frame of a later call shows that it is gone, and the
/// recording says that a call is missing.
bool activeAt(uintptr_t frame);
[[gnu::always_inline]] inline bool active() {
  return activeAt(reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa()));
}

/// Of a thread that began a range (range.cpp): it does so no longer, and others may.
void leaveBeginning();

/// False once the recording of this process has ended: nothing of the program is looked at any
/// more.
bool recording();

/// False in a forked child of a recorded process: a thread that is not here may hold the locks.
bool tablesUsable();

/// Ends the recording of this process; what is in the ring stays. Callable from anywhere.
void endRecording(const char* reason);

struct Options {
  bool keep_outputs = false;
  bool launch_hashes = false;
  char range[256] = {};
};
const Options& options();

channel::ChannelHeader* header();

/// Guards the ring and the tables. Never across a call of the driver.
class StateLock {
 public:
  StateLock();
  ~StateLock();
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;
};

/// Holds the order lock, which it takes over from a thread that does not give it back in time.
/// Nests.
class Order {
 public:
  Order();
  ~Order();
  Order(const Order&) = delete;
  Order& operator=(const Order&) = delete;
  /// For a call that waits: others may go on.
  void release();

 private:
  bool mine_ = true;
};

/// Room for a frame of `bytes` (a multiple of 8), or nullptr when the recording has ended. Waits
/// for the collector when the ring is full. State lock.
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

/// Empties the lists of a command that cannot be read.
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
/// The lists of a call that succeeded lie where the driver has read them. What it refuses, or may
/// refuse yet, can have been given lists that lead nowhere: the program must not fault by us.
template <class Command>
uint64_t putLocked(Command& command, const CallInfo& info) {
  if (info.result != 0 || (info.flags & recording::command_flags::kBegun) != 0) {
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
