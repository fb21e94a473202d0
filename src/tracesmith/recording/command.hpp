// SPDX-License-Identifier: Apache-2.0
// What a program told its device, call by call: the vocabulary of recordings. Each command lists
// its fields once, in visit(); from that come writing (in the agent), reading and showing, so that
// they cannot drift apart. Agents include this: no allocation, no exception, no library.
//
// Handles and pointers are those of the recorded program. Drivers reuse them: a handle means what
// the latest command that made it says. The order of commands is that of the calls: a call that
// does not wait is recorded while it is made, one that waits (kBegun says so) when it began.
//
// A kind's number is on disk: append, never renumber; a field that is added comes last and reads as
// zero where it is absent.
#pragma once

#include "tracesmith/recording/object_commands.hpp"
#include "tracesmith/recording/queue_commands.hpp"

namespace tracesmith::recording {

/// A call that was recorded when it began has ended (the header has its result), or what a read or
/// a map showed to the host is there, or what a write took from memory that a read had yet to fill.
/// A Release and a SetUserEventStatus are recorded before they
/// are made, without kBegun: only when the driver refused does a Done follow, with its result.
struct Done {
  static constexpr CommandKind kKind = CommandKind::kDone;
  uint64_t of = 0;     ///< sequence of the command
  Payload content;     ///< of a read or map; of a write or SvmCopy whose own is not known
  uint64_t kept = 0;   ///< the bytes themselves are in the recording, not their hashes alone
  Handle event = 0;    ///< that a command with kBegun gave the program
  Handle pointer = 0;  ///< that a Map with kBegun gave the program
  template <class V>
  void visit(V& v) {
    v(of), v(content), v(kept), v(event), v(pointer);
  }
};

/// What a memory object (or shared memory) held at this place in the stream.
struct Snapshot {
  static constexpr CommandKind kKind = CommandKind::kSnapshot;
  Handle memory = 0;
  uint64_t is_svm = 0;
  uint64_t after = 0;  ///< the launch after which it was taken, plus one (--launch-hashes); 0: none
  Payload content;
  uint64_t kept = 0;  ///< the bytes are in the recording
  template <class V>
  void visit(V& v) {
    v(memory), v(is_svm), v(after), v(content), v(kept);
  }
};

/// From here on (or no longer) commands of queues are in the recording.
struct RangeEdge {
  static constexpr CommandKind kKind = CommandKind::kRangeEdge;
  uint64_t is_begin = 0;
  uint64_t launches = 0;  ///< of the process before it
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
