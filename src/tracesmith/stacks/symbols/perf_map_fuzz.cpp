// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as a perf map, compared with a reader that keeps every line and uses the last one
// that fits.
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "tracesmith/stacks/symbols/perf_map.hpp"

using namespace tracesmith;  // NOLINT: a program of one function

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const PerfMap map = PerfMap::parse(text);
  if (map.functions() + map.badLines() > size) std::abort();
  // Each line alone is a map of at most one function. All of them together give the last that fits.
  std::vector<PerfMap> lines;
  std::istringstream in(text);
  size_t functions = 0;
  for (std::string line; lines.size() < 64 && std::getline(in, line);) {
    lines.push_back(PerfMap::parse(line));
    functions += lines.back().functions();
  }
  if (!in.eof()) return 0;
  if (functions != map.functions()) std::abort();
  for (uint64_t address :
       {uint64_t{0}, uint64_t{1}, uint64_t{16}, uint64_t{0x1000}, ~uint64_t{0}}) {
    std::string_view last;
    for (const PerfMap& line : lines) {
      if (const std::string_view name = line.find(address); !name.empty()) last = name;
    }
    if (map.find(address) != last) std::abort();
  }
  return 0;
}
