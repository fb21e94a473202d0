// SPDX-License-Identifier: Apache-2.0
// Calls that a queue executes, or that wait for one.
#pragma once

#include "tracesmith/recording/command_kind.hpp"

namespace tracesmith::recording {

struct Launch {
  static constexpr CommandKind kKind = CommandKind::kLaunch;
  Handle queue = 0, kernel = 0;
  Sizes offset, global, local;  ///< `offset` and `local` empty: not given
  Handles waits;
  Handle event = 0;
  uint64_t is_task = 0;
  template <class V>
  void visit(V& v) {
    v(queue), v(kernel), v(offset), v(global), v(local), v(waits), v(event), v(is_task);
  }
};

/// A part of a memory object:
/// - A range of a buffer: `is_image` 0, origin[0] and region[0] in bytes, region[1] and [2] 1.
/// - A box of a buffer: with its pitches.
/// - A part of an image: in pixels.
struct Box {
  uint64_t is_image = 0;
  uint64_t origin[3] = {0, 0, 0};
  uint64_t region[3] = {0, 1, 1};
  uint64_t row_pitch = 0, slice_pitch = 0;  ///< for a buffer
  template <class V>
  void visit(V& v) {
    v(is_image);
    for (uint64_t& o : origin) v(o);
    for (uint64_t& r : region) v(r);
    v(row_pitch), v(slice_pitch);
  }
};

struct Write {
  static constexpr CommandKind kKind = CommandKind::kWrite;
  Handle queue = 0, memory = 0;
  Box box;
  Handle host = 0;
  Payload content;  ///< packed rows
  Handles waits;
  Handle event = 0;
  template <class V>
  void visit(V& v) {
    v(queue), v(memory), box.visit(v), v(host), v(content), v(waits), v(event);
  }
};

/// The data read follows in a Done.
struct Read {
  static constexpr CommandKind kKind = CommandKind::kRead;
  Handle queue = 0, memory = 0;
  Box box;
  Handle host = 0;
  Handles waits;
  Handle event = 0;
  template <class V>
  void visit(V& v) {
    v(queue), v(memory), box.visit(v), v(host), v(waits), v(event);
  }
};

/// Copies between two memory objects, each a buffer or an image.
struct Copy {
  static constexpr CommandKind kKind = CommandKind::kCopy;
  Handle queue = 0, source = 0, destination = 0;
  Box from, to;
  Handles waits;
  Handle event = 0;
  template <class V>
  void visit(V& v) {
    v(queue), v(source), v(destination), from.visit(v), to.visit(v), v(waits), v(event);
  }
};

struct Fill {
  static constexpr CommandKind kKind = CommandKind::kFill;
  Handle queue = 0, memory = 0;
  Box box;
  Raw pattern;  ///< for an image: its four channels, 16 bytes
  Handles waits;
  Handle event = 0;
  template <class V>
  void visit(V& v) {
    v(queue), v(memory), box.visit(v), v(pattern), v(waits), v(event);
  }
};

/// If the host may read the mapping, the data shown follows in a Done.
struct Map {
  static constexpr CommandKind kKind = CommandKind::kMap;
  Handle queue = 0, memory = 0;
  uint64_t flags = 0;  ///< cl_map_flags
  Box box;
  Handle pointer = 0;
  Handles waits;
  Handle event = 0;
  template <class V>
  void visit(V& v) {
    v(queue), v(memory), v(flags), box.visit(v), v(pointer), v(waits), v(event);
  }
};

struct Unmap {
  static constexpr CommandKind kKind = CommandKind::kUnmap;
  Handle queue = 0, memory = 0, pointer = 0;
  Box box;          ///< box of its Map
  Payload content;  ///< what the host left in the mapping; empty: it changed nothing
  Handles waits;
  Handle event = 0;
  template <class V>
  void visit(V& v) {
    v(queue), v(memory), v(pointer), box.visit(v), v(content), v(waits), v(event);
  }
};

struct Migrate {
  static constexpr CommandKind kKind = CommandKind::kMigrate;
  Handle queue = 0;
  Handles objects;      ///< memory objects, or addresses
  Sizes sizes;          ///< sizes of the address ranges
  uint64_t is_svm = 0;  ///< 1: `objects` are addresses
  uint64_t flags = 0;   ///< cl_mem_migration_flags
  Handles waits;
  Handle event = 0;
  template <class V>
  void visit(V& v) {
    v(queue), v(objects), v(sizes), v(is_svm), v(flags), v(waits), v(event);
  }
};

struct SvmCopy {
  static constexpr CommandKind kKind = CommandKind::kSvmCopy;
  Handle queue = 0, destination = 0, source = 0;
  uint64_t bytes = 0;
  Payload content;  ///< for a source that is not shared memory
  Handles waits;
  Handle event = 0;
  template <class V>
  void visit(V& v) {
    v(queue), v(destination), v(source), v(bytes), v(content), v(waits), v(event);
  }
};

struct SvmFill {
  static constexpr CommandKind kKind = CommandKind::kSvmFill;
  Handle queue = 0, pointer = 0;
  Raw pattern;
  uint64_t bytes = 0;
  Handles waits;
  Handle event = 0;
  template <class V>
  void visit(V& v) {
    v(queue), v(pointer), v(pattern), v(bytes), v(waits), v(event);
  }
};

struct SvmMap {
  static constexpr CommandKind kKind = CommandKind::kSvmMap;
  Handle queue = 0, pointer = 0;
  uint64_t flags = 0, bytes = 0;
  Handles waits;
  Handle event = 0;
  template <class V>
  void visit(V& v) {
    v(queue), v(pointer), v(flags), v(bytes), v(waits), v(event);
  }
};

struct SvmUnmap {
  static constexpr CommandKind kKind = CommandKind::kSvmUnmap;
  Handle queue = 0, pointer = 0;
  Handles waits;
  Handle event = 0;
  template <class V>
  void visit(V& v) {
    v(queue), v(pointer), v(waits), v(event);
  }
};

/// Waits in a queue for the commands before it, or for events. A barrier also delays the commands
/// after it.
struct Marker {
  static constexpr CommandKind kKind = CommandKind::kMarker;
  Handle queue = 0;
  uint64_t is_barrier = 0;
  Handles waits;
  Handle event = 0;
  template <class V>
  void visit(V& v) {
    v(queue), v(is_barrier), v(waits), v(event);
  }
};

struct Finish {
  static constexpr CommandKind kKind = CommandKind::kFinish;
  Handle queue = 0;
  template <class V>
  void visit(V& v) {
    v(queue);
  }
};

struct Flush {
  static constexpr CommandKind kKind = CommandKind::kFlush;
  Handle queue = 0;
  template <class V>
  void visit(V& v) {
    v(queue);
  }
};

struct WaitForEvents {
  static constexpr CommandKind kKind = CommandKind::kWaitForEvents;
  Handles events;
  Handle queue = 0;  ///< the queue that waits instead of the host, if any
  /// 1: the thread did not wait but learned that the events are complete, from a query or a
  /// callback. Its later calls come after the events all the same.
  uint64_t without_wait = 0;
  template <class V>
  void visit(V& v) {
    v(events), v(queue), v(without_wait);
  }
};

}  // namespace tracesmith::recording
