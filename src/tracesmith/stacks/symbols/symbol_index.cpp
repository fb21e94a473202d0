// SPDX-License-Identifier: Apache-2.0
#ifdef TRACESMITH_LIBDW
#include "tracesmith/stacks/symbols/symbol_index.hpp"

#include <algorithm>
#include <tuple>

namespace tracesmith {
namespace {

/// Higher is better: names from the source are preferred to generated ones.
uint8_t preferenceOf(const GElf_Sym& symbol) {
  const int type = GELF_ST_TYPE(symbol.st_info);
  const int bind = GELF_ST_BIND(symbol.st_info);
  const uint8_t by_type = type == STT_FUNC || type == STT_GNU_IFUNC ? 4 : 0;
  const uint8_t by_bind = bind == STB_GLOBAL ? 2 : bind == STB_WEAK ? 1 : 0;
  return by_type + by_bind;
}

bool isCode(Dwfl_Module* module, const GElf_Sym& symbol, GElf_Word section, Elf* elf) {
  const int type = GELF_ST_TYPE(symbol.st_info);
  if (section == SHN_UNDEF || section == SHN_ABS || section == SHN_COMMON) return false;
  if (type == STT_FUNC || type == STT_GNU_IFUNC) return true;
  if (type != STT_NOTYPE || module == nullptr || elf == nullptr) return false;
  // Labels in assembler code count as functions if they are in a code section.
  Elf_Scn* const scn = elf_getscn(elf, section);
  GElf_Shdr header;
  return scn != nullptr && gelf_getshdr(scn, &header) != nullptr &&
         (header.sh_flags & SHF_EXECINSTR) != 0;
}

}  // namespace

SymbolIndex::SymbolIndex(Dwfl_Module* module, uint64_t bias) {
  const int count = dwfl_module_getsymtab(module);
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section = 0;
    Elf* elf = nullptr;
    const char* const name =
        dwfl_module_getsym_info(module, i, &symbol, &address, &section, &elf, nullptr);
    if (name == nullptr || *name == '\0' || *name == '$' || !isCode(module, symbol, section, elf)) {
      continue;
    }
    const uint64_t begin = address - bias;
    uint64_t end = 0;
    if (__builtin_add_overflow(begin, symbol.st_size, &end)) continue;
    symbols_.push_back({begin, end, 0, name, preferenceOf(symbol)});
  }
  std::stable_sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    return std::tie(a.begin, a.preference) < std::tie(b.begin, b.preference);
  });
  uint64_t next = ~uint64_t{0};
  for (size_t i = symbols_.size(); i-- > 0;) {
    if (i + 1 < symbols_.size() && symbols_[i + 1].begin != symbols_[i].begin) {
      next = symbols_[i + 1].begin;
    }
    if (symbols_[i].end == symbols_[i].begin) symbols_[i].end = next;
  }
  uint64_t reach = 0;
  for (Symbol& symbol : symbols_) symbol.reach = reach = std::max(reach, symbol.end);
}

std::string_view SymbolIndex::find(uint64_t address) const {
  auto it =
      std::upper_bound(symbols_.begin(), symbols_.end(), address,
                       [](uint64_t wanted, const Symbol& symbol) { return wanted < symbol.begin; });
  while (it != symbols_.begin() && std::prev(it)->reach > address) {
    --it;
    if (address < it->end) return it->name;
  }
  return {};
}

}  // namespace tracesmith
#endif
