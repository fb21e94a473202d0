// SPDX-License-Identifier: Apache-2.0
// Where in its source a Python instruction comes from: the location table of code objects
// (co_linetable) since Python 3.11. Objects/locations.md of CPython 3.11 describes it.
#pragma once

#include <cstdint>
#include <functional>

#include "tracesmith/base/bytes.hpp"

namespace tracesmith::stacks {

/// What instructions [begin, end) come from; in units of two bytes. Lines count from 1, columns, in
/// bytes, from 0. What is not known is -1.
struct PythonLocation {
  uint32_t begin = 0;
  uint32_t end = 0;
  int32_t line = -1;
  int32_t end_line = -1;
  int32_t column = -1;
  int32_t end_column = -1;
};

/// Calls `visit` for the table's entries in turn until it returns false. Returns whether all of the
/// table made sense; what was visited before it did not is right.
bool visitPythonLocations(ByteView table, int32_t first_line,
                          const std::function<bool(const PythonLocation&)>& visit);

/// The location of the instruction at `place`; one with begin == end where there is none.
PythonLocation pythonLocationOf(ByteView table, int32_t first_line, uint32_t place);

}  // namespace tracesmith::stacks
