// SPDX-License-Identifier: Apache-2.0
// Records of NVTX annotations, in an arena's rings (arena_layout.hpp). Their names are
// CudaTextRecords (cuda_records.hpp).
#pragma once

#include <cstdint>

#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith::arena {

enum class NvtxEvent : uint8_t {
  kPush = 0,        // start of a range of the thread
  kPop = 1,         // end of that range
  kStart = 2,       // start of a range of the process
  kEnd = 3,         // end of that range, possibly on another thread
  kMark = 4,        // an instant
  kThreadName = 5,  // aux: tid
};
constexpr uint8_t kNvtxEventMask = 7;
constexpr uint8_t kNvtxAttributes = 8;  // NvtxAttributes follow
constexpr uint8_t kNvtxText = 16;  // a text follows, because the name could not be defined before
constexpr uint32_t kNvtxNoLevel = ~0u;

struct NvtxRecord {
  RecordHeader header;  // aux: number of the name, or 0
  int64_t time;
  uint16_t life;    // of the process, see cuda_file::kIdsOfLife
  uint16_t domain;  // 0: the default one
  uint32_t level;   // kPush, kPop: nesting depth in the thread and domain, or kNvtxNoLevel
  // kStart, kEnd: a u64 id follows; then NvtxAttributes; then a u32 size and a text
};
static_assert(sizeof(NvtxRecord) == 24);

enum class NvtxPayload : uint32_t {
  kNone = 0,  // values are NVTX's
  kUint64 = 1,
  kInt64 = 2,
  kDouble = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat = 6,
  kOther = 7,  // a type that is not recorded
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
