// SPDX-License-Identifier: Apache-2.0
// What the agent tells: records in the ring of the calling thread, and what is told once.
#pragma once

#include "tracesmith/capture/agents/core/writer.hpp"

namespace tracesmith::agent {

/// CUPTI's 32 bits as a number that does not come again in the life of a process. Any thread.
void beginCorrelations();
uint64_t wideCorrelation(uint32_t correlation);

/// Puts a record into this thread's ring; an event of its own counts. False: it is lost, and
/// counted if it counts.
bool putRecord(const void* record, size_t bytes, bool counts);

/// Why less, or nothing, is captured. Put into the ring, for it may be that there is nothing else.
void tellProblem(bool nothing, const char* text);

/// Definitions, which need sharedHeader(). A text is cut at 4000 bytes.
bool tellText(arena::CudaText kind, uint32_t number, const char* text, uint32_t call_kind = 0);
bool tellDefinition(const void* record, size_t bytes);

/// The number of a kernel's name, which is told when it is new; 0 when it could not be. CUPTI owns
/// the text, and may have another at the same place later.
uint32_t nameNumber(const char* name);
/// The same in a call of the program's: without a lock where the place is known. [hot]
uint32_t nameNumberOfCall(const char* name);
/// Code was unloaded: another text may lie where one was.
void forgetNamePlaces();

}  // namespace tracesmith::agent
