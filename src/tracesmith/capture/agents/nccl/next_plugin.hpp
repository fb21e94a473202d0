// SPDX-License-Identifier: Apache-2.0
// The profiler plugin that NCCL would have loaded without ours. NCCL loads one, so ours passes on
// what NCCL tells it: to the same version of the interface, or as NCCL itself does for plugins that
// have an older one.
#pragma once

#include <stdint.h>

#include "tracesmith/capture/agents/nccl/event_records.hpp"
#include "tracesmith/capture/agents/nccl/profiler_api.hpp"

namespace tracesmith::agent::nccl {

struct NewCommunicator {
  const char* name = nullptr;
  uint64_t key = 0;
  int nodes = 0;
  int ranks = 0;
  int rank = -1;
  Logger log = nullptr;
};

/// Loads the next plugin, the first time, if there is one that NCCL could use with version
/// `version` of the interface, and initialises it for a communicator. False: it takes no part.
bool initNext(int version, const NewCommunicator& communicator, void** context);
void finalizeNext(void* context);

/// The mask that the next plugin asks for now; it may change it at any time.
int nextMask();

/// What the next plugin gets as handle for an event of ours; null if it has none.
void* nextHandleOf(const void* handle);

/// Starts an event there, if its mask has it, and keeps its handle under `id`. `Descriptor` is
/// that of the version that NCCL calls; its handles are ours, but the parent if not `has_parent`.
/// Returns the plugin's handle.
template <class Descriptor>
void* startNext(void* context, uint64_t id, Event event, const Descriptor& descriptor,
                bool has_parent);
void stopNext(const void* handle);
/// `arguments` may be null.
void stateNext(const void* handle, int state, const StateArguments* arguments);
void stateNext(const void* handle, int state, const OldStateArguments* arguments);

}  // namespace tracesmith::agent::nccl
