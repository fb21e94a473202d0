// SPDX-License-Identifier: Apache-2.0
// Finds the object (executable, library, vDSO) that contains an address of this process, and the
// entry of its unwind information for that address.
//
// Runs inside the recorded program: uses only libc, no allocation. findEntryOf() takes no lock if
// the C library has _dl_find_object (glibc 2.35), otherwise the loader's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tracesmith/stacks/unwind/cfi_row.hpp"

namespace tracesmith::stacks {

/// Looks up optional functions of the C library. Call it once, before all other functions.
void prepareCodeTables();

enum class TableLock : uint8_t {
  kNever,   // for signal handlers: use only what needs no lock
  kAllowed  // the loader's lock, and libgcc's for code that was registered at run time
};

/// The entry for an address. False when there is none.
bool findEntryOf(uint64_t address, TableLock lock, CfiEntry& out);

/// Finds an entry through an object's table, its .eh_frame_hdr. The table and the entries must lie
/// in [begin, limit); some linkers put the entries before the table, others after it.
bool findEntryIn(const uint8_t* header, const uint8_t* begin, const uint8_t* limit,
                 uint64_t address, CfiEntry& out);

/// A loaded object.
struct LoadedObject {
  static constexpr size_t kMostIdBytes = 64;
  uint64_t begin = 0;  // address range [begin, end)
  uint64_t end = 0;
  uint64_t bias = 0;              // address in memory minus address in the file
  const char* path = "";          // "" for the executable
  uint8_t id[kMostIdBytes] = {};  // GNU build id
  size_t id_bytes = 0;
};

/// Calls `found` (once) for the object that contains the address. It is called under the loader's
/// lock.
bool visitObjectOf(uint64_t address, void (*found)(const LoadedObject&, void*), void* context);

}  // namespace tracesmith::stacks
