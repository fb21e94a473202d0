// SPDX-License-Identifier: Apache-2.0
// Frames in code that a program generated at run time: which process it belongs to, and its name
// from the compiler.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/stacks/symbols/module_files.hpp"
#include "tracesmith/stacks/symbols/perf_map.hpp"

namespace tracesmith {

/// Whether a mapping is not a file: "[anon:…]", "//anon", "[heap]".
bool isAnonymousMapping(std::string_view module);

class JitCode {
 public:
  /// `dir`: folder of the perf maps. `trace` must outlive this object.
  JitCode(const Trace& trace, std::string dir);

  /// "" and the reason in `why` when no name is known; valid as long as this object.
  std::string_view find(FrameId frame, uint64_t address, NoSymbol& why);

 private:
  const std::optional<PerfMap>& mapOf(ProcessId process);

  const Trace& trace_;
  std::string dir_;
  std::vector<uint32_t> owners_;  // of each frame: its ProcessId, 0, or kMany
  std::map<ProcessId, std::optional<PerfMap>> maps_;
};

}  // namespace tracesmith
