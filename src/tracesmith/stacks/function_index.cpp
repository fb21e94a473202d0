// SPDX-License-Identifier: Apache-2.0
#ifdef TRACESMITH_LIBDW
#include "tracesmith/stacks/function_index.hpp"

#include <dwarf.h>

#include <algorithm>
#include <cstdlib>

namespace tracesmith {
namespace {

constexpr int kDeepest = 256;  // damaged debug information may be its own child

uint32_t number(Dwarf_Die& die, unsigned int attribute) {
  Dwarf_Attribute found;
  Dwarf_Word value = 0;
  if (dwarf_attr(&die, attribute, &found) == nullptr || dwarf_formudata(&found, &value) != 0) {
    return 0;
  }
  return static_cast<uint32_t>(value);
}

/// File and line of the call that was inlined.
void placeOfCall(Dwarf_Die& inlined, Dwarf_Die& unit, RawSymbol& out) {
  out.line = number(inlined, DW_AT_call_line);
  out.file = {};
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_getsrcfiles(&unit, &files, &count) != 0) return;
  const char* const file = dwarf_filesrc(files, number(inlined, DW_AT_call_file), nullptr, nullptr);
  if (file != nullptr) out.file = file;
}

void placeOfAddress(Dwarf_Die& unit, uint64_t address, RawSymbol& out) {
  Dwarf_Line* const line = dwarf_getsrc_die(&unit, address);
  if (line == nullptr) return;
  int n = 0;
  if (dwarf_lineno(line, &n) == 0 && n > 0) out.line = static_cast<uint32_t>(n);
  const char* const file = dwarf_linesrc(line, nullptr, nullptr);
  if (file != nullptr) out.file = file;
}

}  // namespace

FunctionIndex::FunctionIndex(Dwarf* dwarf) : dwarf_(dwarf) {
  Dwarf_CU* cu = nullptr;
  Dwarf_Die die;
  uint8_t type = 0;
  while (dwarf_get_units(dwarf, cu, &cu, nullptr, &type, &die, nullptr) == 0) {
    if (type == DW_UT_type || type == DW_UT_split_type) continue;
    addRanges(die, static_cast<uint32_t>(units_.size()), unit_ranges_);
    units_.push_back({die, false, {}, {}});
  }
  sort(unit_ranges_);
}

void FunctionIndex::addRanges(Dwarf_Die& die, uint32_t index, std::vector<Range>& ranges) {
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0;) {
    // What the linker threw away begins at 0 or at its mark for that.
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

/// The innermost one: the last to begin.
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

void FunctionIndex::list(Unit& unit, Dwarf_Die& parent, int depth) {
  Dwarf_Die child;
  if (depth > kDeepest || dwarf_child(&parent, &child) != 0) return;
  do {
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram:
        addRanges(child, static_cast<uint32_t>(unit.functions.size()), unit.ranges);
        unit.functions.push_back(child);
        break;
      case DW_TAG_namespace:
      case DW_TAG_module:
        list(unit, child, depth + 1);
        break;
      default:
        break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

/// Fills chain_; false when no function of the unit has the address.
bool FunctionIndex::chain(Unit& unit, uint64_t address) {
  chain_.clear();
  if (!unit.listed) {
    list(unit, unit.die, 0);
    sort(unit.ranges);
    unit.listed = true;
  }
  Dwarf_Die scope;
  if (const Range* const range = find(unit.ranges, address); range != nullptr) {
    scope = unit.functions[range->index];
    chain_.push_back(scope);
  } else {
    // Functions within functions, or in units that are imported: rare, and libdw finds them.
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes(&unit.die, address, &scopes);
    for (int i = 0; i < count && chain_.empty(); ++i) {
      if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram) chain_.push_back(scopes[i]);
    }
    std::free(scopes);
    if (chain_.empty()) return false;
    scope = chain_.back();
  }
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

void FunctionIndex::find(uint64_t address, std::vector<RawSymbol>& out) {
  out.clear();
  Unit* const unit = unitOf(address);
  if (unit == nullptr) return;
  RawSymbol place;
  placeOfAddress(unit->die, address, place);
  if (!chain(*unit, address)) {
    if (place.line != 0) out.push_back(place);
    return;
  }
  for (size_t i = chain_.size(); i-- > 0;) {
    place.function = nameOf(chain_[i]);
    out.push_back(place);
    if (i > 0) placeOfCall(chain_[i], unit->die, place);
  }
}

}  // namespace tracesmith
#endif
