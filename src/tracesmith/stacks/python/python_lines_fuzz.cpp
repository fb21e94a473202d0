// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as the location table of a code object, also truncated.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tracesmith/stacks/python/python_lines.hpp"

using namespace tracesmith;  // NOLINT: a program of one function

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  int32_t first_line = 0;
  if (size < sizeof first_line + 1) return 0;
  std::memcpy(&first_line, data, sizeof first_line);
  const uint32_t wanted = data[sizeof first_line];
  const ByteView table(data + sizeof first_line + 1, size - sizeof first_line - 1);
  uint32_t place = 0;
  size_t entries = 0;
  stacks::PythonLocation expected;
  const bool whole =
      stacks::visitPythonLocations(table, first_line, [&](const stacks::PythonLocation& at) {
        // Entries follow each other without gaps, and none is longer than eight instructions.
        if (at.begin != place || at.end <= at.begin || at.end - at.begin > 8) std::abort();
        if (wanted >= at.begin && wanted < at.end) expected = at;
        place = at.end;
        ++entries;
        return true;
      });
  if (entries > table.size() || (whole && entries == 0 && !table.empty())) std::abort();
  const stacks::PythonLocation found = stacks::pythonLocationOf(table, first_line, wanted);
  if (found.begin != expected.begin || found.end != expected.end || found.line != expected.line) {
    std::abort();
  }
  return 0;
}
