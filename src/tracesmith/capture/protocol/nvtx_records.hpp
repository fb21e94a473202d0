// SPDX-License-Identifier: Apache-2.0
// NVTX's records in an arena's rings (arena_layout.hpp): what a program says of itself. Their names
// are texts of cuda_records.hpp.
#pragma once

#include <cstdint>

#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith::arena {

enum class NvtxEvent : uint8_t {
  kPush = 0,        // a range of the thread begins
  kPop = 1,         // and ends
  kStart = 2,       // a range of the process begins
  kEnd = 3,         // and ends, maybe on another thread
  kMark = 4,        // an instant
  kThreadName = 5,  // aux: tid
};
constexpr uint8_t kNvtxEventMask = 7;
constexpr uint8_t kNvtxAttributes = 8;  // NvtxAttributes follow
constexpr uint8_t kNvtxText = 16;       // a text follows, for a name that could not be told before
constexpr uint32_t kNvtxNoLevel = ~0u;

struct NvtxRecord {
  RecordHeader header;  // aux: number of the name, or 0
  int64_t time;
  uint16_t life;    // of the process, see cuda_file::kIdsOfLife
  uint16_t domain;  // 0: the default one
  uint32_t level;   // kPush, kPop: ranges of the thread and the domain around it, or kNvtxNoLevel
  // kStart, kEnd: u64 id; then NvtxAttributes; then u32 bytes and a text
};
static_assert(sizeof(NvtxRecord) == 24);

enum class NvtxPayload : uint32_t {
  kNone = 0,  // in NVTX's own numbers
  kUint64 = 1,
  kInt64 = 2,
  kDouble = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat = 6,
  kOther = 7,  // one that is not recorded
};
struct NvtxAttributes {
  uint64_t payload;
  NvtxPayload payload_type;
  uint32_t category;  // 0: none
  uint32_t color;     // ARGB
  uint32_t has_color;
};
static_assert(sizeof(NvtxAttributes) == 24);

}  // namespace tracesmith::arena
