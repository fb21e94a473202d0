// SPDX-License-Identifier: Apache-2.0
// The activity records that CUPTI delivers, put into the ring of the thread that delivers them.
#pragma once

#include <atomic>

#include "tracesmith/capture/agents/cuda/captured_kinds.hpp"
#include "tracesmith/capture/agents/cuda/shared_file.hpp"

namespace tracesmith::agent {

extern cupti::Functions g_cupti;

/// In a forked child CUPTI is never called, and what it calls does nothing.
extern std::atomic<bool> g_dead;
/// The epoch (see writer.hpp) in which CUPTI was entered: a child of the bare system call, which is
/// told nothing, has another, and a process that is captured later one for each time.
extern std::atomic<uint64_t> g_cupti_epoch;
/// [hot]
inline bool isDead() {
  return g_dead.load(std::memory_order_relaxed) ||
         g_epoch->load(std::memory_order_relaxed) != g_cupti_epoch.load(std::memory_order_relaxed);
}

/// Registers the buffers and enables what is captured, of one subscriber that is alone; which kinds
/// cannot be is told.
void enableActivities(const CaptureOptions& options);
void disableActivities();
/// As the user has chosen. Times of queueing CUPTI takes only if they are asked for before CUDA is
/// initialised: with `is_late` they are left out, which is told.
CaptureOptions wantedOptions(bool is_late);
/// What holds for all clients is as they expect it; after the last flush.
void restoreDefaults();
/// Of unified memory, if TRACESMITH_UNIFIED_MEMORY asks for it. Only once the driver is
/// initialised.
void enableUnifiedMemory();
bool wantsUnifiedMemory();
void tellKindProblem(const char* name, int code);
/// CUPTI's name for a code, and what can be done about it, as text behind what went wrong.
void describeCode(int code, char* out, size_t bytes);
/// Delivers what is complete, or with `everything` also what is not.
void flushActivities(bool everything);
/// Records that CUPTI dropped since it was asked last.
void countDropped();

/// CUPTI wants a buffer.
void requestBuffer(uint8_t** buffer, size_t* size, size_t* most_records);
/// A record, laid out as cupti.hpp has it, into this thread's ring.
void tellActivity(const cupti::Activity& record, size_t bytes);

/// How long this version's records of a kind are: where it finds the second one, in memory that
/// says everywhere that such a record begins. 0: it does not say. Not on two threads.
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

/// CUPTI is done with a buffer: gives `tell(record, bytes)` each of its records, which
/// `next(&record)` finds as cuptiActivityGetNextRecord does, and takes the buffer back. What CUPTI
/// does not find any more, for it is shut down by now, stays there for the collector.
template <class Next, class Tell>
void readBuffer(uint8_t* buffer, size_t valid, Next&& next, Tell&& tell) {
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
    tell(*current, end - at);
    noteTold(buffer, end);
  }
  countDropped();
  if (is_end(code)) giveBackBuffer(buffer, valid);
}

}  // namespace tracesmith::agent
