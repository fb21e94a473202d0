// SPDX-License-Identifier: Apache-2.0
// The functions in a module's debug information, by address. libdw's own look-up needs
// .debug_aranges, which clang does not write, and scans a whole compilation unit each time. This
// index lists a unit's functions once, when one of its addresses is first looked up.
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
  /// Names and files are valid as long as `dwarf`, which must outlive this object.
  explicit FunctionIndex(Dwarf* dwarf);

  /// Like ModuleSymbols::find(), with names where the debug information has them.
  void find(uint64_t address, std::vector<RawSymbol>& out);

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
    uint64_t reach;  // the largest end up to this entry
    uint32_t index;  // of a unit, or of a function in it
  };
  enum class Listed : uint8_t { kNothing, kOutside, kAll };  // kOutside: not those in functions
  struct Unit {
    Dwarf_Die die;
    Listed listed = Listed::kNothing;
    std::vector<Range> ranges;
    std::vector<Dwarf_Die> functions;
    std::unordered_map<const char*, std::string> paths;  // of files with relative names
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
  std::vector<Dwarf_Die> chain_;  // last look-up: the function, then those inlined in it
  std::unordered_map<uint64_t, std::string_view> names_;  // by offset of the entry
};

}  // namespace tracesmith
