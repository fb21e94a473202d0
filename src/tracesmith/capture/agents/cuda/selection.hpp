// SPDX-License-Identifier: Apache-2.0
// Converts records that have only the selected fields to the structs in cupti.hpp. The agent does
// this with delivered records, the collector with those that a killed program had in its buffers.
#pragma once

#include <string.h>

#include "tracesmith/capture/agents/cuda/cupti.hpp"
#include "tracesmith/capture/protocol/cuda_layout.hpp"

namespace tracesmith::agent::cupti {

/// A record of any kind, with zeros in fields that were not selected.
struct AnyRecord {
  alignas(8) uint8_t bytes[256];
  const Activity& activity() const { return *reinterpret_cast<const Activity*>(bytes); }
};
static_assert(sizeof(AnyRecord) >= sizeof(Kernel) && sizeof(AnyRecord) >= sizeof(Device));

/// Leaves out fields that are outside the record, and truncates longer fields: the low part of
/// CUPTI's 64-bit correlation id is the id that its callbacks report.
inline void gather(int32_t kind, const uint8_t* record, size_t bytes,
                   const cuda_file::Field* fields, size_t count, AnyRecord& whole) {
  memset(whole.bytes, 0, sizeof whole.bytes);
  memcpy(whole.bytes, &kind, sizeof kind);
  for (size_t i = 0; i < count; ++i) {
    const cuda_file::Field& f = fields[i];
    if (size_t{f.from} + f.bytes > bytes || size_t{f.to} + f.bytes > sizeof whole.bytes) continue;
    uint8_t* const to = whole.bytes + f.to;
    const uint8_t* const from = record + f.from;
    if (f.bytes == 4) {
      memcpy(to, from, 4);
    } else if (f.bytes == 8) {
      memcpy(to, from, 8);
    } else {
      memcpy(to, from, f.bytes);
    }
  }
}

}  // namespace tracesmith::agent::cupti
