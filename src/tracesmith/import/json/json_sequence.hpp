// SPDX-License-Identifier: Apache-2.0
// Reads JSON objects that follow each other in a file, usually one on each line. The file may be
// larger than memory. A damaged object costs its line.
//
//   {"header": {…}, "coll_perf": {…}}
//   {"header": {…}, "coll_perf": {…}}
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tracesmith/import/common/byte_source.hpp"
#include "tracesmith/import/common/damage_log.hpp"
#include "tracesmith/import/json/json_token.hpp"

namespace tracesmith::import {

class JsonSequence {
 public:
  /// Reads `step_bytes` at a time. An object of more than `largest` bytes is damage.
  explicit JsonSequence(ByteSource& source, DamageLog& damage, size_t step_bytes = 1u << 18,
                        size_t largest = 64u << 20)
      : source_(source), damage_(damage), step_bytes_(step_bytes), largest_(largest) {}

  /// The next object. Returns false at the end. `raw` is valid until the next call; kJsonPadding
  /// bytes follow it.
  bool next(std::string_view& raw);
  /// Of the file, where the last object starts.
  uint64_t offset() const { return offset_ + from_; }
  /// Bytes of the file, unpacked, that were read.
  uint64_t bytes() const { return offset_ + end_; }

 private:
  bool fill();
  bool skipSpaces();
  void skipLine(std::string_view why);

  ByteSource& source_;
  DamageLog& damage_;
  size_t step_bytes_;
  size_t largest_;
  std::vector<char> buffer_;
  size_t from_ = 0;   // start of the last object
  size_t begin_ = 0;  // start of what follows it
  size_t end_ = 0;
  uint64_t offset_ = 0;  // position of buffer_[0] in the file
  bool eof_ = false;
};

}  // namespace tracesmith::import
