// SPDX-License-Identifier: Apache-2.0
// The agent's side of cuda_layout.hpp: definitions that the collector can read again, and CUPTI's
// buffers where they outlive a killed program.
#pragma once

#include "tracesmith/capture/agents/cuda/cupti.hpp"
#include "tracesmith/capture/cuda_layout.hpp"

namespace tracesmith::agent {

/// Makes the file of this life. False: errno says why. Needs ready().
bool makeSharedFile(uint32_t cupti_version);

cuda_file::Header& sharedHeader();

/// Appends a definition (a record of arena_layout.hpp, whole words). False: there was no room,
/// which is counted. One at a time: the caller has a lock.
bool appendDefinition(const void* record, size_t bytes);

/// A buffer of zeros for CUPTI; null, counted, when none is to be had. Any thread, no lock.
uint8_t* takeBuffer();
/// The record at `offset` of a buffer is in a ring, and so are all before it.
void noteTold(const uint8_t* buffer, size_t end);
/// Zeroes what was used.
void giveBackBuffer(uint8_t* buffer, size_t used);
/// CUPTI has a buffer with records in it.
bool buffersAreOut();

}  // namespace tracesmith::agent
