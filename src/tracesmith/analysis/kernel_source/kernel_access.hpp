// SPDX-License-Identifier: Apache-2.0
// Determines from OpenCL C source which of its arguments a kernel reads and writes. Follows
// pointers through variables, casts, arithmetic and calls. A pointer that cannot be followed is
// assumed to be read and written.
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
  bool is_sure = false;  ///< false: unknown, so it may be both read and written
  /// Memory reached through pointers stored in the argument's memory, as in `list->next->value =
  /// 1`.
  bool reads_indirectly = false;
  bool writes_indirectly = false;
  friend bool operator==(const ArgumentAccess&, const ArgumentAccess&) = default;
};

/// By argument; arguments that are not global memory are neither read nor written.
struct KernelAccess {
  bool is_known = false;  ///< false: even the number of arguments is unknown
  std::vector<ArgumentAccess> arguments;
  /// Arguments whose values decide which code runs, in order. With known values the kernel may
  /// access less.
  std::vector<size_t> decided_by;
};

/// The bytes of arguments passed by value, by argument; empty: unknown.
using ArgumentBytes = std::vector<std::span<const uint8_t>>;

/// Analyses the kernels of one program. Time and memory are linear in the size of its source.
class ProgramAccess {
 public:
  ProgramAccess(std::string_view source, std::string_view options, const IncludedFiles& files = {});
  ~ProgramAccess();
  ProgramAccess(ProgramAccess&&) noexcept;
  ProgramAccess& operator=(ProgramAccess&&) noexcept;

  /// Accesses of kernel `name` over all ways in which the source may have been compiled, without
  /// the branches that `values` exclude. Values are not followed into functions that the kernel
  /// calls.
  KernelAccess kernel(std::string_view name, const ArgumentBytes& values = {});

 private:
  class Unit;
  std::vector<SourceTokens> tokens_;
  std::vector<Unit> units_;
};

}  // namespace tracesmith::races
