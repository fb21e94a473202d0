// SPDX-License-Identifier: Apache-2.0
// For tests: an instrumented program written by hand.
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/bytes.hpp"

namespace tracesmith::test {

/// The parts of an instrumented program that are read: sections, a sled map, symbols.
class XRayProgram {
 public:
  /// Adds a sled of the function at `function`; addresses are relative to their own position.
  XRayProgram& sled(uint64_t function) {
    const uint64_t at = kMapAddress + map_.size();
    putFixed(map_, function - at);
    putFixed(map_, function - (at + 8));
    putFixed(map_, uint16_t{0});  // kind, always instrumented
    map_.push_back(2);            // version
    map_.resize(map_.size() + 13);
    return *this;
  }
  XRayProgram& symbol(std::string_view name, uint64_t address, unsigned char binding = STB_GLOBAL,
                      unsigned char type = STT_FUNC) {
    Elf64_Sym s{};
    s.st_name = static_cast<Elf64_Word>(strings_.size());
    s.st_info = static_cast<unsigned char>(ELF64_ST_INFO(binding, type));
    s.st_shndx = 1;
    s.st_value = address;
    putFixed(symbols_, s);
    strings_.append(name).push_back('\0');
    return *this;
  }
  Bytes bytes(std::string_view map_name = "xray_instr_map") const {
    Bytes out(sizeof(Elf64_Ehdr));
    std::string names(1, '\0');
    std::vector<Elf64_Shdr> sections(1);
    const auto add = [&](std::string_view name, Elf64_Word type, ByteView content,
                         Elf64_Word link = 0) {
      Elf64_Shdr s{};
      s.sh_name = static_cast<Elf64_Word>(names.size());
      s.sh_type = type;
      s.sh_addr = type == SHT_PROGBITS ? kMapAddress : 0;
      s.sh_offset = out.size();
      s.sh_size = content.size();
      s.sh_link = link;
      names.append(name).push_back('\0');
      out.insert(out.end(), content.begin(), content.end());
      sections.push_back(s);
    };
    add(map_name, SHT_PROGBITS, map_);
    add(".symtab", SHT_SYMTAB, symbols_, 3);
    add(".strtab", SHT_STRTAB, asBytes(strings_));
    add(".shstrtab", SHT_STRTAB, asBytes(names + ".shstrtab"));
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_DYN;
    header.e_shoff = out.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(sections.size());
    header.e_shstrndx = 4;
    for (const Elf64_Shdr& s : sections) putFixed(out, s);
    std::memcpy(out.data(), &header, sizeof header);
    return out;
  }

 private:
  static constexpr uint64_t kMapAddress = 0x2000;

  Bytes map_, symbols_;
  std::string strings_ = std::string(1, '\0');
};

}  // namespace tracesmith::test
