// SPDX-License-Identifier: Apache-2.0
// Records of MPI calls and communicators, in an arena's rings (arena_layout.hpp).
#pragma once

#include <cstdint>

#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith::arena {

constexpr uint8_t kMpiRequest = 1;  // MpiCallPart::request is a handle
/// The request is one that many calls share: what the call started was done when it returned.
constexpr uint8_t kMpiDoneAtOnce = 8;
/// The record continues the one before it in the ring: more requests of the same call.
constexpr uint8_t kMpiMore = 4;

/// Follows a CallRecord of kind kMpiCall, whose aux is an MpiApi, whose stream is the number of a
/// communicator (or 0), and whose flags are those above.
struct MpiCallPart {
  uint64_t send_bytes;
  uint64_t receive_bytes;
  uint64_t sequence;
  uint64_t request;  // handle that the call returned
  int32_t peer;
  int32_t tag;
  uint32_t done_count;
  uint32_t reserved;
  // MpiDone[done_count]
};
static_assert(sizeof(MpiCallPart) == 48);

/// A request that the call completed, or started if it is a persistent one.
struct MpiDone {
  uint64_t request;  // handle before the call
  uint64_t bytes;    // received, if has_status
  int32_t source;
  int32_t tag;
  uint32_t has_status;
  uint32_t reserved;
};
static_assert(sizeof(MpiDone) == 32);

constexpr uint32_t kMaxMpiDone = 64;  // in one record

/// Defines the communicator `header.aux` of this process, or renames it.
struct MpiCommunicatorRecord {
  RecordHeader header;  // flags: 1 the members are not all there
  int64_t time;
  uint64_t key;
  uint32_t size;
  int32_t rank;
  uint32_t run_count;
  uint32_t name_bytes;
  // MpiRun[run_count], then the name
};
static_assert(sizeof(MpiCommunicatorRecord) == 40);

/// Members that follow each other: ranks of the job from `first` on.
struct MpiRun {
  int32_t first;
  uint32_t count;
};
constexpr uint32_t kMaxMpiRuns = 1024;

}  // namespace tracesmith::arena
