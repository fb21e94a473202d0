// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/sampled/code_image.hpp"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "tracesmith/stacks/sampled/elf_layout.hpp"
#include "tracesmith/stacks/unwind/code_tables.hpp"

namespace tracesmith::stacks {
namespace {

constexpr uint64_t kFilePage = 4096;
constexpr uint64_t kMostUnwindBytes = uint64_t{1} << 30;

}  // namespace

Result<std::shared_ptr<CodeImage>> CodeImage::read(OpenFile file) {
  TS_TRY(const ElfLayout layout, ElfLayout::read(file.fd()));
  const auto image = std::shared_ptr<CodeImage>(new CodeImage);
  for (const Elf64_Phdr& p : layout.programs) {
    if (p.p_type != PT_LOAD) continue;
    image->segments_.push_back({.address = p.p_vaddr,
                                .file_offset = p.p_offset,
                                .bytes = p.p_filesz,
                                .writable = (p.p_flags & PF_W) != 0,
                                .executable = (p.p_flags & PF_X) != 0});
  }
  image->file_ = std::move(file);
  readBuildId(image->file_.fd(), image->build_id_);
  image->readUnwindInformation(layout);
  return image;
}

/// Only these two sections: the segment that they are in may be large. Without section headers, the
/// segment.
void CodeImage::readUnwindInformation(const ElfLayout& layout) {
  const auto header = std::find_if(layout.programs.begin(), layout.programs.end(),
                                   [](const Elf64_Phdr& p) { return p.p_type == PT_GNU_EH_FRAME; });
  if (header == layout.programs.end()) return;
  struct Piece {
    uint64_t address, file_offset, bytes;
  };
  std::vector<Piece> pieces = {{header->p_vaddr, header->p_offset, header->p_filesz}};
  if (const Elf64_Shdr* const frames = layout.find(".eh_frame")) {
    pieces.push_back({frames->sh_addr, frames->sh_offset, frames->sh_size});
  } else {
    for (const Segment& segment : segments_) {
      if (header->p_vaddr - segment.address >= segment.bytes) continue;
      pieces = {{segment.address, segment.file_offset, segment.bytes}};
    }
  }
  uint64_t begin = UINT64_MAX, end = 0;
  for (const Piece& piece : pieces) {
    if (piece.bytes > layout.file_bytes || piece.address > UINT64_MAX - piece.bytes) return;
    begin = std::min(begin, piece.address);
    end = std::max(end, piece.address + piece.bytes);
  }
  if (end <= begin || end - begin > std::min(kMostUnwindBytes, layout.file_bytes + kFilePage))
    return;
  unwind_.resize(end - begin);
  for (const Piece& piece : pieces) {
    if (!readBytesAt(file_.fd(), piece.file_offset, unwind_.data() + (piece.address - begin),
                     piece.bytes)) {
      unwind_.clear();
      return;
    }
  }
  unwind_address_ = begin;
  header_address_ = header->p_vaddr;
}

std::shared_ptr<CodeImage> CodeImage::readVdso() {
  const auto begin = static_cast<uintptr_t>(getauxval(AT_SYSINFO_EHDR));
  if (begin == 0) return nullptr;
  const auto* const bytes = reinterpret_cast<const uint8_t*>(begin);  // NOLINT: the kernel's number
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(bytes);
  // Its section headers lie behind everything else.
  const size_t size = std::max<size_t>(
      header->e_shoff + size_t{header->e_shnum} * header->e_shentsize, size_t{2} * kFilePage);
  OpenFile file(memfd_create("vdso", MFD_CLOEXEC));
  if (!file || ::write(file.fd(), bytes, size) != static_cast<ssize_t>(size)) return nullptr;
  auto image = read(std::move(file));
  return image ? *image : nullptr;
}

std::optional<uint64_t> CodeImage::addressAt(uint64_t file_offset) const {
  for (const Segment& segment : segments_) {
    const uint64_t first = segment.file_offset / kFilePage * kFilePage;  // whole pages are mapped
    if (!segment.executable || file_offset < first ||
        file_offset >= segment.file_offset + segment.bytes)
      continue;
    return segment.address + (file_offset - segment.file_offset);
  }
  return std::nullopt;
}

bool CodeImage::find(uint64_t address, CfiEntry& out, uint64_t& place) const {
  if (unwind_.empty()) return false;
  const uint8_t* const begin = unwind_.data();
  // The information gives the distance of the code from itself.
  place = address + (reinterpret_cast<uintptr_t>(begin) - unwind_address_);
  return findEntryIn(begin + (header_address_ - unwind_address_), begin, begin + unwind_.size(),
                     place, out);
}

bool CodeImage::readWord(uint64_t address, uint64_t& out) const {
  if (!file_) return false;
  for (const Segment& segment : segments_) {
    const uint64_t at = address - segment.address;
    if (segment.writable || at >= segment.bytes || segment.bytes - at < sizeof out) continue;
    return readBytesAt(file_.fd(), segment.file_offset + at, &out, sizeof out);
  }
  return false;
}

}  // namespace tracesmith::stacks
