// SPDX-License-Identifier: Apache-2.0
// Which object (executable, library, vDSO) an address of this process lies in, and where its unwind
// information says what about it.
//
// Part of what enters other people's programs: libc alone, no allocation. findEntryOf() takes no
// lock where the C library has _dl_find_object (glibc 2.35), and the loader's where it has not.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tracesmith/stacks/unwind/cfi_row.hpp"

namespace tracesmith::stacks {

/// Looks up the C library's functions that may not be there. Before anything else; once.
void prepareCodeTables();

enum class TableLock : uint8_t {
  kNever,   // in a signal handler: only what can be found without a lock
  kAllowed  // the loader's, and libgcc's for code that was registered at run time
};

/// The entry for an address. False when there is none.
bool findEntryOf(uint64_t address, TableLock lock, CfiEntry& out);

/// An entry by way of an object's table, its .eh_frame_hdr. That and the entries, which some
/// linkers put before it and some behind, lie in [begin, limit).
bool findEntryIn(const uint8_t* header, const uint8_t* begin, const uint8_t* limit,
                 uint64_t address, CfiEntry& out);

/// A loaded object.
struct LoadedObject {
  static constexpr size_t kMostIdBytes = 64;
  uint64_t begin = 0;  // addresses [begin, end)
  uint64_t end = 0;
  uint64_t bias = 0;              // address minus the address in its file
  const char* path = "";          // "" for the executable
  uint8_t id[kMostIdBytes] = {};  // GNU build id
  size_t id_bytes = 0;
};

/// Calls `found` (once) for the object that an address lies in; takes the loader's lock, under
/// which `found` is called.
bool visitObjectOf(uint64_t address, void (*found)(const LoadedObject&, void*), void* context);

}  // namespace tracesmith::stacks
