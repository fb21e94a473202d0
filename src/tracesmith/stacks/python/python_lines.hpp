// SPDX-License-Identifier: Apache-2.0
// Source locations of Python instructions, from the location table of code objects (co_linetable)
// since Python 3.11. Objects/locations.md of CPython 3.11 describes the table.
#pragma once

#include <cstdint>
#include <functional>

#include "tracesmith/base/bytes.hpp"

namespace tracesmith::stacks {

/// The source location of instructions [begin, end), in units of two bytes. Lines count from 1;
/// columns count bytes from 0. Unknown values are -1.
struct PythonLocation {
  uint32_t begin = 0;
  uint32_t end = 0;
  int32_t line = -1;
  int32_t end_line = -1;
  int32_t column = -1;
  int32_t end_column = -1;
};

/// Calls `visit` for the table's entries in order until it returns false. Returns false when the
/// table is damaged; the entries visited before the damage are correct.
bool visitPythonLocations(ByteView table, int32_t first_line,
                          const std::function<bool(const PythonLocation&)>& visit);

/// The location of the instruction at `place`; begin == end if there is none.
PythonLocation pythonLocationOf(ByteView table, int32_t first_line, uint32_t place);

}  // namespace tracesmith::stacks
