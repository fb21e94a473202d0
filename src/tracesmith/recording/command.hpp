// SPDX-License-Identifier: Apache-2.0
// What a program told its device, call by call: the vocabulary of recordings. Each command lists
// its fields once, in visit(); from that come writing (in the agent), reading and showing, so that
// they can not drift apart. Agents include this: no allocation, no exception, no library.
//
// Handles and pointers are those of the recorded program. Drivers reuse them: a handle means what
// the latest command that made it says. The order of commands is that of the calls: a call that
// does not wait is recorded while it is made, one that waits (kBegun says so) when it began.
//
// A kind's number is on disk: append, never renumber; a field that is added comes last and reads as
// zero where it is absent.
#pragma once

#include <cstdint>
#include <span>

#include "tracesmith/recording/content.hpp"

namespace tracesmith::recording {

using Handle = uint64_t;  ///< of an object, or an address; 0: none
using Handles = std::span<const uint64_t>;
using Sizes = std::span<const uint64_t>;
using Text = std::span<const char>;
using Raw = std::span<const uint8_t>;

// X(number, Name)
#define TS_RECORDED_COMMANDS(X) \
  X(1, Device)                  \
  X(2, CreateContext)           \
  X(3, CreateQueue)             \
  X(4, CreateBuffer)            \
  X(5, CreateSubBuffer)         \
  X(6, CreateImage)             \
  X(7, CreateSampler)           \
  X(8, CreateProgram)           \
  X(9, BuildProgram)            \
  X(10, CreateKernel)           \
  X(11, CloneKernel)            \
  X(12, SetArgument)            \
  X(13, SetExecInfo)            \
  X(14, CreateUserEvent)        \
  X(15, SetUserEventStatus)     \
  X(16, Retain)                 \
  X(17, Release)                \
  X(18, SvmAlloc)               \
  X(19, SvmFree)                \
  X(20, Launch)                 \
  X(21, Write)                  \
  X(22, Read)                   \
  X(23, Copy)                   \
  X(24, Fill)                   \
  X(25, Map)                    \
  X(26, Unmap)                  \
  X(27, Migrate)                \
  X(28, SvmCopy)                \
  X(29, SvmFill)                \
  X(30, SvmMap)                 \
  X(31, SvmUnmap)               \
  X(32, Marker)                 \
  X(33, Finish)                 \
  X(34, Flush)                  \
  X(35, WaitForEvents)          \
  X(36, Done)                   \
  X(37, Snapshot)               \
  X(38, RangeEdge)              \
  X(39, Unsupported)            \
  X(40, End)

enum class CommandKind : uint16_t {
  kNone = 0,
#define TS_X(number, Name) k##Name = number,
  TS_RECORDED_COMMANDS(TS_X)
#undef TS_X
};

namespace command_flags {
constexpr uint16_t kBlocking = 1;  ///< the call waited for its command
constexpr uint16_t kBegun = 2;     ///< recorded when it began: its result follows in a Done
constexpr uint16_t kMadeUp = 4;    ///< no call of the program: the agent's own (Device, Snapshot)
}  // namespace command_flags

/// Before every command's fields.
struct CommandHeader {
  uint32_t bytes = 0;  ///< of header and fields; a multiple of 8
  CommandKind kind = CommandKind::kNone;
  uint16_t flags = 0;
  uint32_t thread = 0;   ///< the kernel's number of the calling thread
  int32_t result = 0;    ///< the call's return code; 0: success
  int64_t start_ns = 0;  ///< CLOCK_MONOTONIC
  int64_t end_ns = 0;
  uint64_t sequence = 0;  ///< commands of this process before it
};
static_assert(sizeof(CommandHeader) == 40);

enum class ObjectClass : uint32_t {
  kContext = 1,
  kQueue = 2,
  kMemory = 3,
  kSampler = 4,
  kProgram = 5,
  kKernel = 6,
  kEvent = 7,
  kDevice = 8,
};

/// A device, when it is met for the first time.
struct Device {
  static constexpr CommandKind kKind = CommandKind::kDevice;
  Handle handle = 0;
  uint64_t type = 0;  ///< cl_device_type
  Text name, vendor, platform, driver, version;
  template <class V>
  void visit(V& v) {
    v(handle), v(type), v(name), v(vendor), v(platform), v(driver), v(version);
  }
};

struct CreateContext {
  static constexpr CommandKind kKind = CommandKind::kCreateContext;
  Handle context = 0;
  Handles devices;
  template <class V>
  void visit(V& v) {
    v(context), v(devices);
  }
};

struct CreateQueue {
  static constexpr CommandKind kKind = CommandKind::kCreateQueue;
  Handle queue = 0, context = 0, device = 0;
  uint64_t properties = 0;  ///< cl_command_queue_properties that the program asked for
  Sizes others;             ///< further pairs of its property list
  template <class V>
  void visit(V& v) {
    v(queue), v(context), v(device), v(properties), v(others);
  }
};

/// Without content the agent has filled the memory with zeros, so that it is defined.
struct CreateBuffer {
  static constexpr CommandKind kKind = CommandKind::kCreateBuffer;
  Handle buffer = 0, context = 0;
  uint64_t flags = 0;  ///< cl_mem_flags that the program gave
  uint64_t bytes = 0;
  Handle host = 0;  ///< its host pointer
  Payload content;
  template <class V>
  void visit(V& v) {
    v(buffer), v(context), v(flags), v(bytes), v(host), v(content);
  }
};

struct CreateSubBuffer {
  static constexpr CommandKind kKind = CommandKind::kCreateSubBuffer;
  Handle buffer = 0, parent = 0;
  uint64_t flags = 0, offset = 0, bytes = 0;
  template <class V>
  void visit(V& v) {
    v(buffer), v(parent), v(flags), v(offset), v(bytes);
  }
};

struct CreateImage {
  static constexpr CommandKind kKind = CommandKind::kCreateImage;
  Handle image = 0, context = 0;
  uint64_t flags = 0;
  uint64_t channel_order = 0, channel_type = 0;  ///< cl_image_format
  uint64_t type = 0;                             ///< cl_mem_object_type
  uint64_t width = 0, height = 0, depth = 0, array_size = 0;
  uint64_t mip_levels = 0, samples = 0;
  Handle buffer = 0;  ///< that it shows, if any
  Handle host = 0;
  Payload content;  ///< rows and slices close to each other, whatever pitch the program had
  template <class V>
  void visit(V& v) {
    v(image), v(context), v(flags), v(channel_order), v(channel_type), v(type), v(width), v(height),
        v(depth), v(array_size), v(mip_levels), v(samples), v(buffer), v(host), v(content);
  }
};

struct CreateSampler {
  static constexpr CommandKind kKind = CommandKind::kCreateSampler;
  Handle sampler = 0, context = 0;
  uint64_t normalized = 0, addressing = 0, filter = 0;
  template <class V>
  void visit(V& v) {
    v(sampler), v(context), v(normalized), v(addressing), v(filter);
  }
};

enum class ProgramForm : uint64_t { kSource = 1, kBinary = 2, kIl = 3, kBuiltIn = 4, kLinked = 5 };

struct CreateProgram {
  static constexpr CommandKind kKind = CommandKind::kCreateProgram;
  Handle program = 0, context = 0;
  ProgramForm form = ProgramForm::kSource;
  Handles devices;  ///< of binaries
  Payload code;     ///< source, IL, the names of built-in kernels; binaries one after the other
  Sizes sizes;      ///< of the binaries
  Text options;     ///< of linking
  Handles inputs;   ///< of linking
  template <class V>
  void visit(V& v) {
    v(program), v(context), v(form), v(devices), v(code), v(sizes), v(options), v(inputs);
  }
};

struct BuildProgram {
  static constexpr CommandKind kKind = CommandKind::kBuildProgram;
  Handle program = 0;
  uint64_t compile_only = 0;
  Handles devices;  ///< none: all of the program's
  Text options;
  Handles headers;    ///< programs
  Text header_names;  ///< of them; each ends with NUL
  template <class V>
  void visit(V& v) {
    v(program), v(compile_only), v(devices), v(options), v(headers), v(header_names);
  }
};

struct CreateKernel {
  static constexpr CommandKind kKind = CommandKind::kCreateKernel;
  Handle kernel = 0, program = 0;
  Text name;
  template <class V>
  void visit(V& v) {
    v(kernel), v(program), v(name);
  }
};

struct CloneKernel {
  static constexpr CommandKind kKind = CommandKind::kCloneKernel;
  Handle kernel = 0, source = 0;
  template <class V>
  void visit(V& v) {
    v(kernel), v(source);
  }
};

enum class ArgumentForm : uint64_t {
  kValue = 1,  ///< bytes; of a memory object or sampler: its handle
  kLocal = 2,  ///< local memory of `bytes` bytes
  kSvm = 3,    ///< an address
  kNull = 4,   ///< a null memory object
};

struct SetArgument {
  static constexpr CommandKind kKind = CommandKind::kSetArgument;
  Handle kernel = 0;
  uint64_t index = 0;
  ArgumentForm form = ArgumentForm::kValue;
  uint64_t bytes = 0;
  Raw value;
  template <class V>
  void visit(V& v) {
    v(kernel), v(index), v(form), v(bytes), v(value);
  }
};

struct SetExecInfo {
  static constexpr CommandKind kKind = CommandKind::kSetExecInfo;
  Handle kernel = 0;
  uint64_t name = 0;  ///< cl_kernel_exec_info
  Raw value;
  template <class V>
  void visit(V& v) {
    v(kernel), v(name), v(value);
  }
};

struct CreateUserEvent {
  static constexpr CommandKind kKind = CommandKind::kCreateUserEvent;
  Handle event = 0, context = 0;
  template <class V>
  void visit(V& v) {
    v(event), v(context);
  }
};

struct SetUserEventStatus {
  static constexpr CommandKind kKind = CommandKind::kSetUserEventStatus;
  Handle event = 0;
  int64_t status = 0;
  template <class V>
  void visit(V& v) {
    v(event), v(status);
  }
};

struct Retain {
  static constexpr CommandKind kKind = CommandKind::kRetain;
  Handle object = 0;
  ObjectClass object_class = ObjectClass::kContext;
  template <class V>
  void visit(V& v) {
    v(object), v(object_class);
  }
};

struct Release {
  static constexpr CommandKind kKind = CommandKind::kRelease;
  Handle object = 0;
  ObjectClass object_class = ObjectClass::kContext;
  template <class V>
  void visit(V& v) {
    v(object), v(object_class);
  }
};

struct SvmAlloc {
  static constexpr CommandKind kKind = CommandKind::kSvmAlloc;
  Handle pointer = 0, context = 0;
  uint64_t flags = 0, bytes = 0, alignment = 0;
  template <class V>
  void visit(V& v) {
    v(pointer), v(context), v(flags), v(bytes), v(alignment);
  }
};

struct SvmFree {
  static constexpr CommandKind kKind = CommandKind::kSvmFree;
  Handle context = 0;
  Handle queue = 0;  ///< 0: at once
  Handles pointers;
  Handles waits;
  Handle event = 0;
  template <class V>
  void visit(V& v) {
    v(context), v(queue), v(pointers), v(waits), v(event);
  }
};

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

/// A part of a memory object. A stretch of a buffer: `image` 0, origin[0] and region[0] in bytes,
/// region[1] and [2] 1. A box of a buffer: with its pitches. A part of an image: in pixels.
struct Box {
  uint64_t is_image = 0;
  uint64_t origin[3] = {0, 0, 0};
  uint64_t region[3] = {0, 1, 1};
  uint64_t row_pitch = 0, slice_pitch = 0;  ///< of the buffer
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
  Payload content;  ///< row after row, close to each other
  Handles waits;
  Handle event = 0;
  template <class V>
  void visit(V& v) {
    v(queue), v(memory), box.visit(v), v(host), v(content), v(waits), v(event);
  }
};

/// What was read follows in a Done.
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

/// Between two memory objects, each a buffer or an image.
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
  Raw pattern;  ///< of an image: its four channels, 16 bytes
  Handles waits;
  Handle event = 0;
  template <class V>
  void visit(V& v) {
    v(queue), v(memory), box.visit(v), v(pattern), v(waits), v(event);
  }
};

/// What the host saw, where it may read, follows in a Done.
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
  Box box;          ///< of its Map
  Payload content;  ///< what the host left there; no bytes: it changed nothing
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
  Sizes sizes;          ///< of addresses
  uint64_t is_svm = 0;  ///< addresses
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
  Payload content;  ///< of a source that is no shared memory
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

/// Waits in a queue for what is before it, or for events; a barrier also holds back what follows.
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
  Handle queue = 0;  ///< that waits instead of the host, if any
  template <class V>
  void visit(V& v) {
    v(events), v(queue);
  }
};

/// A call that was recorded when it began has ended (the header has its result), or what a read or
/// a map showed to the host is there. A Release and a SetUserEventStatus are recorded before they
/// are made, without kBegun: only when the driver refused does a Done follow, with its result.
struct Done {
  static constexpr CommandKind kKind = CommandKind::kDone;
  uint64_t of = 0;     ///< sequence of the command
  Payload content;     ///< of a read or map
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

/// A call whose effect can not be replayed.
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
