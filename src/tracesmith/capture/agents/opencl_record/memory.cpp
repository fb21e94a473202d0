// SPDX-License-Identifier: Apache-2.0
// Memory objects. Memory that the program creates without content is filled with zeros, so that
// kernels find defined content. The driver gets CL_MEM_COPY_HOST_PTR and zeros; the program still
// sees its own flags.
#include <sys/mman.h>

#include "tracesmith/base/linux/loaded_modules.hpp"
#include "tracesmith/capture/agents/opencl_record/recorder.hpp"
#include "tracesmith/capture/protocol/opencl_attempt_layout.hpp"

using namespace tracesmith::record;  // NOLINT: the wrappers below are C functions
namespace rec = tracesmith::recording;

namespace tracesmith::record {
namespace {

constexpr cl_mem_flags kHostFlags = CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;

/// At least `bytes` read-only zeros, or nullptr. They use no memory: all pages are the same zero
/// page.
class Zeros {
 public:
  explicit Zeros(uint64_t bytes) : bytes_(bytes) {
    void* p = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return;
    p_ = p;
    madvise(p_, bytes_, MADV_HUGEPAGE);  // one fault for 2 MiB if the kernel supports it
  }
  ~Zeros() {
    if (p_ != nullptr) munmap(p_, bytes_);
  }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  void* get() const { return p_; }

 private:
  void* p_ = nullptr;
  uint64_t bytes_;
};

using opencl_attempt::SetAttempting;

/// Function of the tracing agent below each loader's wrappers; nullptr: there is no such agent.
SetAttempting g_set_attempting[agent::kMostLoaders]{};

/// During its lifetime, failed calls of this thread are not traced.
class Attempt {
 public:
  Attempt() : set_(g_set_attempting[&agent::next() - &agent::g_next[0]]) {
    if (set_ == nullptr) return;
    t_state.attempting = set_;
    set_(1);
  }
  ~Attempt() {
    if (set_ == nullptr) return;
    set_(0);
    t_state.attempting = nullptr;
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

 private:
  SetAttempting set_;
};

/// Runs `make(flags, host, &error)`, with zeros if the program passes no content. If the driver
/// refuses that, repeats the call as the program made it.
template <class Make>
cl_mem makeMemory(cl_mem_flags flags, void* host, uint64_t bytes, bool& zeroed, cl_int& error,
                  Make&& make) {
  if (host == nullptr && (flags & kHostFlags) == 0 && bytes > 0) {
    const Zeros zeros(bytes);
    const Attempt attempt;
    cl_mem memory =
        zeros.get() != nullptr ? make(flags | CL_MEM_COPY_HOST_PTR, zeros.get(), &error) : nullptr;
    if (memory != nullptr && error == CL_SUCCESS) {
      zeroed = true;
      return memory;
    }
  }
  return make(flags, host, &error);
}

/// True if the driver will use shared memory as the object's own. That content is known already;
/// the host may not even be allowed to read it.
bool isOverShared(cl_mem_flags flags, const void* host, uint64_t bytes) {
  if ((flags & CL_MEM_USE_HOST_PTR) == 0 || host == nullptr) return false;
  StateLock lock;
  return isShared(host, bytes);
}

/// State lock.
void noteShared(MemoryState& state, Handle address) {
  if (address == 0) return;
  state.shared = address;
  g_objects.any_over_shared.store(true, std::memory_order_relaxed);
}

template <class Make>
cl_mem buffer(cl_context context, cl_mem_flags flags, size_t size, void* host, cl_int* error,
              Make&& make) {
  Content content;
  const bool over_shared = isOverShared(flags, host, size);
  if (over_shared) recordHostChanges();
  Call call;
  cl_int e = CL_SUCCESS;
  bool zeroed = false;
  cl_mem memory = makeMemory(flags, host, size, zeroed, e, make);
  call.end(e);
  if (memory != nullptr && host != nullptr && (flags & kHostFlags) != 0 && !over_shared) {
    content.take(host, size);
  }
  rec::CreateBuffer c;
  c.buffer = handleOf(memory);
  c.context = handleOf(context);
  c.flags = flags;
  c.bytes = size;
  c.host = handleOf(host);
  c.content = content.payload();
  {
    StateLock lock;
    putLocked(c, call.info());
    if (MemoryState* state = memory != nullptr ? g_objects.memory.insert(c.buffer) : nullptr) {
      state->context = context;
      state->flags = flags;
      state->zeroed = zeroed;
      state->bytes = size;
      noteShared(*state, over_shared ? c.host : 0);
    }
  }
  if (error != nullptr) *error = e;
  return memory;
}

uint64_t elementBytes(const cl_image_format& format) {
  uint64_t channels = 4;
  switch (format.image_channel_order) {
    case CL_R:
    case CL_A:
    case CL_Rx:
    case CL_INTENSITY:
    case CL_LUMINANCE:
    case CL_DEPTH:
      channels = 1;
      break;
    case CL_RG:
    case CL_RA:
    case CL_RGx:
      channels = 2;
      break;
    case CL_RGB:
    case CL_RGBx:
    case CL_sRGB:
    case CL_sRGBx:
      channels = 3;
      break;
    default:
      break;
  }
  switch (format.image_channel_data_type) {
    case CL_SNORM_INT8:
    case CL_UNORM_INT8:
    case CL_SIGNED_INT8:
    case CL_UNSIGNED_INT8:
      return channels;
    case CL_SNORM_INT16:
    case CL_UNORM_INT16:
    case CL_SIGNED_INT16:
    case CL_UNSIGNED_INT16:
    case CL_HALF_FLOAT:
      return channels * 2;
    case CL_SIGNED_INT32:
    case CL_UNSIGNED_INT32:
    case CL_FLOAT:
      return channels * 4;
    case CL_UNORM_SHORT_565:
    case CL_UNORM_SHORT_555:
      return 2;  // all channels in one value
    case CL_UNORM_INT_101010:
    case CL_UNORM_INT_101010_2:
      return 4;
    default:
      return 0;
  }
}

/// The image size in units of regions: the meaning of rows and slices depends on the image type.
void extentOf(const cl_image_desc& d, uint64_t (&extent)[3]) {
  const auto atLeast1 = [](uint64_t n) { return n > 0 ? n : 1; };
  extent[0] = d.image_width;
  extent[1] = extent[2] = 1;
  switch (d.image_type) {
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
      extent[1] = atLeast1(d.image_array_size);
      break;
    case CL_MEM_OBJECT_IMAGE2D:
      extent[1] = atLeast1(d.image_height);
      break;
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
      extent[1] = atLeast1(d.image_height);
      extent[2] = atLeast1(d.image_array_size);
      break;
    case CL_MEM_OBJECT_IMAGE3D:
      extent[1] = atLeast1(d.image_height);
      extent[2] = atLeast1(d.image_depth);
      break;
    default:
      break;
  }
}

/// The place of the pixels that the program passes.
Place hostPlace(const cl_image_desc& d, const void* host, uint64_t element,
                const uint64_t (&extent)[3]) {
  if (host == nullptr) return {};
  Place place{static_cast<const uint8_t*>(host), extent[0] * element, extent[1], extent[2], 0, 0};
  // The rows of a 1D array are one slice pitch apart.
  const bool array_1d = d.image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  const size_t pitch = array_1d ? d.image_slice_pitch : d.image_row_pitch;
  place.row_pitch = pitch != 0 ? pitch : place.row_bytes;
  place.slice_pitch =
      !array_1d && d.image_slice_pitch != 0 ? d.image_slice_pitch : place.row_pitch * place.rows;
  return place;
}

template <class Make>
cl_mem image(cl_context context, cl_mem_flags flags, const cl_image_format* format,
             const cl_image_desc* description, void* host, cl_int* error, Make&& make) {
  Call call;
  cl_int e = CL_SUCCESS;
  bool zeroed = false;
  // A sub-buffer's content is recorded with its parent's.
  if (!isReadable(format, sizeof *format)) format = nullptr;
  if (!isReadable(description, sizeof *description)) description = nullptr;
  const bool known = format != nullptr && description != nullptr;
  const uint64_t element = known ? elementBytes(*format) : 0;
  uint64_t extent[3] = {};
  if (known) extentOf(*description, extent);
  const uint64_t bytes = element * extent[0] * extent[1] * extent[2];
  const bool plain = known && description->mem_object == nullptr &&
                     description->num_mip_levels == 0 && description->num_samples == 0;
  const Place place = plain ? hostPlace(*description, host, element, extent) : Place{};
  const bool over_shared = isOverShared(flags, place.at, place.extent());
  if (over_shared) recordHostChanges();
  cl_mem memory = makeMemory(flags, host, plain ? bytes : 0, zeroed, e, make);
  call.end(e);
  rec::CreateImage c;
  c.image = handleOf(memory);
  c.context = handleOf(context);
  c.flags = flags;
  c.host = handleOf(host);
  c.without = (format == nullptr ? rec::CreateImage::kFormat : 0) |
              (description == nullptr ? rec::CreateImage::kDescription : 0);
  Content content;
  if (format != nullptr) {
    c.channel_order = format->image_channel_order;
    c.channel_type = format->image_channel_data_type;
  }
  if (description != nullptr) {
    const cl_image_desc& d = *description;
    c.type = d.image_type;
    c.width = d.image_width;
    c.height = d.image_height;
    c.depth = d.image_depth;
    c.array_size = d.image_array_size;
    c.mip_levels = d.num_mip_levels;
    c.samples = d.num_samples;
    c.buffer = handleOf(d.mem_object);
    c.row_pitch = d.image_row_pitch;
    c.slice_pitch = d.image_slice_pitch;
    if (memory != nullptr && place.at != nullptr && bytes > 0 && !over_shared) {
      content.take(place, Keep::kBytes);
      c.content = content.payload();
    }
  }
  {
    StateLock lock;
    putLocked(c, call.info());
    if (MemoryState* state = memory != nullptr ? g_objects.memory.insert(c.image) : nullptr) {
      state->context = context;
      state->flags = flags;
      state->zeroed = zeroed;
      state->is_image = true;
      state->is_1d_array = known && description->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
      state->parent = known ? description->mem_object : nullptr;
      state->bytes = bytes;
      state->element_bytes = element;
      memcpy(state->extent, extent, sizeof extent);
      const MemoryState* parent = g_objects.memory.find(handleOf(state->parent));
      state = g_objects.memory.find(c.image);
      if (parent != nullptr && (flags & kHostFlags) == 0) state->zeroed = parent->zeroed;
      noteShared(*state, parent != nullptr ? parent->shared : over_shared ? c.host : 0);
    }
  }
  if (error != nullptr) *error = e;
  return memory;
}

}  // namespace

void findTracingAgent(uint32_t loader) {
  LoadedModule library;
  const auto* const below = reinterpret_cast<const void*>(agent::g_below[loader].clCreateBuffer);
  const bool known = findModule(below, library);
  g_set_attempting[loader] =
      known ? reinterpret_cast<SetAttempting>(findExport(library, opencl_attempt::kFunctionName))
            : nullptr;
}

}  // namespace tracesmith::record

extern "C" {

cl_mem CL_API_CALL TS_WRAP(clCreateBuffer)(cl_context context, cl_mem_flags flags, size_t size,
                                           void* host, cl_int* error) {
  if (!active()) return next().clCreateBuffer(context, flags, size, host, error);
  return buffer(context, flags, size, host, error, [&](cl_mem_flags f, void* h, cl_int* e) {
    return next().clCreateBuffer(context, f, size, h, e);
  });
}

cl_mem CL_API_CALL TS_WRAP(clCreateBufferWithProperties)(cl_context context,
                                                         const cl_mem_properties* properties,
                                                         cl_mem_flags flags, size_t size,
                                                         void* host, cl_int* error) {
  if (!active()) {
    return next().clCreateBufferWithProperties(context, properties, flags, size, host, error);
  }
  return buffer(context, flags, size, host, error, [&](cl_mem_flags f, void* h, cl_int* e) {
    return next().clCreateBufferWithProperties(context, properties, f, size, h, e);
  });
}

cl_mem CL_API_CALL TS_WRAP(clCreateSubBuffer)(cl_mem parent, cl_mem_flags flags,
                                              cl_buffer_create_type type, const void* info,
                                              cl_int* error) {
  if (!active()) return next().clCreateSubBuffer(parent, flags, type, info, error);
  Call call;
  cl_int e = CL_SUCCESS;
  cl_mem memory = next().clCreateSubBuffer(parent, flags, type, info, &e);
  call.end(e);
  rec::CreateSubBuffer c;
  c.buffer = handleOf(memory);
  c.parent = handleOf(parent);
  c.flags = flags;
  const bool read = memory != nullptr || isReadable(info, sizeof(cl_buffer_region));
  if (type == CL_BUFFER_CREATE_TYPE_REGION && info != nullptr && read) {
    const auto* region = static_cast<const cl_buffer_region*>(info);
    c.offset = region->origin;
    c.bytes = region->size;
  }
  if (type != CL_BUFFER_CREATE_TYPE_REGION) c.other_type = type;
  c.without_region = info == nullptr || !read ? 1 : 0;
  {
    StateLock lock;
    putLocked(c, call.info());
    if (MemoryState* state = memory != nullptr ? g_objects.memory.insert(c.buffer) : nullptr) {
      const MemoryState* above = g_objects.memory.find(c.parent);
      state->context = above != nullptr ? above->context : nullptr;
      state->flags = flags;
      state->zeroed = above != nullptr && above->zeroed;
      state->parent = parent;
      state->bytes = c.bytes;
      if (above != nullptr && above->shared != 0) noteShared(*state, above->shared + c.offset);
    }
  }
  if (error != nullptr) *error = e;
  return memory;
}

cl_mem CL_API_CALL TS_WRAP(clCreateImage)(cl_context context, cl_mem_flags flags,
                                          const cl_image_format* format,
                                          const cl_image_desc* description, void* host,
                                          cl_int* error) {
  if (!active()) return next().clCreateImage(context, flags, format, description, host, error);
  return image(context, flags, format, description, host, error,
               [&](cl_mem_flags f, void* h, cl_int* e) {
                 return next().clCreateImage(context, f, format, description, h, e);
               });
}

cl_mem CL_API_CALL TS_WRAP(clCreateImageWithProperties)(
    cl_context context, const cl_mem_properties* properties, cl_mem_flags flags,
    const cl_image_format* format, const cl_image_desc* description, void* host, cl_int* error) {
  if (!active()) {
    return next().clCreateImageWithProperties(context, properties, flags, format, description, host,
                                              error);
  }
  return image(context, flags, format, description, host, error,
               [&](cl_mem_flags f, void* h, cl_int* e) {
                 return next().clCreateImageWithProperties(context, properties, f, format,
                                                           description, h, e);
               });
}

cl_mem CL_API_CALL TS_WRAP(clCreateImage2D)(cl_context context, cl_mem_flags flags,
                                            const cl_image_format* format, size_t width,
                                            size_t height, size_t row, void* host, cl_int* error) {
  if (!active()) {
    return next().clCreateImage2D(context, flags, format, width, height, row, host, error);
  }
  cl_image_desc d{};
  d.image_type = CL_MEM_OBJECT_IMAGE2D;
  d.image_width = width;
  d.image_height = height;
  d.image_row_pitch = row;
  return image(context, flags, format, &d, host, error, [&](cl_mem_flags f, void* h, cl_int* e) {
    return next().clCreateImage2D(context, f, format, width, height, row, h, e);
  });
}

cl_mem CL_API_CALL TS_WRAP(clCreateImage3D)(cl_context context, cl_mem_flags flags,
                                            const cl_image_format* format, size_t width,
                                            size_t height, size_t depth, size_t row, size_t slice,
                                            void* host, cl_int* error) {
  if (!active()) {
    return next().clCreateImage3D(context, flags, format, width, height, depth, row, slice, host,
                                  error);
  }
  cl_image_desc d{};
  d.image_type = CL_MEM_OBJECT_IMAGE3D;
  d.image_width = width;
  d.image_height = height;
  d.image_depth = depth;
  d.image_row_pitch = row;
  d.image_slice_pitch = slice;
  return image(context, flags, format, &d, host, error, [&](cl_mem_flags f, void* h, cl_int* e) {
    return next().clCreateImage3D(context, f, format, width, height, depth, row, slice, h, e);
  });
}

cl_int CL_API_CALL TS_WRAP(clGetMemObjectInfo)(cl_mem memory, cl_mem_info what, size_t size,
                                               void* value, size_t* size_ret) {
  const cl_int result = next().clGetMemObjectInfo(memory, what, size, value, size_ret);
  if (result != CL_SUCCESS || value == nullptr || !tablesUsable()) return result;
  if (what != CL_MEM_FLAGS && what != CL_MEM_HOST_PTR) return result;
  StateLock lock;
  const MemoryState* state = g_objects.memory.find(handleOf(memory));
  if (state == nullptr || !state->zeroed) return result;
  if (what == CL_MEM_FLAGS && size >= sizeof(cl_mem_flags)) {
    *static_cast<cl_mem_flags*>(value) &= ~cl_mem_flags{CL_MEM_COPY_HOST_PTR};
  }
  if (what == CL_MEM_HOST_PTR && size >= sizeof(void*)) *static_cast<void**>(value) = nullptr;
  return result;
}

}  // extern "C"
