// SPDX-License-Identifier: Apache-2.0
// Names of functions that a program made while it ran, as just-in-time compilers write them down
// for profilers: /tmp/perf-PID.map, a line "START SIZE NAME" for each, the numbers in hexadecimal
// (tools/perf/Documentation/jit-interface.txt of Linux). A compiler appends and never takes back,
// so that of two functions at one place the later one counts.
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
  /// Lines that say nothing are passed over and counted.
  static PerfMap parse(std::string_view text);
  static Result<PerfMap> load(const std::string& path);

  /// "" where no function is; valid as long as this lives.
  std::string_view find(uint64_t address) const;
  size_t functions() const { return names_.size(); }
  size_t badLines() const { return bad_lines_; }

 private:
  struct Piece {
    uint64_t end;
    uint32_t name;
  };
  void put(uint64_t begin, uint64_t end, uint32_t name);

  std::map<uint64_t, Piece> pieces_;  // by begin; none overlaps another
  std::vector<std::string> names_;
  size_t bad_lines_ = 0;
};

}  // namespace tracesmith
