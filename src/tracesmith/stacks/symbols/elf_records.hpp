// SPDX-License-Identifier: Apache-2.0
// What is read of a 64-bit ELF file, also where the system has no <elf.h>. From: Tool Interface
// Standard (TIS), Executable and Linking Format, and its 64-bit variant in the System V ABI.
#pragma once

#include <cstdint>

namespace tracesmith::elf {

struct Header {
  uint8_t e_ident[16];
  uint16_t e_type;
  uint16_t e_machine;
  uint32_t e_version;
  uint64_t e_entry;
  uint64_t e_phoff;
  uint64_t e_shoff;
  uint32_t e_flags;
  uint16_t e_ehsize;
  uint16_t e_phentsize;
  uint16_t e_phnum;
  uint16_t e_shentsize;
  uint16_t e_shnum;
  uint16_t e_shstrndx;
};
static_assert(sizeof(Header) == 64);

struct Section {
  uint32_t sh_name;
  uint32_t sh_type;
  uint64_t sh_flags;
  uint64_t sh_addr;
  uint64_t sh_offset;
  uint64_t sh_size;
  uint32_t sh_link;
  uint32_t sh_info;
  uint64_t sh_addralign;
  uint64_t sh_entsize;
};
static_assert(sizeof(Section) == 64);

struct Symbol {
  uint32_t st_name;
  uint8_t st_info;
  uint8_t st_other;
  uint16_t st_shndx;
  uint64_t st_value;
  uint64_t st_size;
};
static_assert(sizeof(Symbol) == 24);

constexpr char kMagic[] = {0x7f, 'E', 'L', 'F'};
constexpr int kClassAt = 4;  // in e_ident
constexpr int kDataAt = 5;
constexpr uint8_t kClass64 = 2;
constexpr uint8_t kLittleEndian = 1;
constexpr uint32_t kNoBits = 8;     // sh_type: the section takes no room in the file
constexpr uint16_t kUndefined = 0;  // st_shndx: defined elsewhere
constexpr uint16_t kMoreSections =
    0xffff;  // e_shstrndx: the number is in sh_link of the first section

constexpr uint8_t bindingOf(const Symbol& symbol) { return symbol.st_info >> 4; }
constexpr uint8_t typeOf(const Symbol& symbol) { return symbol.st_info & 15; }
constexpr uint8_t kGlobal = 1;
constexpr uint8_t kWeak = 2;
constexpr uint8_t kFunction = 2;
constexpr uint8_t kIndirectFunction = 10;

}  // namespace tracesmith::elf
