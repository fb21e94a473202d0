// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/linux/loaded_modules.hpp"

#include <elf.h>
#include <link.h>
#include <string.h>

namespace tracesmith {
namespace {

uint32_t gnuHashOf(const char* name) {
  uint32_t h = 5381;
  for (; *name != 0; ++name) h = h * 33 + static_cast<uint8_t>(*name);
  return h;
}

uint32_t elfHashOf(const char* name) {
  uint32_t h = 0;
  for (; *name != 0; ++name) {
    h = (h << 4) + static_cast<uint8_t>(*name);
    const uint32_t high = h & 0xf0000000u;
    h = (h ^ (high >> 24)) & ~high;
  }
  return h;
}

/// The dynamic-section tables that describe a module's exports.
struct Exports {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const uint32_t* elf_hash = nullptr;
  const uint16_t* versions = nullptr;
  const char* own_name = nullptr;  // DT_SONAME
  uintptr_t bias = 0;

  explicit Exports(const LoadedModule& module) : bias(module.bias) {
    uintptr_t name_offset = 0;
    for (auto* d = entriesOf(module); d != nullptr && d->d_tag != DT_NULL; ++d) {
      // glibc has added the bias to addresses in writable memory; musl and the vdso have not.
      const uintptr_t raw = d->d_un.d_ptr;
      const auto* const at = reinterpret_cast<const void*>(module.holds(raw) ? raw : raw + bias);
      switch (d->d_tag) {
        case DT_SONAME:
          name_offset = d->d_un.d_val;
          break;
        case DT_SYMTAB:
          symbols = static_cast<const ElfW(Sym)*>(at);
          break;
        case DT_STRTAB:
          names = static_cast<const char*>(at);
          break;
        case DT_GNU_HASH:
          gnu_hash = static_cast<const uint32_t*>(at);
          break;
        case DT_HASH:
          elf_hash = static_cast<const uint32_t*>(at);
          break;
        case DT_VERSYM:
          versions = static_cast<const uint16_t*>(at);
          break;
        default:
          break;
      }
    }
    if (name_offset != 0 && names != nullptr) own_name = names + name_offset;
  }

  static const ElfW(Dyn) * entriesOf(const LoadedModule& module) {
    return static_cast<const ElfW(Dyn)*>(module.dynamic);
  }

  const ElfW(Sym) * definition(uint32_t index, const char* name) const {
    constexpr uint16_t kHidden = 0x8000;
    const ElfW(Sym)& s = symbols[index];
    const uint32_t type = s.st_info & 15;
    if (s.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_OBJECT)) return nullptr;
    if ((s.st_info >> 4) != STB_GLOBAL && (s.st_info >> 4) != STB_WEAK) return nullptr;
    if (versions != nullptr && (versions[index] & kHidden) != 0) return nullptr;
    return strcmp(names + s.st_name, name) == 0 ? &s : nullptr;
  }

  const ElfW(Sym) * find(const char* name) const {
    if (symbols == nullptr || names == nullptr) return nullptr;
    if (gnu_hash != nullptr) return findByGnuHash(name);
    return elf_hash != nullptr ? findByElfHash(name) : nullptr;
  }

  const ElfW(Sym) * findByGnuHash(const char* name) const {
    // buckets, first symbol, Bloom words, Bloom shift; Bloom filter; buckets; chains
    const uint32_t buckets = gnu_hash[0];
    const uint32_t first = gnu_hash[1];
    if (buckets == 0) return nullptr;
    const uint32_t* const bucket = gnu_hash + 4 + gnu_hash[2] * (sizeof(ElfW(Addr)) / 4);
    const uint32_t* const chain = bucket + buckets;
    const uint32_t hash = gnuHashOf(name);
    uint32_t i = bucket[hash % buckets];
    if (i < first) return nullptr;
    for (;; ++i) {
      const uint32_t its = chain[i - first];
      if ((its | 1) == (hash | 1)) {
        if (const auto* const found = definition(i, name)) return found;
      }
      if ((its & 1) != 0) return nullptr;
    }
  }

  const ElfW(Sym) * findByElfHash(const char* name) const {
    const uint32_t buckets = elf_hash[0];
    if (buckets == 0) return nullptr;
    const uint32_t* const chain = elf_hash + 2 + buckets;
    for (uint32_t i = elf_hash[2 + elfHashOf(name) % buckets]; i != 0; i = chain[i]) {
      if (const auto* const found = definition(i, name)) return found;
    }
    return nullptr;
  }
};

struct Visitor {
  bool (*visit)(const LoadedModule&, void*);
  void* state;
};

int visitOne(dl_phdr_info* info, size_t, void* state) {
  LoadedModule m;
  m.path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  m.bias = info->dlpi_addr;
  m.begin = UINTPTR_MAX;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = info->dlpi_phdr[i];
    const uintptr_t at = info->dlpi_addr + p.p_vaddr;
    if (p.p_type == PT_DYNAMIC) m.dynamic = reinterpret_cast<const void*>(at);
    if (p.p_type != PT_LOAD) continue;
    if (at < m.begin) m.begin = at;
    if (at + p.p_memsz > m.end) m.end = at + p.p_memsz;
  }
  if (m.end == 0) return 0;
  const auto* const visitor = static_cast<const Visitor*>(state);
  return visitor->visit(m, visitor->state) ? 1 : 0;
}

}  // namespace

bool anyModule(bool (*visit)(const LoadedModule&, void*), void* state) {
  Visitor visitor{visit, state};
  return dl_iterate_phdr(visitOne, &visitor) != 0;
}

LoadCounts loadCounts() {
  LoadCounts counts;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        *static_cast<LoadCounts*>(out) = {info->dlpi_adds, info->dlpi_subs};
        return 1;
      },
      &counts);
  return counts;
}

bool findModule(const void* address, LoadedModule& out) {
  return anyModule([&](const LoadedModule& module) {
    if (!module.holds(reinterpret_cast<uintptr_t>(address))) return false;
    out = module;
    return true;
  });
}

void* findExport(const LoadedModule& module, const char* name) {
  const Exports e(module);
  const ElfW(Sym)* const found = e.find(name);
  if (found == nullptr || (found->st_info & 15) != STT_FUNC) return nullptr;
  return reinterpret_cast<void*>(e.bias + found->st_value);
}

bool findDefinition(const LoadedModule& module, const char* name, Definition& out) {
  const Exports e(module);
  const ElfW(Sym)* const found = e.find(name);
  if (found == nullptr) return false;
  out = {reinterpret_cast<void*>(e.bias + found->st_value), found->st_size};
  return true;
}

void* findExportAnywhere(const char* name) {
  void* found = nullptr;
  anyModule([&](const LoadedModule& module) {
    found = findExport(module, name);
    return found != nullptr;
  });
  return found;
}

namespace {

/// Whether a module was loaded for a dependency of this name.
bool isNamed(const LoadedModule& module, const char* name) {
  if (strcmp(module.path, name) == 0) return true;
  if (const char* const own = Exports(module).own_name; own != nullptr && strcmp(own, name) == 0) {
    return true;
  }
  const char* const slash = strrchr(module.path, '/');
  return slash != nullptr && strcmp(slash + 1, name) == 0;
}

}  // namespace

size_t modulesInScopeOf(const LoadedModule& module, LoadedModule* out, size_t most) {
  if (most == 0) return 0;
  out[0] = module;
  size_t count = 1;
  for (size_t i = 0; i < count; ++i) {
    const char* const names = Exports(out[i]).names;
    const auto* d = names == nullptr ? nullptr : Exports::entriesOf(out[i]);
    for (; d != nullptr && d->d_tag != DT_NULL && count < most; ++d) {
      if (d->d_tag != DT_NEEDED) continue;
      LoadedModule needed;
      const bool there = anyModule([&](const LoadedModule& each) {
        needed = each;
        return isNamed(each, names + d->d_un.d_val);
      });
      bool again = !there;
      for (size_t j = 0; j < count && !again; ++j) again = out[j].begin == needed.begin;
      if (!again) out[count++] = needed;
    }
  }
  return count;
}

bool holdsText(const LoadedModule& module, const char* text, size_t bytes) {
  struct Search {
    uintptr_t begin;
    const char* text;
    size_t bytes;
    bool found;
  } search{module.begin, text, bytes, false};
  const auto look = [](dl_phdr_info* info, size_t, void* state) {
    auto& s = *static_cast<Search*>(state);
    bool its = false;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& p = info->dlpi_phdr[i];
      its = its || (p.p_type == PT_LOAD && info->dlpi_addr + p.p_vaddr == s.begin);
    }
    for (int i = 0; its && i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& p = info->dlpi_phdr[i];
      if (p.p_type != PT_LOAD || (p.p_flags & (PF_R | PF_W)) != PF_R) continue;
      const auto* at = reinterpret_cast<const char*>(info->dlpi_addr + p.p_vaddr);
      const char* const end = at + p.p_filesz;
      while (static_cast<size_t>(end - at) >= s.bytes) {
        at = static_cast<const char*>(memchr(at, s.text[0], end - at - s.bytes + 1));
        if (at == nullptr) break;
        if (memcmp(at, s.text, s.bytes) == 0) {
          s.found = true;
          return 1;
        }
        ++at;
      }
    }
    return its ? 1 : 0;
  };
  dl_iterate_phdr(look, &search);
  return search.found;
}

void* findExportAfter(const void* after, const char* name) {
  bool behind = false;
  void* found = nullptr;
  anyModule([&](const LoadedModule& module) {
    if (behind) found = findExport(module, name);
    behind = behind || module.holds(reinterpret_cast<uintptr_t>(after));
    return found != nullptr;
  });
  return found;
}

}  // namespace tracesmith
