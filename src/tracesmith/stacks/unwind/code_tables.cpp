// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/unwind/code_tables.hpp"

#include <elf.h>
#include <link.h>
#include <string.h>

#include <atomic>

#include "tracesmith/base/linux/loaded_modules.hpp"

namespace tracesmith::stacks {
namespace {

/// The result of glibc's _dl_find_object; declared here because older versions lack it.
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  link_map* map;
  void* eh_frame;  // points to its header, .eh_frame_hdr
  unsigned long long reserved[7];
};
struct EntryBases {
  void* text;
  void* data;
  void* function;
};
using FindObject = int (*)(void*, FoundObject*);
using FindRegistered = const void* (*)(void*, EntryBases*);

// Written once, before threads use them.
FindObject g_find_object = nullptr;
std::atomic<FindRegistered> g_find_registered{nullptr};

const uint8_t* bytesAt(uint64_t address) { return reinterpret_cast<const uint8_t*>(address); }
uint64_t addressOf(const void* p) { return reinterpret_cast<uint64_t>(p); }

constexpr uint8_t kOmittedTable = 0xff;
constexpr uint8_t kTableOfOffsets = 0x3b;  // signed 4 bytes, relative to the header

/// Searches entries one by one, where there is no table.
bool findInSection(const uint8_t* section, const uint8_t* limit, uint64_t address, CfiEntry& out) {
  CfiBytes in(section, limit);
  while (in.ok() && in.left() >= 4) {
    const uint8_t* const at = in.at();
    uint64_t length = in.fixed<uint32_t>();
    if (length == 0) return false;
    if (length == 0xffffffff) length = in.fixed<uint64_t>();
    in.skip(length);
    if (!in.ok()) return false;
    if (readEntry(at, section, limit, out) && out.begin <= address && address < out.end) {
      return true;
    }
  }
  return false;
}

/// Calls `visit(dl_phdr_info&)` for the object that contains an address.
template <class Visit>
bool withObjectOf(uint64_t address, Visit&& visit) {
  struct Search {
    uint64_t address;
    Visit& visit;
  } search{address, visit};
  return dl_iterate_phdr(
             [](dl_phdr_info* info, size_t, void* context) {
               auto& s = *static_cast<Search*>(context);
               for (int i = 0; i < info->dlpi_phnum; ++i) {
                 const ElfW(Phdr)& p = info->dlpi_phdr[i];
                 if (p.p_type != PT_LOAD) continue;
                 const uint64_t begin = info->dlpi_addr + p.p_vaddr;
                 if (s.address < begin || s.address - begin >= p.p_memsz) continue;
                 s.visit(*info);
                 return 1;
               }
               return 0;
             },
             &search) != 0;
}

/// The part of an object that holds its unwind information; both null when there is none.
struct UnwindPart {
  const uint8_t* header = nullptr;
  const uint8_t* begin = nullptr;
  const uint8_t* limit = nullptr;
};

UnwindPart unwindPartOf(const dl_phdr_info& info) {
  UnwindPart part;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = info.dlpi_phdr[i];
    if (p.p_type == PT_GNU_EH_FRAME) part.header = bytesAt(info.dlpi_addr + p.p_vaddr);
  }
  for (int i = 0; i < info.dlpi_phnum && part.header != nullptr; ++i) {
    const ElfW(Phdr)& p = info.dlpi_phdr[i];
    const uint64_t begin = info.dlpi_addr + p.p_vaddr;
    if (p.p_type == PT_LOAD && addressOf(part.header) >= begin &&
        addressOf(part.header) - begin < p.p_memsz) {
      part.begin = bytesAt(begin);
      part.limit = bytesAt(begin + p.p_memsz);
    }
  }
  return part.limit == nullptr ? UnwindPart{} : part;
}

void readBuildId(const dl_phdr_info& info, LoadedObject& out) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = info.dlpi_phdr[i];
    if (p.p_type != PT_NOTE) continue;
    const uint8_t* const begin = bytesAt(info.dlpi_addr + p.p_vaddr);
    CfiBytes notes(begin, begin + p.p_memsz);
    const uint64_t align = p.p_align == 8 ? 8 : 4;
    const auto padded = [&](uint64_t n) { return (n + align - 1) & ~(align - 1); };
    while (notes.ok() && notes.left() >= sizeof(ElfW(Nhdr))) {
      const auto note = notes.fixed<ElfW(Nhdr)>();
      const uint8_t* const name = notes.at();
      notes.skip(padded(note.n_namesz));
      const uint8_t* const id = notes.at();
      notes.skip(padded(note.n_descsz));
      if (!notes.ok() || note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
          memcmp(name, "GNU", 4) != 0 || note.n_descsz > sizeof out.id) {
        continue;
      }
      memcpy(out.id, id, note.n_descsz);
      out.id_bytes = note.n_descsz;
      return;
    }
  }
}

}  // namespace

void prepareCodeTables() {
  g_find_object = reinterpret_cast<FindObject>(findExportAnywhere("_dl_find_object"));
}

bool findEntryIn(const uint8_t* header, const uint8_t* begin, const uint8_t* limit,
                 uint64_t address, CfiEntry& out) {
  CfiBytes in(header, limit);
  const uint64_t base = addressOf(header);
  const auto version = in.fixed<uint8_t>();
  const auto section_encoding = in.fixed<uint8_t>();
  const auto count_encoding = in.fixed<uint8_t>();
  const auto table_encoding = in.fixed<uint8_t>();
  if (!in.ok() || version != 1 || section_encoding == kOmittedTable) return false;
  const uint8_t* const section = bytesAt(in.pointer(section_encoding, base));
  if (!in.ok() || section < begin || section >= limit) return false;
  if (count_encoding == kOmittedTable || table_encoding != kTableOfOffsets) {
    return findInSection(section, limit, address, out);
  }
  const uint64_t count = in.pointer(count_encoding, base);
  if (!in.ok() || count == 0 || count > in.left() / 8) return false;
  const uint8_t* const table = in.at();
  const auto offset = [&](uint64_t index, uint64_t column) {
    int32_t value;
    memcpy(&value, table + index * 8 + column * 4, sizeof value);
    return base + static_cast<uint64_t>(int64_t{value});
  };
  uint64_t low = 0;  // the last entry that starts at or before the address
  uint64_t high = count;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (offset(middle, 0) <= address ? low : high) = middle;
  }
  return readEntry(bytesAt(offset(low, 1)), section, limit, out) && out.begin <= address &&
         address < out.end;
}

bool findEntryOf(uint64_t address, TableLock lock, CfiEntry& out) {
  if (g_find_object != nullptr) {
    FoundObject found;
    if (g_find_object(reinterpret_cast<void*>(address), &found) == 0) {
      return found.eh_frame != nullptr &&
             findEntryIn(static_cast<const uint8_t*>(found.eh_frame),
                         static_cast<const uint8_t*>(found.map_start),
                         static_cast<const uint8_t*>(found.map_end), address, out);
    }
  }
  if (lock == TableLock::kNever) return false;
  UnwindPart part;
  const bool loaded =
      withObjectOf(address, [&](const dl_phdr_info& info) { part = unwindPartOf(info); });
  if (loaded)
    return part.header != nullptr && findEntryIn(part.header, part.begin, part.limit, address, out);
  // Code generated at run time may be registered with libgcc, if that is loaded.
  FindRegistered registered = g_find_registered.load(std::memory_order_relaxed);
  if (registered == nullptr) {
    registered = reinterpret_cast<FindRegistered>(findExportAnywhere("_Unwind_Find_FDE"));
    if (registered == nullptr) return false;
    g_find_registered.store(registered, std::memory_order_relaxed);
  }
  EntryBases bases{};
  const auto* const fde =
      static_cast<const uint8_t*>(registered(reinterpret_cast<void*>(address), &bases));
  if (fde == nullptr) return false;
  uint32_t length;
  uint32_t distance;
  memcpy(&length, fde, sizeof length);
  memcpy(&distance, fde + 4, sizeof distance);
  if (length == 0xffffffff) return false;
  const uint8_t* const common = fde + 4 - static_cast<int32_t>(distance);
  return readEntry(fde, common < fde ? common : fde, fde + 4 + length, out);
}

bool visitObjectOf(uint64_t address, void (*found)(const LoadedObject&, void*), void* context) {
  return withObjectOf(address, [&](const dl_phdr_info& info) {
    LoadedObject object;
    object.begin = UINT64_MAX;
    object.bias = info.dlpi_addr;
    if (info.dlpi_name != nullptr) object.path = info.dlpi_name;
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const ElfW(Phdr)& p = info.dlpi_phdr[i];
      if (p.p_type != PT_LOAD) continue;
      const uint64_t begin = info.dlpi_addr + p.p_vaddr;
      if (begin < object.begin) object.begin = begin;
      if (begin + p.p_memsz > object.end) object.end = begin + p.p_memsz;
    }
    readBuildId(info, object);
    found(object, context);
  });
}

}  // namespace tracesmith::stacks
