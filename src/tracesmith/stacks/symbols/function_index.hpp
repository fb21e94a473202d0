// SPDX-License-Identifier: Apache-2.0
// The functions that the debug information of a module describes, by address. libdw's own look-up
// needs .debug_aranges, which clang does not write, and goes through all of a compilation unit each
// time; here a unit's functions are listed once, when an address of it is first asked for.
// Only where TRACESMITH_LIBDW is defined.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/stacks/symbols/module_symbols.hpp"

namespace tracesmith {

class FunctionIndex {
 public:
  /// Names and files live as long as `dwarf`, which must outlive this.
  explicit FunctionIndex(Dwarf* dwarf);

  /// As ModuleSymbols::find(), the names where the debug information has them.
  void find(uint64_t address, std::vector<RawSymbol>& out);

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
    uint64_t reach;  // the largest end up to here
    uint32_t index;  // of a unit, or of a function of it
  };
  enum class Listed : uint8_t { kNothing, kOutside, kAll };  // kOutside: not those in functions
  struct Unit {
    Dwarf_Die die;
    Listed listed = Listed::kNothing;
    std::vector<Range> ranges;
    std::vector<Dwarf_Die> functions;
    std::unordered_map<const char*, std::string> paths;  // of files that are named relatively
  };

  static void addRanges(Dwarf_Die& die, uint32_t index, std::vector<Range>& ranges);
  static void sort(std::vector<Range>& ranges);
  static const Range* find(const std::vector<Range>& ranges, uint64_t address);
  Unit* unitOf(uint64_t address);
  void list(Unit& unit, Dwarf_Die& parent, Listed how, int depth);
  Dwarf_Die* functionOf(Unit& unit, uint64_t address);
  bool chain(Unit& unit, uint64_t address);
  std::string_view nameOf(Dwarf_Die& die);
  std::string_view pathOf(Unit& unit, const char* file);
  void placeOfCall(Dwarf_Die& inlined, Unit& unit, RawSymbol& out);
  void placeOfAddress(Unit& unit, uint64_t address, RawSymbol& out);

  std::vector<Unit> units_;
  std::vector<Range> unit_ranges_;
  std::vector<Dwarf_Die> chain_;  // of the last look-up: the function, then what is inlined in it
  std::unordered_map<uint64_t, std::string_view> names_;  // by place of the entry
};

}  // namespace tracesmith
