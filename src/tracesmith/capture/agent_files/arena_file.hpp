// SPDX-License-Identifier: Apache-2.0
// The collector's side of an arena file: maps it, checks it, and walks its records. It trusts none
// of them: the program that wrote them may have been killed, or may have overwritten them.
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/record_ring.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith {

class ArenaFile {
 public:
  /// Maps `path` to read records and to write back the read positions.
  static Result<ArenaFile> open(const std::string& path, int directory = AT_FDCWD);

  ArenaFile(ArenaFile&& other) noexcept;
  ArenaFile& operator=(ArenaFile&& other) noexcept;
  ~ArenaFile();

  const std::string& path() const { return path_; }
  std::string name() const;  ///< file name without directories
  /// True when the file was truncated or its disk failed. The mapping then reads as zeros.
  bool isDamaged() const;
  arena::ArenaHeader& header() const { return *static_cast<arena::ArenaHeader*>(base_); }
  uint32_t ringCount() const { return ring_count_; }
  arena::RingHeader& ring(uint32_t i) const;
  uint64_t ringBytes() const { return ring_bytes_; }
  const uint8_t* ringData(uint32_t i) const;

 private:
  ArenaFile() = default;
  std::string path_;
  void* base_ = nullptr;
  uint64_t bytes_ = 0;
  // Copies, checked when the file was opened: the mapped values may change at any time.
  uint32_t ring_count_ = 0;
  uint64_t ring_bytes_ = 0;
  uint64_t data_offset_ = 0;
};

/// Walks the records of a ring from `position` to `end`. An invalid record ends the walk and is
/// reported, because no record after it can be found.
class RecordWalk {
 public:
  RecordWalk(const uint8_t* data, uint64_t ring_bytes, uint64_t position, uint64_t end)
      : data_(data), ring_bytes_(ring_bytes), position_(position), end_(end) {
    // A ring holds at most ring_bytes, so a head beyond that or before the tail is invalid. So is
    // an unaligned position: no record starts or ends there, and a header there could reach beyond
    // the ring.
    if (end_ < position_ || end_ - position_ > ring_bytes_ || ((position_ | end_) & 7) != 0) {
      damaged_ = true;
    }
  }

  /// The next record's bytes (whole, header included), or an empty view at the end.
  ByteView next();
  /// Position after the last record that next() returned.
  uint64_t position() const { return position_; }
  bool damaged() const { return damaged_; }

 private:
  const uint8_t* data_;
  uint64_t ring_bytes_;
  uint64_t position_;
  uint64_t end_;
  bool damaged_ = false;
};

/// Copies the fixed part of a record to `part` and advances `record` past it. False when too short.
template <class T>
bool takePart(ByteView& record, T& part) {
  if (record.size() < sizeof(T)) return false;
  part = loadFixed<T>(record.data());
  record = record.subspan(sizeof(T));
  return true;
}

}  // namespace tracesmith
