// SPDX-License-Identifier: Apache-2.0
// What the agent tells: records in the ring of the calling thread, and what is told once.
#pragma once

#include <stdint.h>
#include <string.h>

#include "tracesmith/capture/agents/core/writer.hpp"
#include "tracesmith/capture/protocol/cuda_records.hpp"

namespace tracesmith::agent {

/// CUPTI's 32 bits as a number that does not come again in the life of a process. Any thread.
void beginCorrelations();
uint64_t wideCorrelation(uint32_t correlation);
/// Of a process that is captured for a while: what the device does for calls that came before the
/// first one that is recorded, or after the last one, is not.
void beginWithNextCall();
void endCorrelations();
bool isWanted(uint64_t correlation);

extern std::atomic<uint64_t> g_first_wanted;
/// A call begins: what it starts may be delivered before it ends. False: it is not to be recorded.
/// [hot]
inline bool noteCallBegins(uint32_t correlation) {
  uint64_t first = g_first_wanted.load(std::memory_order_relaxed);
  if (__builtin_expect(first == 0, 1)) return true;  // all are wanted
  if (!capturing()) return false;
  const uint64_t wide = wideCorrelation(correlation);
  while (wide < first && !g_first_wanted.compare_exchange_weak(first, wide)) {
  }
  return true;
}
/// A call is recorded. [hot]
inline void noteRecordedCall(uint64_t correlation) {
  t_state.ring->newest.store(correlation, std::memory_order_relaxed);
}

/// Puts a record into this thread's ring; an event of its own counts. False: it is lost, and
/// counted if it counts.
bool putRecord(const void* record, size_t bytes, bool counts);

/// Why less, or nothing, is captured. Put into the ring, for it may be that there is nothing else.
void tellProblem(bool nothing, const char* text);

/// A text as a record; where it lies is no matter. fillText() returns its bytes, whole words; it
/// cuts what is longer than kMostText.
constexpr size_t kMostText = 4000;
struct TextRecord {
  arena::CudaTextRecord head;
  char text[kMostText];
};
size_t fillText(TextRecord& r, arena::CudaText kind, uint32_t number, const char* text,
                uint32_t call_kind);
/// Not 0. [hot]
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
