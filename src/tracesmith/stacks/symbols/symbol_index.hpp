// SPDX-License-Identifier: Apache-2.0
// The symbol tables of a module, sorted, because libdwfl's own look-up scans all of them each time.
// Only where TRACESMITH_LIBDW is defined.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace tracesmith {

class SymbolIndex {
 public:
  /// `bias`: what libdwfl adds to the addresses of the file. Names are valid as long as `module`.
  SymbolIndex(Dwfl_Module* module, uint64_t bias);

  /// The function that contains `address` of the file; "" if there is none.
  std::string_view find(uint64_t address) const;

 private:
  struct Symbol {
    uint64_t begin;
    uint64_t end;    // begin, if the table has no size: up to the next one
    uint64_t reach;  // the largest end up to this entry
    const char* name;
    uint8_t preference;  // among symbols at one address the most visible one wins
  };
  std::vector<Symbol> symbols_;
};

}  // namespace tracesmith
