// SPDX-License-Identifier: Apache-2.0
// Records of NCCL's events and communicators, in an arena's rings (arena_layout.hpp).
#pragma once

#include <cstdint>

#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith::arena {

/// Events of NCCL's profiler interface, by the number of their bit in its masks.
enum class NcclEvent : uint8_t {
  kGroup = 0,  // what is enqueued together
  kCollective = 1,
  kMessage = 2,         // a send or a receive
  kProxyOperation = 3,  // what a thread of NCCL sends or receives for a collective or message
  kProxyStep = 4,       // a piece of it
  kProxyControl = 5,
  kKernelChannel = 6,  // what one channel of a kernel does
  kNetwork = 7,
  kGroupCall =
      8,  // of one call or several, until their work is launched; the parent of these calls
  kCollectiveCall = 9,
  kMessageCall = 10,
  kKernelLaunch = 11,
  kCopyCollective = 12,  // a collective that copy engines do
  kCopySync = 13,
  kCopyBatch = 14,
  kKernelPhase = 15,
  kCount = 16,
};

/// The start of an event. flags: NcclEvent; aux: number of the communicator's context.
/// A part follows: NcclCallPart (kCollectiveCall, kMessageCall), NcclTransferPart (kCollective,
/// kMessage, kCopyCollective), NcclChannelPart (kKernelChannel), NcclProxyPart (kProxyOperation);
/// none follows the others.
struct NcclStartRecord {
  RecordHeader header;
  int64_t time;
  uint64_t id;      // unique in the process
  uint64_t parent;  // id of another event, of which the record may be in another ring; 0: none
};
static_assert(sizeof(NcclStartRecord) == 32);

constexpr uint32_t kNcclNameBytes = 16;  // NUL-terminated unless longer, then cut

struct NcclCallPart {
  uint64_t stream;  // handle
  uint64_t element_count;
  int32_t root;    // -1: none
  uint32_t stack;  // as CallRecord::stack
  uint32_t is_captured;
  uint32_t reserved;
  char function[kNcclNameBytes];
  char data_type[kNcclNameBytes];
};
static_assert(sizeof(NcclCallPart) == 64);

struct NcclTransferPart {
  uint64_t sequence;
  uint64_t send_buffer;
  uint64_t receive_buffer;
  uint64_t element_count;
  uint64_t group;  // id of the kGroup event; 0: none
  int32_t peer;    // the root, or the other rank
  uint32_t stack;  // as CallRecord::stack; 0 if the call has an event of its own
  uint32_t channels;
  uint32_t has_channel_events;  // 1: each channel's start and end are told
  char function[kNcclNameBytes];
  char data_type[kNcclNameBytes];
  char algorithm[kNcclNameBytes];
  char protocol[kNcclNameBytes];
};
static_assert(sizeof(NcclTransferPart) == 120);

struct NcclChannelPart {
  uint64_t device_time;  // 0: the interface does not tell
  uint32_t channel;
  uint32_t reserved;
};
static_assert(sizeof(NcclChannelPart) == 16);

/// The parent is 0 if this process sends or receives for another one (PXN).
struct NcclProxyPart {
  int32_t peer;
  int32_t steps;
  int32_t chunk_bytes;
  uint8_t channel;
  uint8_t is_send;
  uint8_t reserved[2];
};
static_assert(sizeof(NcclProxyPart) == 16);

/// The end of an event. flags: NcclEvent. aux: 1 if `value` is the device's time.
struct NcclStopRecord {
  RecordHeader header;
  int64_t time;
  uint64_t id;
  uint64_t value;
};
static_assert(sizeof(NcclStopRecord) == 32);

/// An event has a new state. flags: NcclEvent; aux: NCCL's number of the state.
struct NcclStateRecord {
  RecordHeader header;
  int64_t time;
  uint64_t id;
  uint64_t bytes;  // of a step, so far
};
static_assert(sizeof(NcclStateRecord) == 32);

/// Defines the communicator of context `header.aux`, or says more of it. The interface before its
/// version 4 tells a communicator's hash with its first call; then nodes and ranks are 0: unknown.
/// flags: 1 if it is no more.
struct NcclCommunicatorRecord {
  RecordHeader header;
  int64_t time;
  uint64_t key;
  int32_t rank;
  uint32_t ranks;
  uint32_t nodes;
  uint32_t name_bytes;
  // name
};
static_assert(sizeof(NcclCommunicatorRecord) == 40);

}  // namespace tracesmith::arena
