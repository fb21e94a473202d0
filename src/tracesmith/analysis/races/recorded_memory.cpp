// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/races/recorded_memory.hpp"

#include <algorithm>

namespace tracesmith::races {

using namespace recording;  // NOLINT: uses the recording vocabulary

namespace {

constexpr uint64_t kUseHostPointer = 1 << 3;  // CL_MEM_USE_HOST_PTR
constexpr uint64_t kImage1dArray = 0x10F5;    // CL_MEM_OBJECT_IMAGE1D_ARRAY
constexpr uint64_t kMostRows = 1024;
constexpr uint64_t kMost = uint64_t{1} << 62;  // larger sizes and addresses are damage

uint64_t limited(uint64_t v) { return std::min(v, kMost); }
uint64_t product(uint64_t a, uint64_t b) { return a != 0 && b > kMost / a ? kMost : a * b; }

/// Rows within slices, with pitches `row` and `slice`.
struct Rows {
  uint64_t begin, length, row, slice, rows, slices;
};

void add(const Rows& r, uint32_t allocation, uint64_t offset, uint64_t limit, bool write,
         Grade grade, std::vector<Access>& out) {
  const auto put = [&](uint64_t begin, uint64_t length, Grade sure) {
    const uint64_t end = limited(begin + limited(length));
    if (begin >= limit || begin >= end) return;
    out.push_back({offset + begin, offset + std::min(end, limit), allocation, write, sure});
  };
  const bool rows_meet = r.length == r.row || r.rows <= 1;
  const uint64_t plane = r.rows <= 1 ? r.length : product(r.rows - 1, r.row) + r.length;
  const bool planes_meet = r.slices <= 1 || (rows_meet && plane == r.slice);
  if (rows_meet && planes_meet) {
    put(r.begin, r.slices <= 1 ? plane : product(r.slices, r.slice), grade);
    return;
  }
  const uint64_t parts = product(rows_meet ? 1 : r.rows, std::max<uint64_t>(r.slices, 1));
  if (parts > kMostRows) {
    put(r.begin, limited(product(std::max<uint64_t>(r.slices, 1) - 1, r.slice) + plane),
        Grade::kPossible);
    return;
  }
  for (uint64_t z = 0; z < std::max<uint64_t>(r.slices, 1); ++z) {
    for (uint64_t y = 0; y < (rows_meet ? 1 : r.rows); ++y) {
      put(limited(r.begin + product(z, r.slice) + product(y, r.row)), rows_meet ? plane : r.length,
          grade);
    }
  }
}

}  // namespace

RecordedMemory::RecordedMemory() { allocate(AllocationKind::kHostMemory, kMost, 0, 0); }

uint32_t RecordedMemory::allocate(AllocationKind kind, uint64_t bytes, uint64_t sequence,
                                  Handle handle) {
  allocations_.push_back({kind, ++numbers_[static_cast<size_t>(kind)], bytes, sequence, handle});
  return static_cast<uint32_t>(allocations_.size() - 1);
}

void RecordedMemory::create(const CreateBuffer& c, uint64_t sequence) {
  const uint64_t bytes = limited(c.bytes);
  if (const auto shared = sharedUnder(c.flags, c.host)) {
    objects_[c.buffer] = *shared;
    objects_[c.buffer].bytes = std::min(bytes, shared->bytes);
    return;
  }
  const uint32_t allocation = allocate(AllocationKind::kBuffer, bytes, sequence, c.buffer);
  objects_[c.buffer] = {.allocation = allocation, .bytes = bytes};
  if ((c.flags & kUseHostPointer) != 0 && c.host != 0) {
    host_[limited(c.host)] = {limited(limited(c.host) + bytes), allocation};
  }
}

std::optional<RecordedMemory::Object> RecordedMemory::sharedUnder(uint64_t flags,
                                                                  Handle host) const {
  if ((flags & kUseHostPointer) == 0) return {};
  const auto range = in(shared_, host);
  if (!range) return {};
  const auto& [begin, of] = *range;
  return Object{.allocation = of.allocation, .offset = host - begin, .bytes = of.end - host};
}

void RecordedMemory::create(const CreateSubBuffer& c) {
  const auto parent = objects_.find(c.parent);
  if (parent == objects_.end()) return;
  Object part = parent->second;
  const uint64_t within = std::min(limited(c.offset), part.bytes);
  part.offset += within;
  part.bytes = std::min(limited(c.bytes), part.bytes - within);
  objects_[c.buffer] = part;
}

void RecordedMemory::create(const CreateImage& c, uint64_t sequence) {
  const auto of = c.buffer == 0 ? objects_.end() : objects_.find(c.buffer);
  if (of != objects_.end()) {
    Object shown = of->second;
    shown.is_image = true;
    shown.by_rows = false;  // pixels of an image do not correspond to bytes of its buffer
    objects_[c.image] = shown;
    return;
  }
  if (const auto shared = sharedUnder(c.flags, c.host)) {
    Object shown = *shared;
    shown.is_image = true;
    shown.by_rows = false;
    objects_[c.image] = shown;
    return;
  }
  Object image{.is_image = true, .by_rows = c.mip_levels <= 1};
  image.width = std::max<uint64_t>(limited(c.width), 1);
  image.height = std::max<uint64_t>(limited(c.height), 1);
  image.depth = std::max<uint64_t>(limited(c.depth), 1);
  if (c.array_size > 0) {
    (c.type == kImage1dArray ? image.height : image.depth) = limited(c.array_size);
  }
  image.bytes = product(product(image.width, image.height), image.depth);
  image.allocation = allocate(AllocationKind::kImage, image.bytes, sequence, c.image);
  objects_[c.image] = image;
}

void RecordedMemory::create(const SvmAlloc& c, uint64_t sequence) {
  if (c.pointer == 0) return;
  const uint64_t begin = limited(c.pointer);
  shared_[begin] = {limited(begin + limited(c.bytes)),
                    allocate(AllocationKind::kShared, limited(c.bytes), sequence, c.pointer)};
}

void RecordedMemory::release(Handle handle) {
  const auto it = objects_.find(handle);
  if (host_.empty() || it == objects_.end()) return;
  const auto of = std::find_if(host_.begin(), host_.end(), [&](const auto& range) {
    return range.second.allocation == it->second.allocation;
  });
  if (of != host_.end() && it->second.offset == 0) host_.erase(of);
}

void RecordedMemory::addObject(Handle handle, bool write, Grade grade,
                               std::vector<Access>& out) const {
  const auto it = objects_.find(handle);
  if (it == objects_.end()) return;
  const Object& o = it->second;
  out.push_back({o.offset, limited(o.offset + o.bytes), o.allocation, write, grade});
}

void RecordedMemory::addBox(Handle handle, const Box& box, bool write, Grade grade,
                            std::vector<Access>& out) const {
  const auto it = objects_.find(handle);
  if (it == objects_.end()) return;
  const Object& o = it->second;
  if (!o.by_rows) {
    addObject(handle, write, Grade::kPossible, out);
    return;
  }
  const auto at = [&](int i) { return limited(box.origin[i]); };
  const auto of = [&](int i) { return limited(box.region[i]); };
  Rows rows{};
  rows.length = of(0);
  rows.rows = std::max<uint64_t>(of(1), 1);
  rows.slices = std::max<uint64_t>(of(2), 1);
  if (o.is_image) {
    rows.row = o.width;
    rows.slice = product(o.width, o.height);
  } else {
    rows.row = box.row_pitch != 0 ? limited(box.row_pitch) : rows.length;
    rows.slice = box.slice_pitch != 0 ? limited(box.slice_pitch) : product(rows.row, rows.rows);
  }
  rows.begin = limited(limited(at(0) + product(at(1), rows.row)) + product(at(2), rows.slice));
  add(rows, o.allocation, o.offset, o.bytes, write, grade, out);
}

std::optional<std::pair<uint64_t, RecordedMemory::Range>> RecordedMemory::in(
    const std::map<uint64_t, Range>& ranges, uint64_t address) {
  auto it = ranges.upper_bound(address);
  if (it == ranges.begin()) return {};
  --it;
  if (address >= it->second.end) return {};
  return {{it->first, it->second}};
}

void RecordedMemory::addAddress(Handle address, uint64_t bytes, bool write, Grade grade,
                                std::vector<Access>& out) const {
  if (address == 0 || bytes == 0 || address > kMost) return;
  const uint64_t end = limited(address + limited(bytes));
  for (const auto* ranges : {&shared_, &host_}) {
    const auto range = in(*ranges, address);
    if (!range) continue;
    const auto& [begin, of] = *range;
    out.push_back({address - begin, std::min(end, of.end) - begin, of.allocation, write, grade});
    return;
  }
  out.push_back({address, end, 0, write, grade});
}

void RecordedMemory::addPointer(Handle pointer, bool write, Grade grade,
                                std::vector<Access>& out) const {
  const auto range = in(shared_, pointer);
  if (!range) return;
  const auto& [begin, of] = *range;
  // A pointer into the middle means that the program manages parts itself, whose size is unknown.
  const Grade sure = pointer == begin ? grade : Grade::kPossible;
  out.push_back({pointer - begin, of.end - begin, of.allocation, write, sure});
}

uint64_t RecordedMemory::sharedBytes(Handle pointer) const {
  const auto range = in(shared_, pointer);
  return range ? range->second.end - pointer : 0;
}

}  // namespace tracesmith::races
