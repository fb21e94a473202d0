// SPDX-License-Identifier: Apache-2.0
// Which of its arguments a kernel reads and which it writes, by its OpenCL C source. Where a
// pointer goes is followed through variables, casts, arithmetic and calls; what cannot be followed
// is said to be anything.
#pragma once

#include <string_view>
#include <vector>

#include "tracesmith/analysis/kernel_source/source_tokens.hpp"

namespace tracesmith::races {

struct ArgumentAccess {
  bool reads = true;
  bool writes = true;
  bool is_sure = false;  ///< false: nothing is known, so that it may do both
  /// Memory behind pointers that lie in the argument's memory, as in `list->next->value = 1`.
  bool reads_behind = false;
  bool writes_behind = false;
  friend bool operator==(const ArgumentAccess&, const ArgumentAccess&) = default;
};

/// By argument; of arguments that are no global memory, neither.
struct KernelAccess {
  bool is_known = false;  ///< false: not even how many arguments there are
  std::vector<ArgumentAccess> arguments;
};

/// The kernels of one program. Time and memory linear in its source.
class ProgramAccess {
 public:
  ProgramAccess(std::string_view source, std::string_view options, const IncludedFiles& files = {});
  ~ProgramAccess();
  ProgramAccess(ProgramAccess&&) noexcept;
  ProgramAccess& operator=(ProgramAccess&&) noexcept;

  /// What it does in any of the ways in which the source could have been compiled.
  KernelAccess kernel(std::string_view name);

 private:
  class Unit;
  std::vector<SourceTokens> tokens_;
  std::vector<Unit> units_;
};

}  // namespace tracesmith::races
