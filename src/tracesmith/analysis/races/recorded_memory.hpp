// SPDX-License-Identifier: Apache-2.0
// The memory of a recorded program: maps a handle or address to its allocation, and a part of it to
// bytes.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tracesmith/analysis/races/recorded_program.hpp"

namespace tracesmith::races {

class RecordedMemory {
 public:
  /// Allocation 0 is the host's memory, by address.
  RecordedMemory();

  void create(const recording::CreateBuffer& command, uint64_t sequence);
  void create(const recording::CreateSubBuffer& command);
  void create(const recording::CreateImage& command, uint64_t sequence);
  void create(const recording::SvmAlloc& command, uint64_t sequence);
  void free(recording::Handle pointer) { shared_.erase(pointer); }
  /// A memory object is released: host memory that it used belongs to the host again.
  void release(recording::Handle handle);

  bool isObject(recording::Handle handle) const { return objects_.count(handle) != 0; }
  /// Adds an access to a whole object.
  void addObject(recording::Handle handle, bool write, Grade grade, std::vector<Access>& out) const;
  /// Adds an access to a part of an object. If a part has too many rows, it is treated as one range
  /// with grade kPossible.
  void addBox(recording::Handle handle, const recording::Box& box, bool write, Grade grade,
              std::vector<Access>& out) const;
  /// Adds an access to bytes at an address: of shared memory, of a buffer in host memory, or of
  /// host memory itself.
  void addAddress(recording::Handle address, uint64_t bytes, bool write, Grade grade,
                  std::vector<Access>& out) const;
  /// Adds what a kernel may access with a pointer to shared memory: from there to the end of the
  /// memory.
  void addPointer(recording::Handle pointer, bool write, Grade grade,
                  std::vector<Access>& out) const;
  /// Bytes of shared memory from this address on; 0: not shared memory.
  uint64_t sharedBytes(recording::Handle pointer) const;

  std::vector<RecordedAllocation> takeAllocations() { return std::move(allocations_); }

 private:
  struct Object {
    uint32_t allocation = 0;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    bool is_image = false;
    bool by_rows = true;  // parts can be distinguished
    uint64_t width = 1, height = 1, depth = 1;
  };
  struct Range {
    uint64_t end = 0;
    uint32_t allocation = 0;
  };
  /// The shared memory from `host` on that a memory object uses as storage.
  std::optional<Object> sharedUnder(uint64_t flags, recording::Handle host) const;
  uint32_t allocate(AllocationKind kind, uint64_t bytes, uint64_t sequence,
                    recording::Handle handle);
  /// The range that contains `address`, with its start.
  static std::optional<std::pair<uint64_t, Range>> in(const std::map<uint64_t, Range>& ranges,
                                                      uint64_t address);

  std::vector<RecordedAllocation> allocations_;
  uint32_t numbers_[4] = {};
  std::unordered_map<recording::Handle, Object> objects_;
  std::map<uint64_t, Range> shared_;  // by start
  std::map<uint64_t, Range> host_;    // buffers in host memory
};

}  // namespace tracesmith::races
