// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/sampled/elf_layout.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace tracesmith::stacks {
namespace {

#if defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
constexpr uint16_t kMachine = EM_X86_64;
#endif
/// Of names; files may be sparse.
constexpr uint64_t kMostSectionNameBytes = uint64_t{1} << 20, kMostNameBytes = uint64_t{1} << 26;

/// `count` equal parts of the file; none if they do not lie in it.
template <class T>
std::vector<T> readTable(int fd, uint64_t offset, size_t count, uint64_t file_bytes) {
  std::vector<T> out;
  if (offset > file_bytes || count > (file_bytes - offset) / sizeof(T)) return out;
  out.resize(count);
  if (!readBytesAt(fd, offset, out.data(), count * sizeof(T))) out.clear();
  return out;
}

std::string readText(int fd, const Elf64_Shdr& section, uint64_t most, uint64_t file_bytes) {
  const auto text =
      readTable<char>(fd, section.sh_offset, std::min(section.sh_size, most), file_bytes);
  return {text.begin(), text.end()};
}

}  // namespace

bool readBytesAt(int fd, uint64_t offset, void* out, size_t bytes) {
  auto* at = static_cast<uint8_t*>(out);
  while (bytes > 0) {
    const ssize_t n = ::pread(fd, at, bytes, static_cast<off_t>(offset));
    if (n <= 0) return false;
    at += n;
    offset += static_cast<uint64_t>(n);
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

Result<ElfLayout> ElfLayout::read(int fd) {
  ElfLayout out;
  struct stat facts {};
  if (fstat(fd, &facts) == 0) out.file_bytes = static_cast<uint64_t>(facts.st_size);
  Elf64_Ehdr header{};
  if (!readBytesAt(fd, 0, &header, sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != kMachine ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return fail(ErrorCode::kInvalidArgument, "is not a program or library of this machine");
  }
  out.programs = readTable<Elf64_Phdr>(fd, header.e_phoff, header.e_phnum, out.file_bytes);
  if (header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shstrndx < header.e_shnum) {
    out.sections = readTable<Elf64_Shdr>(fd, header.e_shoff, header.e_shnum, out.file_bytes);
  }
  if (!out.sections.empty()) {
    out.names =
        readText(fd, out.sections[header.e_shstrndx], kMostSectionNameBytes, out.file_bytes);
  }
  return out;
}

const Elf64_Shdr* ElfLayout::find(std::string_view name) const {
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_NOBITS && section.sh_name < names.size() &&
        names.c_str() + section.sh_name == name) {
      return &section;
    }
  }
  return nullptr;
}

std::map<std::string, ElfExport, std::less<>> readExports(int fd, const ElfLayout& layout,
                                                          std::string_view prefix) {
  std::map<std::string, ElfExport, std::less<>> out;
  const Elf64_Shdr* const symbols = layout.find(".dynsym");
  const Elf64_Shdr* const texts = layout.find(".dynstr");
  if (symbols == nullptr || texts == nullptr) return out;
  const std::string names = readText(fd, *texts, kMostNameBytes, layout.file_bytes);
  for (const Elf64_Sym& symbol : readTable<Elf64_Sym>(
           fd, symbols->sh_offset, symbols->sh_size / sizeof(Elf64_Sym), layout.file_bytes)) {
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size()) continue;
    const std::string_view name = names.c_str() + symbol.st_name;
    const std::string_view rest = name.substr(name.starts_with('_') ? 1 : 0);
    if (rest.starts_with(prefix)) out[std::string(name)] = {symbol.st_value, symbol.st_size};
  }
  return out;
}

}  // namespace tracesmith::stacks
