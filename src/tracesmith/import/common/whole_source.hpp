// SPDX-License-Identifier: Apache-2.0
// All of a source in memory, for formats whose parts refer to each other.
#pragma once

#include <cstdint>
#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/import/common/byte_source.hpp"
#include "tracesmith/model/column.hpp"

namespace tracesmith::import {

/// The content, with `padding` zeros behind it, which size() counts. Grows as it is read, so that a
/// small file that claims to be large costs nothing. Error: it is longer than `limit`, or reading
/// failed before anything came; what had come before a failure is given, and `cut_short` says why.
Result<Column<char>> readWhole(ByteSource& source, uint64_t limit, size_t padding,
                               std::string& cut_short);

}  // namespace tracesmith::import
