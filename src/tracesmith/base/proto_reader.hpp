// SPDX-License-Identifier: Apache-2.0
// Reads protocol-buffer bytes field by field, without a schema. Damaged input ends the reading
// early and never causes reads out of bounds.
#pragma once

#include <cstdint>
#include <string_view>

#include "tracesmith/base/bytes.hpp"

namespace tracesmith::proto {

struct Field {
  uint32_t number = 0;
  uint32_t wire_type = 0;  ///< 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes
  uint64_t value = 0;      ///< for varint and fixed fields
  std::string_view bytes;  ///< for length-delimited fields
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : in_(asBytes(bytes)) {}

  /// Reads the next field; false at the end, or if the rest is not protobuf (ok() is then false).
  bool next(Field& field) {
    if (in_.remaining() == 0) return false;
    const uint64_t tag = in_.varint();
    field = {static_cast<uint32_t>(tag >> 3), static_cast<uint32_t>(tag & 7), 0, {}};
    if (tag >> 32 != 0 || field.number == 0) ok_ = false;
    switch (field.wire_type) {
      case 0:
        field.value = in_.varint();
        break;
      case 1:
        field.value = in_.fixed<uint64_t>();
        break;
      case 2:
        field.bytes = asText(in_.take(in_.varint()));
        break;
      case 5:
        field.value = in_.fixed<uint32_t>();
        break;
      default:
        ok_ = false;
    }
    ok_ = ok_ && in_.ok();
    return ok_;
  }
  bool ok() const { return ok_; }

 private:
  ByteReader in_;
  bool ok_ = true;
};

/// Calls f(Field) for each field; false if the bytes are not protobuf.
template <class F>
bool forEachField(std::string_view bytes, F&& f) {
  Reader reader(bytes);
  Field field;
  while (reader.next(field)) f(field);
  return reader.ok();
}

}  // namespace tracesmith::proto
