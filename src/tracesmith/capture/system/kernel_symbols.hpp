// SPDX-License-Identifier: Apache-2.0
// Names of the kernel's functions, from /proc/kallsyms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tracesmith {

class KernelSymbols {
 public:
  /// Empty where this process may not see addresses (kernel.kptr_restrict).
  static KernelSymbols read(const std::string& path = "/proc/kallsyms");
  /// Whether this process may see addresses.
  static bool areVisible();

  struct Symbol {
    const char* name = "";
    const char* module = "";  ///< "": the kernel itself
    uint64_t begin = 0;
  };
  /// The function that has this address; its name is "" if it is unknown.
  Symbol find(uint64_t address) const;
  size_t size() const { return symbols_.size(); }

 private:
  struct Entry {
    uint64_t begin;
    uint32_t name, module;  // in texts_
  };
  std::vector<Entry> symbols_;  // by address
  std::string texts_;           // each ends with a zero
};

}  // namespace tracesmith
