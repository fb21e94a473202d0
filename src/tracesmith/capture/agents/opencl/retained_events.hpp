// SPDX-License-Identifier: Apache-2.0
// Counts the references that the agent holds on events that the program also holds, so that the
// reference count reported to the program is its own. Lock-free: one counter per hash bucket.
#pragma once

#include <atomic>
#include <cstdint>

namespace tracesmith::agent {

class HeldEvents {
 public:
  void hold(const void* event) { bucket(event).fetch_add(1, std::memory_order_acq_rel); }
  void release(const void* event) { bucket(event).fetch_sub(1, std::memory_order_acq_rel); }
  /// False: the agent holds no reference. True: it does, or holds one on another event in the
  /// bucket.
  bool maybeHeld(const void* event) { return bucket(event).load(std::memory_order_acquire) != 0; }

 private:
  static constexpr uint32_t kBuckets = 4096;
  std::atomic<uint32_t>& bucket(const void* event) {
    const uint64_t h = reinterpret_cast<uint64_t>(event) * 0x9E3779B97F4A7C15ull;
    return buckets_[h >> 52];
  }
  std::atomic<uint32_t> buckets_[kBuckets]{};
};

HeldEvents& heldEvents();

}  // namespace tracesmith::agent
