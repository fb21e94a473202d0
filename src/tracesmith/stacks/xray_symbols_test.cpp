// SPDX-License-Identifier: Apache-2.0
// A program made by hand: sections, a map of three sleds, symbols. tests/cli/xray_test.py has real
// ones.
#include "tracesmith/stacks/xray_symbols.hpp"

#include <elf.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/format/trace_test_util.hpp"

namespace tracesmith {
namespace {

using test::TempFile;
using ::testing::HasSubstr;

constexpr uint64_t kMapAddress = 0x2000;

class Program {
 public:
  /// A sled of the function at `function`; addresses count from where they stand.
  Program& sled(uint64_t function) {
    const uint64_t at = kMapAddress + map_.size();
    putFixed(map_, function - at);
    putFixed(map_, function - (at + 8));
    putFixed(map_, uint16_t{0});  // kind, always instrumented
    map_.push_back(2);            // version
    map_.resize(map_.size() + 13);
    return *this;
  }
  Program& symbol(std::string_view name, uint64_t address, unsigned char binding = STB_GLOBAL,
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
  Bytes map_, symbols_;
  std::string strings_ = std::string(1, '\0');
};

Result<XRaySymbols> read(const Bytes& program) {
  const TempFile file;
  file.write(program);
  return XRaySymbols::ofBinary(file.path());
}

Program sample() {
  Program p;
  p.sled(0x1000).sled(0x1000).sled(0x1100).sled(0x1200);
  p.symbol("_ZL5alias", 0x1000, STB_LOCAL).symbol("_Z3addii", 0x1000).symbol("main", 0x1100);
  p.symbol("data", 0x1200, STB_GLOBAL, STT_OBJECT);
  return p;
}

TEST(XRaySymbols, FunctionsAreNumberedInTheOrderOfTheirSleds) {
  const Result<XRaySymbols> symbols = read(sample().bytes());
  ASSERT_TRUE(symbols) << symbols.error().toString();
  EXPECT_EQ(symbols->functions(), 3U);
  EXPECT_EQ(symbols->named(), 2U);
  EXPECT_EQ(symbols->name(1), "add(int, int)");  // the public one of two names
  EXPECT_EQ(symbols->name(2), "main");
  EXPECT_EQ(symbols->name(3), "");  // not a function's symbol
  for (const int32_t none : {0, -1, 4, INT32_MAX, INT32_MIN}) EXPECT_EQ(symbols->name(none), "");
}

TEST(XRaySymbols, WhatIsNoSuchProgramSaysSo) {
  EXPECT_THAT(read({}).error().message, HasSubstr("no ELF file"));
  EXPECT_THAT(read(sample().bytes(".text")).error().message, HasSubstr("-fxray-instrument"));
  EXPECT_THAT(XRaySymbols::ofBinary("/dev/zero").error().message, HasSubstr("no file"));
  Bytes small = sample().bytes();
  small[EI_CLASS] = ELFCLASS32;
  EXPECT_THAT(read(small).error().message, HasSubstr("64 bits"));
}

TEST(XRaySymbols, EveryCutAndEveryByteIsHarmless) {
  const Bytes whole = sample().bytes();
  for (size_t n = 0; n < whole.size(); ++n) {
    read(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)));
    for (const uint8_t with : {0x00, 0x7f, 0xff}) {
      Bytes changed = whole;
      changed[n] = with;
      const Result<XRaySymbols> symbols = read(changed);
      EXPECT_TRUE(!symbols || symbols->functions() <= whole.size() / 32);
    }
  }
}

}  // namespace
}  // namespace tracesmith
