// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/read_all.hpp"

#include <algorithm>

namespace tracesmith::import {

Result<Column<char>> readAll(ByteSource& source, uint64_t limit, size_t padding,
                             std::string& cut_short) {
  constexpr size_t kStep = 4u << 20;
  Column<char> all;
  size_t size = 0;
  for (;;) {
    all.resize(size + kStep);
    const Result<size_t> n = source.read({reinterpret_cast<uint8_t*>(all.data()) + size, kStep});
    if (!n) {
      if (size == 0) return tl::unexpected<Error>(n.error());
      cut_short = n.error().message;
      break;
    }
    size += *n;
    if (size > limit) {
      return fail(ErrorCode::kUnsupported, "is longer than " + std::to_string(limit >> 20) +
                                               " MiB (unpacked), the limit for this format");
    }
    if (*n == 0) break;  // a short read may be followed by an error
  }
  all.resize(size);
  all.resize(size + padding);
  return all;
}

}  // namespace tracesmith::import
