// SPDX-License-Identifier: Apache-2.0
// The communicators of this process, by their handles.
#pragma once

#include <stdint.h>

#include <atomic>

#include "tracesmith/capture/agents/mpi/mpi_library.hpp"

namespace tracesmith::agent::mpi {

struct Communicator {
  std::atomic<Handle> handle{0};
  uint32_t number = 0;  // in records
  int rank = 0;
  int size = 0;  // of the group that calls address: the remote one between two groups
  int local_size = 0;
  bool is_between_groups = false;
  std::atomic<uint32_t> calls[static_cast<size_t>(MpiApi::kCount)] = {};  // of collectives
};

/// The communicator with this handle; describes it in the ring if it is new. Null if there are too
/// many or the implementation is unknown. Call it after a call has used the handle successfully, or
/// for a communicator that was found so before.
Communicator* findCommunicator(Handle handle);
/// The same, but null if it was not found before.
Communicator* knownCommunicator(Handle handle);
/// The program has freed it; its handle may come again.
void forgetCommunicator(Handle handle);
/// The program has named it.
void renameCommunicator(Handle handle);

}  // namespace tracesmith::agent::mpi
