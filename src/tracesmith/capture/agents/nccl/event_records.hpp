// SPDX-License-Identifier: Apache-2.0
// Writes NCCL's events as records, into the ring of the calling thread.
//
// The handle that NCCL gets for an event is a number and points nowhere: NCCL passes it back to
// stop the event and as the parent of others, also long after the event and from other threads. So
// no event has memory that somebody would have to free, and a handle that is stale, of another
// process (PXN), or stopped twice does no harm.
//
// Measured by bench/nccl_cost.cpp (`script/bench nccl_cost`).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/capture/protocol/nccl_records.hpp"

namespace tracesmith::agent::nccl {

using Event = arena::NcclEvent;

constexpr int bitOf(Event event) { return 1 << static_cast<int>(event); }

/// What a handle says. Ids start at 1.
struct Handle {
  uint64_t id = 0;
  Event event = Event::kGroup;
  bool is_timed = false;    ///< the end comes with the device's time, as a state
  bool is_foreign = false;  ///< this process does it for another one (PXN)

  static Handle of(const void* value) {
    const auto bits = reinterpret_cast<uintptr_t>(value);
    return {bits >> 6, static_cast<Event>(bits & 15), (bits & 16) != 0, (bits & 32) != 0};
  }
  void* value() const {
    const uint64_t bits =
        id << 6 | (is_foreign ? 32 : 0) | (is_timed ? 16 : 0) | static_cast<uint64_t>(event);
    return reinterpret_cast<void*>(bits);  // NOLINT(performance-no-int-to-ptr)
  }
};

/// Joins the session that the environment names, once. False: this process is not recorded.
bool isArmed();
/// Whether events are recorded at the moment, by this thread. [hot]
bool isRecording();
/// Events that the session wants, as a mask; fewer while nothing is recorded, so that NCCL does no
/// work on the device for it.
int wantedEvents();

uint64_t nextId();

/// `part` follows the record; its size is a multiple of 8. Needs isRecording(). [hot]
void writeStart(Event event, uint32_t context, uint64_t id, uint64_t parent, const void* part,
                size_t part_bytes);
void writeStop(const Handle& handle, bool has_device_time, uint64_t device_time);
void writeState(const Handle& handle, int state, uint64_t bytes);

struct CommunicatorFacts {
  uint32_t context = 0;
  uint64_t key = 0;
  int rank = -1;
  int ranks = 0;  ///< 0: unknown
  int nodes = 0;
  const char* name = nullptr;
};
/// Also while events are not recorded, because later events refer to it.
void writeCommunicator(const CommunicatorFacts& facts, bool is_gone);

}  // namespace tracesmith::agent::nccl
