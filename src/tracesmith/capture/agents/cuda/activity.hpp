// SPDX-License-Identifier: Apache-2.0
// The activity records that CUPTI delivers, put into the ring of the thread that delivers them.
#pragma once

#include "tracesmith/capture/agents/core/writer.hpp"
#include "tracesmith/capture/agents/cuda/cupti.hpp"

namespace tracesmith::agent {

extern cupti::Functions g_cupti;

/// In a forked child CUPTI is never called, and what it calls does nothing.
extern std::atomic<bool> g_dead;

/// CUPTI's 32 bits as a number that does not come again in the life of a process. Any thread.
uint64_t wideCorrelation(uint32_t correlation);

/// Puts a record into this thread's ring; an event of its own counts. False: it is lost, and
/// counted if it counts.
bool putRecord(const void* record, size_t bytes, bool counts);
/// A text of at most 4000 bytes; what is longer is cut.
bool putText(arena::CudaText kind, uint32_t number, const char* text, uint32_t call_kind = 0);

/// Registers the buffers and enables what is captured; which kinds can not be is said by putText().
void enableActivities();
/// Delivers what is complete, or with `everything` also what is not.
void flushActivities(bool everything);
/// CUPTI has buffers whose records are not all complete.
bool activitiesAreOut();

}  // namespace tracesmith::agent
