// SPDX-License-Identifier: Apache-2.0
// The symbol tables of a module, sorted: libdwfl's own look-up goes through all of them each time.
// Only where TRACESMITH_LIBDW is defined.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace tracesmith {

class SymbolIndex {
 public:
  /// `bias`: what libdwfl adds to the addresses of the file. Names live as long as `module`.
  SymbolIndex(Dwfl_Module* module, uint64_t bias);

  /// The function that `address` of the file lies in; "" where there is none.
  std::string_view find(uint64_t address) const;

 private:
  struct Symbol {
    uint64_t begin;
    uint64_t end;    // begin, where the table does not say: up to the next one
    uint64_t reach;  // the largest end up to here
    const char* name;
    uint8_t preference;  // of symbols at one place the most visible one
  };
  std::vector<Symbol> symbols_;
};

}  // namespace tracesmith
