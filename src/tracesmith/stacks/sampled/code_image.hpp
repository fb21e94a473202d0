// SPDX-License-Identifier: Apache-2.0
// The unwind information and the code of an executable or library, read from its file: for
// processes other than this one. Nothing of it is mapped, so a file that shrinks does no harm.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/stacks/symbols/module_files.hpp"
#include "tracesmith/stacks/unwind/cfi_row.hpp"

namespace tracesmith::stacks {

struct ElfLayout;

/// Addresses are those in the file (ELF virtual addresses).
class CodeImage {
 public:
  /// kInvalidArgument: it is not a 64-bit ELF file of this kind of machine. A file without unwind
  /// information is an image without entries.
  static Result<std::shared_ptr<CodeImage>> read(OpenFile file);
  /// The vDSO of this process, which 64-bit processes of one kernel share; nullptr: it has none.
  static std::shared_ptr<CodeImage> readVdso();

  /// The address of a byte of the file that is mapped as code when the program runs; nullopt: it is
  /// not. Other parts may have the same page of the file.
  std::optional<uint64_t> addressAt(uint64_t file_offset) const;
  /// The entry of an address, and what the address is in the entry's terms.
  bool find(uint64_t address, CfiEntry& out, uint64_t& place) const;
  /// Reads a word of code or of constants; of nothing that the program can write.
  bool readWord(uint64_t address, uint64_t& out) const;
  /// In hexadecimal; "": it has none.
  const std::string& buildId() const { return build_id_; }
  /// So that many images do not hold as many files open. Words of it can no longer be read.
  void closeFile() { file_ = {}; }

 private:
  struct Segment {
    uint64_t address = 0, file_offset = 0, bytes = 0;
    bool writable = false, executable = false;
  };
  CodeImage() = default;
  void readUnwindInformation(const ElfLayout& layout);

  OpenFile file_;
  std::string build_id_;
  std::vector<Segment> segments_;
  std::vector<uint8_t> unwind_;  // .eh_frame and its header, as far apart as in memory
  uint64_t unwind_address_ = 0;  // of the first byte
  uint64_t header_address_ = 0;
};

}  // namespace tracesmith::stacks
