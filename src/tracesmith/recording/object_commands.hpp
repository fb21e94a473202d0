// SPDX-License-Identifier: Apache-2.0
// Calls that create or release objects, build programs, and set arguments.
#pragma once

#include "tracesmith/recording/command_kind.hpp"

namespace tracesmith::recording {

/// A device; recorded when it first appears.
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
  uint64_t properties = 0;  ///< cl_command_queue_properties requested by the program
  Sizes others;             ///< further pairs of its property list
  template <class V>
  void visit(V& v) {
    v(queue), v(context), v(device), v(properties), v(others);
  }
};

/// Without content, the agent has filled the memory with zeros, so that it is defined. Exception: a
/// buffer over shared memory (CL_MEM_USE_HOST_PTR with an address in it) has the content of that
/// memory.
struct CreateBuffer {
  static constexpr CommandKind kKind = CommandKind::kCreateBuffer;
  Handle buffer = 0, context = 0;
  uint64_t flags = 0;  ///< cl_mem_flags as given by the program
  uint64_t bytes = 0;
  Handle host = 0;  ///< the host pointer
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
  /// cl_buffer_create_type if it is not a region, so that the call failed
  uint64_t other_type = 0;
  uint64_t without_region = 0;  ///< 1: the program passed no region, so that the call failed
  template <class V>
  void visit(V& v) {
    v(buffer), v(parent), v(flags), v(offset), v(bytes), v(other_type), v(without_region);
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
  Handle buffer = 0;  ///< buffer that the image is created from, if any
  Handle host = 0;
  Payload content;           ///< packed rows and slices, whatever the pitches were
  uint64_t row_pitch = 0;    ///< as given by the program; 0: packed
  uint64_t slice_pitch = 0;  ///< as given by the program; 0: packed
  static constexpr uint64_t kFormat = 1, kDescription = 2;
  uint64_t without = 0;  ///< what the program did not pass, so that the call failed
  template <class V>
  void visit(V& v) {
    v(image), v(context), v(flags), v(channel_order), v(channel_type), v(type), v(width), v(height),
        v(depth), v(array_size), v(mip_levels), v(samples), v(buffer), v(host), v(content),
        v(row_pitch), v(slice_pitch), v(without);
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
  Handles devices;  ///< for binaries
  Payload code;     ///< source, IL, the names of built-in kernels; binaries one after the other
  Sizes sizes;      ///< sizes of the binaries
  Text options;     ///< for linking
  Handles inputs;   ///< for linking
  template <class V>
  void visit(V& v) {
    v(program), v(context), v(form), v(devices), v(code), v(sizes), v(options), v(inputs);
  }
};

struct BuildProgram {
  static constexpr CommandKind kKind = CommandKind::kBuildProgram;
  Handle program = 0;
  uint64_t compile_only = 0;
  Handles devices;  ///< empty: all devices of the program
  Text options;
  Handles headers;    ///< programs
  Text header_names;  ///< names of `headers`; each ends with NUL
  template <class V>
  void visit(V& v) {
    v(program), v(compile_only), v(devices), v(options), v(headers), v(header_names);
  }
};

/// A file that the following build of a program may include: one that its source, or another such
/// file, names in an #include. May be more files than needed, because conditions are not evaluated.
struct IncludedFile {
  static constexpr CommandKind kKind = CommandKind::kIncludedFile;
  Handle program = 0;
  Text path;    ///< where it was found
  Text folder;  ///< working directory of the process, the base of relative -I options
  Payload content;
  template <class V>
  void visit(V& v) {
    v(program), v(path), v(folder), v(content);
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
  kValue = 1,  ///< the bytes; for a memory object or sampler: its handle
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
  Handle queue = 0;  ///< 0: freed immediately
  Handles pointers;
  Handles waits;
  Handle event = 0;
  template <class V>
  void visit(V& v) {
    v(context), v(queue), v(pointers), v(waits), v(event);
  }
};

}  // namespace tracesmith::recording
