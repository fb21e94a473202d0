// SPDX-License-Identifier: Apache-2.0
// Names of functions that a program generated at run time. Just-in-time compilers write them for
// profilers to /tmp/perf-PID.map: a line "START SIZE NAME" for each function, the numbers in
// hexadecimal (tools/perf/Documentation/jit-interface.txt of Linux). Compilers only append, so the
// later of two functions at one address applies.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

class PerfMap {
 public:
  /// Skips and counts invalid lines.
  static PerfMap parse(std::string_view text);
  static Result<PerfMap> load(const std::string& path);

  /// "" if there is no function; valid as long as this object.
  std::string_view find(uint64_t address) const;
  size_t functions() const { return names_.size(); }
  size_t badLines() const { return bad_lines_; }

 private:
  struct Piece {
    uint64_t end;
    uint32_t name;
  };
  void put(uint64_t begin, uint64_t end, uint32_t name);

  std::map<uint64_t, Piece> pieces_;  // by start address; no two overlap
  std::vector<std::string> names_;
  size_t bad_lines_ = 0;
};

}  // namespace tracesmith
