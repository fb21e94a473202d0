// SPDX-License-Identifier: Apache-2.0
// The content of memory before and after a launch, which `replay --dump-as raw` has written, as
// values and as cells of a picture.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/studio/answers/request_values.hpp"

namespace tracesmith::studio {

class MemoryContents {
 public:
  /// `report`: the JSON of the replay, with its table of the contents in `file`.
  static Result<MemoryContents> open(const std::string& report, const std::string& file);

  /// Values: "buffer" (its number), "type" (of its elements; default: that of the argument), "from"
  /// and "count" (elements). Elements before and after, and how both contents differ.
  Result<std::string> valuesAnswer(const QueryValues& values) const;
  /// Values: "buffer", "type", "show" ("before", "after", "difference"), "width" (elements of a
  /// row, or pixels), "channels" (elements of a pixel). At most 512 x 512 cells, each the mean of
  /// what it covers. 32 bits each: columns, rows, channels, number of values at the end that cover
  /// nothing; doubles: lowest and highest value; then floats, row by row, NaN if one of the
  /// elements is. All little endian.
  Result<std::string> cells(const QueryValues& values) const;

 private:
  /// Bytes of one memory object. A side that could not be read is empty.
  struct Content {
    uint64_t buffer = 0;
    std::string memory;
    std::string argument_type;
    ByteView before, after;
  };
  MemoryContents() = default;
  Result<const Content*> contentOf(const QueryValues& values) const;

  std::shared_ptr<const void> file_;  // keeps the bytes mapped
  std::vector<Content> contents_;
};

}  // namespace tracesmith::studio
