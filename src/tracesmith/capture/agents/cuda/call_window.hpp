// SPDX-License-Identifier: Apache-2.0
// Which calls belong to the capture of a process that is captured for a while. A call belongs to it
// if the capture was on when the call started; it is then recorded even if it ends later. Device
// work is recorded if its call is. Several threads call at once, so those that belong to the
// capture are not a range of ids.
#pragma once

#include <stdint.h>

#include "tracesmith/capture/agents/core/writer.hpp"

namespace tracesmith::agent {

/// Before anything is enabled. `for_a_while`: calls are selected one by one; otherwise all calls
/// belong to the capture until closeCallWindow().
void openCallWindow(bool for_a_while);
/// When the capture is off. The callbacks stay enabled until the activities are disabled, because
/// device work of a call that was not seen would pass for a selected call's.
void closeCallWindow();

/// The life of the process in which a thread has its ring. The other half of the epoch is the pid.
inline uint32_t lifeOf(const ThreadState& t) { return static_cast<uint32_t>(t.epoch >> 32); }

extern std::atomic<bool> g_selects_calls;
bool selectCall(uint32_t correlation);
/// A call starts: its device work may be delivered before the call ends. False: do not record it.
/// [hot]
inline bool noteCallBegins(uint32_t correlation) {
  return __builtin_expect(!g_selects_calls.load(std::memory_order_relaxed), 1) ||
         selectCall(correlation);
}
/// A call that noteCallBegins() accepted in this life ends. False: do not record it. [hot]
inline bool noteCallEnds(uint32_t life) {
  if (!ready()) return false;
  if (__builtin_expect(!g_selects_calls.load(std::memory_order_relaxed), 1)) return capturing();
  return lifeOf(t_state) == life;
}
/// After the call's record is written; needs ready(). [hot]
inline void noteCallIsRecorded() { t_state.ring->in_call.store(0, std::memory_order_release); }

/// Whether the device work of a call is recorded.
bool isWanted(uint64_t correlation);

}  // namespace tracesmith::agent
