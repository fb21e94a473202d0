// SPDX-License-Identifier: Apache-2.0
// The headers of an executable or library, and the names that it exports, read from its file.
// Sizes and offsets of a file may be anything: what does not lie in it is missing.
#pragma once

#include <elf.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith::stacks {

/// False: the file ends before.
bool readBytesAt(int fd, uint64_t offset, void* out, size_t bytes);

struct ElfLayout {
  uint64_t file_bytes = 0;
  std::vector<Elf64_Phdr> programs;
  std::vector<Elf64_Shdr> sections;
  std::string names;  ///< of sections

  /// kInvalidArgument: it is not a 64-bit ELF file of this kind of machine.
  static Result<ElfLayout> read(int fd);
  /// nullptr: there is no such section, or it is not in the file.
  const Elf64_Shdr* find(std::string_view name) const;
};

/// Where something lies, in addresses of the file.
struct ElfExport {
  uint64_t address = 0, bytes = 0;
};
/// What a file exports whose name begins with `prefix` or with an underscore and `prefix`.
std::map<std::string, ElfExport, std::less<>> readExports(int fd, const ElfLayout& layout,
                                                          std::string_view prefix);

}  // namespace tracesmith::stacks
