// SPDX-License-Identifier: Apache-2.0
// The activity records that CUPTI delivers, put into the ring of the thread that delivers them.
#pragma once

#include <atomic>

#include "tracesmith/capture/agents/cuda/cupti.hpp"

namespace tracesmith::agent {

extern cupti::Functions g_cupti;

/// In a forked child CUPTI is never called, and what it calls does nothing.
extern std::atomic<bool> g_dead;

/// Registers the buffers and enables what is captured; which kinds can not be is told.
void enableActivities();
/// Of unified memory, if TRACESMITH_UNIFIED_MEMORY asks for it. Only once the driver is
/// initialised.
void enableUnifiedMemory();
bool wantsUnifiedMemory();
/// Delivers what is complete, or with `everything` also what is not.
void flushActivities(bool everything);
/// Records that CUPTI dropped since it was asked last.
void countDropped();

}  // namespace tracesmith::agent
