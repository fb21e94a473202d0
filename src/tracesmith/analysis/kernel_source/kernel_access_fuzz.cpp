// SPDX-License-Identifier: Apache-2.0
// Uses any text as a kernel's source, and as the body of a kernel whose last statement writes its
// argument. Whatever precedes it, the analysis must see the write or report unknown.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tracesmith/analysis/kernel_source/kernel_access.hpp"

using namespace tracesmith::races;  // NOLINT: a program of few functions

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1u << 16) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t options_end = std::min(all.find('\n'), all.size());
  const std::string_view options = all.substr(0, options_end);
  const std::string source(all.substr(options_end));
  const auto writes = [&](const std::string& text, std::string_view given) {
    const KernelAccess access = ProgramAccess(text, given).kernel("k");
    return !access.is_known || access.arguments.empty() || access.arguments.back().writes;
  };
  (void)ProgramAccess(source, options).kernel("k");
  // Only if nothing can turn the last statement into something else.
  if (source.find_first_of("#\"'\\{}/") == std::string::npos && source.find("k") == source.npos &&
      source.find("p") == source.npos) {
    if (!writes("kernel void k(global int* p) { " + source + " ; p[0] = 1; }", "")) std::abort();
  }
  return 0;
}
