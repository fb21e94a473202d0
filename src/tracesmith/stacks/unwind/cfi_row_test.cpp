// SPDX-License-Identifier: Apache-2.0
// Compares rows of unwind information with libdw's, over whole libraries.
#include "tracesmith/stacks/unwind/cfi_row.hpp"

#include <gtest/gtest.h>

#ifdef TRACESMITH_LIBDW
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <span>
#include <string>

#include "tracesmith/stacks/unwind/cfi_expression.hpp"
#include "tracesmith/stacks/unwind/code_tables.hpp"
#endif

namespace tracesmith::stacks {
namespace {

#ifdef TRACESMITH_LIBDW

/// One loaded library, as libdw reads its file.
struct Library {
  uint64_t bias = 0;
  const uint8_t* header = nullptr;  // .eh_frame_hdr
  const uint8_t* begin = nullptr;   // of the segment with the header
  const uint8_t* limit = nullptr;
  std::string path;
};

Library libraryOf(const void* address) {
  struct Search {
    uint64_t address;
    Library out;
  } search{reinterpret_cast<uint64_t>(address), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* context) {
        auto& s = *static_cast<Search*>(context);
        bool here = false;
        uint64_t header = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& p = info->dlpi_phdr[i];
          const uint64_t begin = info->dlpi_addr + p.p_vaddr;
          if (p.p_type == PT_LOAD && s.address - begin < p.p_memsz) here = true;
          if (p.p_type == PT_GNU_EH_FRAME) header = begin;
        }
        if (!here) return 0;
        s.out.bias = info->dlpi_addr;
        s.out.path = info->dlpi_name;
        s.out.header = reinterpret_cast<const uint8_t*>(header);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& p = info->dlpi_phdr[i];
          const uint64_t begin = info->dlpi_addr + p.p_vaddr;
          if (p.p_type == PT_LOAD && header - begin < p.p_memsz) {
            s.out.begin = reinterpret_cast<const uint8_t*>(begin);
            s.out.limit = reinterpret_cast<const uint8_t*>(begin + p.p_memsz);
          }
        }
        return 1;
      },
      &search);
  return search.out;
}

struct Counts {
  uint64_t rows = 0;
  uint64_t entries = 0;
  uint64_t different = 0;
  std::string first;
};

bool isSameCfa(const Dwarf_Op& op, const CfiRow& ours) {
  if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31) {
    return uint32_t{op.atom} - DW_OP_breg0 == ours.cfa_register &&
           static_cast<int64_t>(op.number) == ours.cfa_offset;
  }
  return op.atom == DW_OP_bregx && op.number == ours.cfa_register &&
         static_cast<int64_t>(op.number2) == ours.cfa_offset;
}

/// How our rule for a register differs from libdw's, which is given by `ops`.
std::string differenceOfRule(std::span<const Dwarf_Op> ops, bool undefined,
                             const CfiRow::Rule& rule) {
  if (undefined) return rule.kind == RegisterRule::kAtCfa ? " is in memory for us alone" : "";
  if (ops.empty()) return rule.kind != RegisterRule::kSame ? " is the same for libdw alone" : "";
  if (ops[0].atom != DW_OP_call_frame_cfa) {
    return rule.kind == RegisterRule::kAtCfa ? " lies at the CFA for us alone" : "";
  }
  if (rule.kind == RegisterRule::kAtExpression || rule.kind == RegisterRule::kExpressionValue) {
    return "";
  }
  const bool value = ops.back().atom == DW_OP_stack_value;
  const bool has_offset = ops.size() >= 2 && ops[1].atom == DW_OP_plus_uconst;
  const int64_t offset = has_offset ? static_cast<int64_t>(ops[1].number) : 0;
  const RegisterRule kind = value ? RegisterRule::kCfa : RegisterRule::kAtCfa;
  return rule.kind != kind || rule.value != offset ? " differs" : "";
}

/// The difference between our row and libdw's, for the CFA and the registers that walks need; "" if
/// they agree.
std::string difference(Dwarf_Frame* theirs, const CfiRow& ours) {
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  if (dwarf_frame_cfa(theirs, &ops, &count) != 0) return "libdw knows no CFA";
  if (ours.cfa_expression == nullptr) {
    if (count != 1 || !isSameCfa(ops[0], ours)) return "another CFA";
  } else if (count < 2) {
    return "the CFA is an expression for us alone";
  }
  for (uint32_t number = 0; number < kRegisters; ++number) {
    Dwarf_Op memory[3];
    // libdw states in every row that the stack pointer becomes the CFA.
    if (number == kStackPointer && ours.registers[number].kind == RegisterRule::kSame) continue;
    if (dwarf_frame_register(theirs, static_cast<int>(number), memory, &ops, &count) != 0) continue;
    const bool undefined = count == 0 && ops == memory;  // or no rule was given
    const std::string how = differenceOfRule({ops, count}, undefined, ours.registers[number]);
    if (!how.empty()) return "register " + std::to_string(number) + how;
  }
  return "";
}

/// Compares at every address of the library at which a row starts, and at the one before it.
Counts compareAll(const Library& library, uint64_t every) {
  Counts counts;
  const int fd = open(library.path.c_str(), O_RDONLY);
  elf_version(EV_CURRENT);
  Elf* const elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  Dwarf_CFI* const cfi = elf == nullptr ? nullptr : dwarf_getcfi_elf(elf);
  EXPECT_NE(cfi, nullptr) << library.path;
  if (cfi == nullptr) return counts;
  // The table: pairs of offsets after version, encodings, section and count.
  int32_t entries = 0;
  memcpy(&entries, library.header + 8, sizeof entries);
  static CfiScratch scratch;
  for (int32_t i = 0; i < entries; i += static_cast<int32_t>(every)) {
    int32_t place = 0;
    memcpy(&place, library.header + 12 + 8 * i, sizeof place);
    const uint64_t begin =
        reinterpret_cast<uint64_t>(library.header) + static_cast<uint64_t>(int64_t{place});
    CfiEntry entry;
    if (!findEntryIn(library.header, library.begin, library.limit, begin, entry)) {
      ++counts.different;
      if (counts.first.empty()) counts.first = "no entry at the address of one";
      continue;
    }
    ++counts.entries;
    for (uint64_t at = begin; at < entry.end;) {
      Dwarf_Frame* frame = nullptr;
      if (dwarf_cfi_addrframe(cfi, at - library.bias, &frame) != 0) break;
      Dwarf_Addr from = 0, to = 0;
      dwarf_frame_info(frame, &from, &to, nullptr);
      const uint64_t next = std::min<uint64_t>(to + library.bias, entry.end);
      for (const uint64_t address : {at, next - 1}) {
        CfiRow row;
        std::string why = "no row";
        if (findRow(entry, address, scratch, row)) why = difference(frame, row);
        ++counts.rows;
        if (why.empty()) continue;
        ++counts.different;
        if (counts.first.empty()) {
          counts.first = why + " at " + std::to_string(address - library.bias);
        }
      }
      free(frame);
      if (next <= at) break;
      at = next;
    }
  }
  dwarf_cfi_end(cfi);
  elf_end(elf);
  close(fd);
  return counts;
}

TEST(CfiRow, AreThoseOfLibdwAllOverTheCLibrary) {
  if (!kUnwinds) GTEST_SKIP() << "no stacks on this kind of processor";
  const Counts counts = compareAll(libraryOf(reinterpret_cast<const void*>(&getpid)), 1);
  EXPECT_EQ(counts.different, 0u) << counts.first;
  EXPECT_GT(counts.rows, 10'000u);
}

TEST(CfiRow, AreThoseOfLibdwInTheCxxLibrary) {
  if (!kUnwinds) GTEST_SKIP() << "no stacks on this kind of processor";
  const Counts counts = compareAll(libraryOf(reinterpret_cast<const void*>(&std::terminate)), 1);
  EXPECT_EQ(counts.different, 0u) << counts.first;
  EXPECT_GT(counts.rows, 10'000u);
}

TEST(CfiRow, AreThoseOfLibdwInACompiler) {
  if (!kUnwinds) GTEST_SKIP() << "no stacks on this kind of processor";
  void* const library = dlopen("libLLVM-14.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << "libLLVM-14 is not there";
  const Counts counts = compareAll(libraryOf(dlsym(library, "LLVMContextCreate")), 8);
  EXPECT_EQ(counts.different, 0u) << counts.first;
  EXPECT_GT(counts.rows, 50'000u);
}

#endif

TEST(CfiBytes, ReadBeyondTheEndAreZerosAndSaySo) {
  const uint8_t bytes[] = {0x85, 0x02, 0x7f, 0xff};
  CfiBytes in(bytes, bytes + sizeof bytes);
  EXPECT_EQ(in.uleb(), 0x105u);
  EXPECT_EQ(in.sleb(), -1);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.fixed<uint32_t>(), 0u);
  EXPECT_FALSE(in.ok());
  EXPECT_TRUE(in.atEnd());
}

}  // namespace
}  // namespace tracesmith::stacks
