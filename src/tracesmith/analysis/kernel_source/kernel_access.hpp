// SPDX-License-Identifier: Apache-2.0
// Which of its arguments a kernel reads and which it writes, by its OpenCL C source. Where a
// pointer goes is followed through variables, casts, arithmetic and calls; what cannot be followed
// is said to be anything.
#pragma once

#include <cstdint>
#include <span>
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
  /// Arguments whose values decide what is done, in order: with these it may be less.
  std::vector<size_t> decided_by;
};

/// The bytes of arguments that are values, by argument; empty: not known.
using ArgumentBytes = std::vector<std::span<const uint8_t>>;

/// The kernels of one program. Time and memory linear in its source.
class ProgramAccess {
 public:
  ProgramAccess(std::string_view source, std::string_view options, const IncludedFiles& files = {});
  ~ProgramAccess();
  ProgramAccess(ProgramAccess&&) noexcept;
  ProgramAccess& operator=(ProgramAccess&&) noexcept;

  /// What it does in any of the ways in which the source could have been compiled, without the
  /// branches that `values` do not take. Values of what the kernel calls are not followed.
  KernelAccess kernel(std::string_view name, const ArgumentBytes& values = {});

 private:
  class Unit;
  std::vector<SourceTokens> tokens_;
  std::vector<Unit> units_;
};

}  // namespace tracesmith::races
