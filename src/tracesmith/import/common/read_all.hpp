// SPDX-License-Identifier: Apache-2.0
// Reads a whole source into memory, for formats whose parts refer to each other.
#pragma once

#include <cstdint>
#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/import/common/byte_source.hpp"
#include "tracesmith/model/column.hpp"

namespace tracesmith::import {

/// Returns the content followed by `padding` zeros, which size() includes. The buffer grows while
/// reading, so a small file that claims to be large costs nothing. Error: the content is longer
/// than `limit`, or reading failed at the start. If reading fails later, returns what was read and
/// sets `cut_short` to the reason.
Result<Column<char>> readAll(ByteSource& source, uint64_t limit, size_t padding,
                             std::string& cut_short);

}  // namespace tracesmith::import
