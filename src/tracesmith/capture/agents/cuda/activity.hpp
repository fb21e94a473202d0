// SPDX-License-Identifier: Apache-2.0
// Writes the activity records that CUPTI delivers into the ring of the delivering thread.
#pragma once

#include <atomic>

#include "tracesmith/capture/agents/cuda/captured_kinds.hpp"
#include "tracesmith/capture/agents/cuda/shared_file.hpp"

namespace tracesmith::agent {

extern cupti::Functions g_cupti;

/// In a forked child CUPTI is never called, and its callbacks do nothing.
extern std::atomic<bool> g_dead;
/// The epoch (see writer.hpp) in which CUPTI was entered. A child of the bare system call, in which
/// no fork handler runs, has another epoch. A process that is captured later gets a new one for
/// each capture.
extern std::atomic<uint64_t> g_cupti_epoch;
/// [hot]
inline bool isDead() {
  return g_dead.load(std::memory_order_relaxed) ||
         g_epoch->load(std::memory_order_relaxed) != g_cupti_epoch.load(std::memory_order_relaxed);
}

/// For a single subscriber: registers the buffers and enables the captured kinds; reports kinds
/// that cannot be enabled.
void enableActivities(const CaptureOptions& options);
void disableActivities();
/// The user's options. CUPTI only takes queueing times if they are requested before CUDA is
/// initialised: with `is_late` they are left out and that is reported.
CaptureOptions wantedOptions(bool is_late);
/// Restores settings that hold for all CUPTI clients to their defaults. Call after the last flush.
void restoreDefaults();
/// Enables unified memory records if TRACESMITH_UNIFIED_MEMORY asks for them. Only once the driver
/// is initialised.
void enableUnifiedMemory();
bool wantsUnifiedMemory();
void reportKindProblem(const char* name, int code);
/// CUPTI's name for a code and advice for it, as text that follows the description of a problem.
void describeCode(int code, char* out, size_t bytes);
/// Delivers complete records, and with `everything` also incomplete ones.
void flushActivities(bool everything);
/// Counts records that CUPTI dropped since the last call.
void countDropped();

/// CUPTI's callback that requests a buffer.
void requestBuffer(uint8_t** buffer, size_t* size, size_t* most_records);
/// Writes a record, laid out as in cupti.hpp, into this thread's ring.
void writeActivity(const cupti::Activity& record, size_t bytes);

/// The record length of a kind in this CUPTI version. It is the place where CUPTI finds the second
/// record in memory in which every word looks like the start of such a record. 0: unknown. Not
/// thread-safe.
template <class Next>
size_t recordBytes(int32_t kind, Next&& next) {
  alignas(8) static int32_t kinds[512];
  for (int32_t& word : kinds) word = kind;
  auto* const memory = reinterpret_cast<uint8_t*>(kinds);
  cupti::Activity* record = nullptr;
  for (int i = 0; i < 2; ++i) {
    if (next(memory, sizeof kinds, &record) != cupti::kSuccess) return 0;
  }
  const auto at = static_cast<size_t>(reinterpret_cast<uint8_t*>(record) - memory);
  return at % 8 == 0 ? at : 0;
}

/// Called when CUPTI is done with a buffer. Passes each record to `consume(record, bytes)`;
/// `next(&record)` finds records as cuptiActivityGetNextRecord does. Then takes the buffer back.
/// Records that CUPTI does not find, because it has been shut down, stay there for the collector.
template <class Next, class Consume>
void readBuffer(uint8_t* buffer, size_t valid, Next&& next, Consume&& consume) {
  cupti::Activity* record = nullptr;
  const auto is_end = [](int code) {
    return code == cupti::kNoMoreRecords || code == cupti::kInvalidKind;
  };
  int code = valid > 0 ? next(&record) : cupti::kNoMoreRecords;
  while (code == cupti::kSuccess) {
    const cupti::Activity* const current = record;
    const auto at = static_cast<size_t>(reinterpret_cast<uint8_t*>(record) - buffer);
    code = next(&record);
    if (code != cupti::kSuccess && !is_end(code)) break;
    const size_t end = code == cupti::kSuccess
                           ? static_cast<size_t>(reinterpret_cast<uint8_t*>(record) - buffer)
                           : valid;
    consume(*current, end - at);
    noteCopied(buffer, end);
  }
  countDropped();
  if (is_end(code)) returnBuffer(buffer, valid);
}

}  // namespace tracesmith::agent
