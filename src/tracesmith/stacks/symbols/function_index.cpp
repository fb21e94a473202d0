// SPDX-License-Identifier: Apache-2.0
#ifdef TRACESMITH_LIBDW
#include "tracesmith/stacks/symbols/function_index.hpp"

#include <dwarf.h>

#include <algorithm>

namespace tracesmith {
namespace {

constexpr int kDeepest = 256;  // limit: damaged debug information may contain itself

uint32_t number(Dwarf_Die& die, unsigned int attribute) {
  Dwarf_Attribute found;
  Dwarf_Word value = 0;
  if (dwarf_attr(&die, attribute, &found) == nullptr || dwarf_formudata(&found, &value) != 0) {
    return 0;
  }
  return static_cast<uint32_t>(value);
}

}  // namespace

FunctionIndex::FunctionIndex(Dwarf* dwarf) {
  Dwarf_CU* cu = nullptr;
  Dwarf_Die die;
  uint8_t type = 0;
  while (dwarf_get_units(dwarf, cu, &cu, nullptr, &type, &die, nullptr) == 0) {
    if (type == DW_UT_type || type == DW_UT_split_type) continue;
    addRanges(die, static_cast<uint32_t>(units_.size()), unit_ranges_);
    units_.push_back({die, Listed::kNothing, {}, {}, {}});
  }
  sort(unit_ranges_);
}

void FunctionIndex::addRanges(Dwarf_Die& die, uint32_t index, std::vector<Range>& ranges) {
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0;) {
    // Functions that the linker removed start at 0 or at a special mark.
    if (begin != 0 && begin < end) ranges.push_back({begin, end, 0, index});
  }
}

void FunctionIndex::sort(std::vector<Range>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  uint64_t reach = 0;
  for (Range& range : ranges) range.reach = reach = std::max(reach, range.end);
}

/// Finds the innermost range: the one that starts last.
const FunctionIndex::Range* FunctionIndex::find(const std::vector<Range>& ranges,
                                                uint64_t address) {
  auto it =
      std::upper_bound(ranges.begin(), ranges.end(), address,
                       [](uint64_t wanted, const Range& range) { return wanted < range.begin; });
  while (it != ranges.begin() && std::prev(it)->reach > address) {
    --it;
    if (address < it->end) return &*it;
  }
  return nullptr;
}

FunctionIndex::Unit* FunctionIndex::unitOf(uint64_t address) {
  const Range* const range = find(unit_ranges_, address);
  return range == nullptr ? nullptr : &units_[range->index];
}

void FunctionIndex::list(Unit& unit, Dwarf_Die& parent, Listed how, int depth) {
  Dwarf_Die child;
  if (depth > kDeepest || dwarf_child(&parent, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    const bool outside = tag == DW_TAG_namespace || tag == DW_TAG_module;
    if (tag == DW_TAG_subprogram) {
      addRanges(child, static_cast<uint32_t>(unit.functions.size()), unit.ranges);
      unit.functions.push_back(child);
    }
    if (outside || how == Listed::kAll) list(unit, child, how, depth + 1);
  } while (dwarf_siblingof(&child, &child) == 0);
}

/// nullptr when no function of the unit has the address.
Dwarf_Die* FunctionIndex::functionOf(Unit& unit, uint64_t address) {
  for (const Listed how : {Listed::kOutside, Listed::kAll}) {
    if (unit.listed < how) {
      // Members of classes inside functions, such as lambdas, are rare. The whole unit is listed
      // only when no other function has the address.
      unit.ranges.clear();
      unit.functions.clear();
      list(unit, unit.die, how, 0);
      sort(unit.ranges);
      unit.listed = how;
    }
    if (const Range* const range = find(unit.ranges, address); range != nullptr) {
      return &unit.functions[range->index];
    }
  }
  return nullptr;
}

/// Fills chain_; false when no function of the unit has the address.
bool FunctionIndex::chain(Unit& unit, uint64_t address) {
  chain_.clear();
  const Dwarf_Die* const function = functionOf(unit, address);
  if (function == nullptr) return false;
  Dwarf_Die scope = *function;
  chain_.push_back(scope);
  for (int depth = 0; depth < kDeepest; ++depth) {
    Dwarf_Die child;
    bool deeper = false;
    if (dwarf_child(&scope, &child) != 0) break;
    do {
      const int tag = dwarf_tag(&child);
      const bool inlined = tag == DW_TAG_inlined_subroutine;
      if (!inlined && tag != DW_TAG_lexical_block && tag != DW_TAG_try_block &&
          tag != DW_TAG_catch_block) {
        continue;
      }
      if (dwarf_haspc(&child, address) != 1) continue;
      scope = child;
      if (inlined) chain_.push_back(child);
      deeper = true;
      break;
    } while (dwarf_siblingof(&child, &child) == 0);
    if (!deeper) break;
  }
  return true;
}

std::string_view FunctionIndex::nameOf(Dwarf_Die& die) {
  const auto [it, fresh] = names_.try_emplace(dwarf_dieoffset(&die));
  if (!fresh) return it->second;
  for (const unsigned int attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
    Dwarf_Attribute found;
    const char* const name = dwarf_formstring(dwarf_attr_integrate(&die, attribute, &found));
    if (name != nullptr && *name != '\0') {
      it->second = name;
      break;
    }
  }
  return it->second;
}

/// Prefixed with the compilation directory unless the path is absolute.
std::string_view FunctionIndex::pathOf(Unit& unit, const char* file) {
  if (file == nullptr || *file == '/') return file == nullptr ? std::string_view{} : file;
  const auto [it, fresh] = unit.paths.try_emplace(file);
  if (fresh) {
    Dwarf_Attribute found;
    const char* const folder = dwarf_formstring(dwarf_attr(&unit.die, DW_AT_comp_dir, &found));
    it->second = folder == nullptr ? file : std::string(folder) + "/" + file;
  }
  return it->second;
}

/// Sets file and line of the inlined call.
void FunctionIndex::placeOfCall(Dwarf_Die& inlined, Unit& unit, RawSymbol& out) {
  out.line = number(inlined, DW_AT_call_line);
  out.file = {};
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_getsrcfiles(&unit.die, &files, &count) != 0) return;
  out.file = pathOf(unit, dwarf_filesrc(files, number(inlined, DW_AT_call_file), nullptr, nullptr));
}

void FunctionIndex::placeOfAddress(Unit& unit, uint64_t address, RawSymbol& out) {
  Dwarf_Line* const line = dwarf_getsrc_die(&unit.die, address);
  if (line == nullptr) return;
  int n = 0;
  if (dwarf_lineno(line, &n) == 0 && n > 0) out.line = static_cast<uint32_t>(n);
  out.file = pathOf(unit, dwarf_linesrc(line, nullptr, nullptr));
}

void FunctionIndex::find(uint64_t address, std::vector<RawSymbol>& out) {
  out.clear();
  Unit* const unit = unitOf(address);
  if (unit == nullptr) return;
  RawSymbol place;
  placeOfAddress(*unit, address, place);
  if (!chain(*unit, address)) {
    if (place.line != 0) out.push_back(place);
    return;
  }
  for (size_t i = chain_.size(); i-- > 0;) {
    place.function = nameOf(chain_[i]);
    out.push_back(place);
    if (i > 0) placeOfCall(chain_[i], *unit, place);
  }
}

}  // namespace tracesmith
#endif
