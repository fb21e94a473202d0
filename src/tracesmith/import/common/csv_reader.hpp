// SPDX-License-Identifier: Apache-2.0
// Reads CSV as defined by RFC 4180: comma-separated fields, quoted where necessary, with quotes
// inside quoted fields doubled; lines end in LF or CRLF. Memory use does not grow with the table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/import/common/byte_source.hpp"

namespace tracesmith::import {

class CsvReader {
 public:
  explicit CsvReader(ByteSource& source) : source_(source) {}

  /// Reads the next record; skips empty lines. Returns false at the end, or if the source failed.
  bool next(std::vector<std::string>& fields);

  /// Start offset of the last record read.
  uint64_t offset() const { return record_offset_; }
  uint64_t bytes() const { return consumed_; }
  /// Why reading ended early, or what was wrong with the last record; "" if nothing.
  const std::string& problem() const { return problem_; }

 private:
  int get();
  int peek();
  void field(std::string& out, int& end);

  static constexpr size_t kWindowBytes = 1u << 20;
  static constexpr size_t kLongestField = 1u << 20;
  static constexpr size_t kMostFields = 4096;
  ByteSource& source_;
  std::vector<uint8_t> window_;
  size_t at_ = 0;
  size_t end_ = 0;
  bool ended_ = false;
  uint64_t consumed_ = 0;
  uint64_t record_offset_ = 0;
  std::string problem_;
  std::string beyond_;  // receives excess fields of a record
};

}  // namespace tracesmith::import
