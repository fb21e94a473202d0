// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/cuda/call_window.hpp"

#include "tracesmith/capture/agents/cuda/record_writer.hpp"

namespace tracesmith::agent {
namespace {

// All ids that belong to the capture are in this range: from the lowest to the highest that was
// selected until now, or all.
constinit std::atomic<uint64_t> g_first{0};
constinit std::atomic<uint64_t> g_last{UINT64_MAX};

/// Ids in the range that do not belong to the capture: their calls started while it was off, those
/// of other threads with neighbouring ids while it was on. Each has a place of its own among this
/// many ids in a row.
constexpr size_t kRefused = 1u << 14;
constinit std::atomic<uint64_t> g_refused_before[kRefused];  // the first selected call
constinit std::atomic<uint64_t> g_refused_after[kRefused];

bool isInRange(uint64_t correlation) {
  return correlation >= g_first.load(std::memory_order_relaxed) &&
         correlation <= g_last.load(std::memory_order_relaxed);
}

bool isRefused(uint64_t correlation) {
  const size_t place = correlation % kRefused;
  return g_refused_before[place].load(std::memory_order_relaxed) == correlation ||
         g_refused_after[place].load(std::memory_order_relaxed) == correlation;
}

void refuse(uint64_t correlation) {
  const bool any_selected = g_last.load(std::memory_order_relaxed) != 0;
  std::atomic<uint64_t>& place =
      (any_selected ? g_refused_after : g_refused_before)[correlation % kRefused];
  // Many calls may start between the end of the capture and the end of the callbacks. They are
  // beyond the range, and must not displace one that is in it.
  if (!isInRange(place.load(std::memory_order_relaxed))) {
    place.store(correlation, std::memory_order_relaxed);
  }
}

void extendRange(uint64_t correlation) {
  uint64_t first = g_first.load(std::memory_order_relaxed);
  while (correlation < first && !g_first.compare_exchange_weak(first, correlation)) {
  }
  uint64_t last = g_last.load(std::memory_order_relaxed);
  while (correlation > last && !g_last.compare_exchange_weak(last, correlation)) {
  }
}

}  // namespace

constinit std::atomic<bool> g_selects_calls{false};

void openCallWindow(bool for_a_while) {
  g_first.store(for_a_while ? UINT64_MAX : 0);
  g_last.store(for_a_while ? 0 : UINT64_MAX);
  g_selects_calls.store(for_a_while);
}

void closeCallWindow() {
  if (!g_selects_calls.load()) g_last.store(newestCorrelation());
}

bool selectCall(uint32_t correlation) {
  const uint64_t wide = wideCorrelation(correlation);
  if (!capturing()) {
    refuse(wide);
    return false;
  }
  // A call of the driver within one of the runtime has its id, and its fate.
  if (isRefused(wide)) return false;
  extendRange(wide);
  if (ready()) t_state.ring->in_call.store(wide, std::memory_order_relaxed);
  return true;
}

bool isWanted(uint64_t correlation) { return isInRange(correlation) && !isRefused(correlation); }

}  // namespace tracesmith::agent
