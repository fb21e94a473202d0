// SPDX-License-Identifier: Apache-2.0
// The commands that a program issued to its device, call by call: the vocabulary of recordings.
// Each command lists its fields once, in visit(). Writing (in the agent), reading and display all
// use that list, so they cannot diverge. Agents include this file: it must not allocate, throw or
// need a library.
//
// Handles and pointers are those of the recorded program. Drivers reuse them: a handle means the
// object of the latest command that created it. Commands are in call order: a non-blocking call is
// recorded during the call, a blocking one (kStarted) when it starts.
//
// The number of a kind is on disk: append, never renumber. A new field goes last and reads as zero
// where it is absent.
#pragma once

#include "tracesmith/recording/object_commands.hpp"
#include "tracesmith/recording/queue_commands.hpp"

namespace tracesmith::recording {

/// Completes an earlier command in one of these cases:
/// - A call that was recorded when it started has ended; the header has its result.
/// - The data that a read or map showed to the host is available.
/// - The data of a write is available, whose source a read had yet to fill.
/// - The driver rejected a Release or a SetUserEventStatus; the header has its result. These are
///   recorded before the call, without kStarted, and get no Done on success.
struct Done {
  static constexpr CommandKind kKind = CommandKind::kDone;
  uint64_t of = 0;     ///< sequence number of the command
  Payload content;     ///< data of a read or map; or of a write or SvmCopy recorded without content
  uint64_t kept = 0;   ///< 1: the recording has the bytes, not only their hashes
  Handle event = 0;    ///< event that a command with kStarted returned
  Handle pointer = 0;  ///< pointer that a Map with kStarted returned
  template <class V>
  void visit(V& v) {
    v(of), v(content), v(kept), v(event), v(pointer);
  }
};

/// Content of a memory object (or shared memory) at this point in the stream.
struct Snapshot {
  static constexpr CommandKind kKind = CommandKind::kSnapshot;
  Handle memory = 0;
  uint64_t is_svm = 0;
  uint64_t after = 0;  ///< the launch after which it was taken, plus one (--launch-hashes); 0: none
  Payload content;
  uint64_t kept = 0;  ///< 1: the recording has the bytes
  template <class V>
  void visit(V& v) {
    v(memory), v(is_svm), v(after), v(content), v(kept);
  }
};

/// From here on, commands of queues are recorded (is_begin) or no longer recorded.
struct RangeEdge {
  static constexpr CommandKind kKind = CommandKind::kRangeEdge;
  uint64_t is_begin = 0;
  uint64_t launches = 0;  ///< number of launches of the process before it
  template <class V>
  void visit(V& v) {
    v(is_begin), v(launches);
  }
};

/// A call whose effect cannot be replayed.
struct Unsupported {
  static constexpr CommandKind kKind = CommandKind::kUnsupported;
  Text function;
  Handle queue = 0, event = 0;
  template <class V>
  void visit(V& v) {
    v(function), v(queue), v(event);
  }
};

/// The recording of this process ends here.
struct End {
  static constexpr CommandKind kKind = CommandKind::kEnd;
  Text reason;  ///< empty: the program ended
  template <class V>
  void visit(V& v) {
    v(reason);
  }
};

}  // namespace tracesmith::recording
