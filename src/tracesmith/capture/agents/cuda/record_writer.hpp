// SPDX-License-Identifier: Apache-2.0
// The agent's output: records in the ring of the calling thread, and definitions, written once.
#pragma once

#include <stdint.h>
#include <string.h>

#include "tracesmith/capture/agents/core/writer.hpp"
#include "tracesmith/capture/protocol/cuda_records.hpp"

namespace tracesmith::agent {

/// Extends CUPTI's 32-bit ids to numbers that are unique in the life of a process. Any thread.
void beginCorrelations();
uint64_t wideCorrelation(uint32_t correlation);
/// The newest number that wideCorrelation() has given.
uint64_t newestCorrelation();

/// Writes a record into this thread's ring. `counts`: the record is an event, so the counters
/// include it. False: it was lost; an event is then counted as lost.
bool putRecord(const void* record, size_t bytes, bool counts);

/// Reports why less, or nothing, is captured. Goes into the ring, since it may be the only record.
void reportProblem(bool nothing, const char* text);

/// A text as a record, at any address. fillText() returns its size in bytes, a multiple of whole
/// words; it cuts texts longer than kMostText.
constexpr size_t kMostText = 4000;
struct TextRecord {
  arena::CudaTextRecord head;
  char text[kMostText];
};
size_t fillText(TextRecord& r, arena::CudaText kind, uint32_t number, const char* text,
                uint32_t call_kind);
/// A hash that is never 0. [hot]
inline uint64_t hashOf(const char* text, size_t length) {
  uint64_t h = 0x9e3779b97f4a7c15u ^ length;
  const auto mix = [&h](uint64_t word) {
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  };
  for (; length >= 8; text += 8, length -= 8) {
    uint64_t word;
    memcpy(&word, text, 8);
    mix(word);
  }
  uint64_t rest = 0;
  memcpy(&rest, text, length);
  mix(rest);
  return h == 0 ? 1 : h;
}

/// Write definitions; need sharedHeader(). A text is cut at 4000 bytes.
bool writeText(arena::CudaText kind, uint32_t number, const char* text, uint32_t call_kind = 0);
bool writeDefinition(const void* record, size_t bytes);

/// The number of a kernel's name; a new name is recorded first. 0: it could not be recorded. CUPTI
/// owns the text, and may later have another text at the same address.
uint32_t nameNumber(const char* name);
/// The same within a call of the program: takes no lock if the address is known. [hot]
uint32_t nameNumberOfCall(const char* name);
/// Code was unloaded: another text may now be at a known address.
void clearNameSlots();

}  // namespace tracesmith::agent
