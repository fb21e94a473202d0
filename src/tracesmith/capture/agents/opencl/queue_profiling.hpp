// SPDX-License-Identifier: Apache-2.0
// Queues that have profiling only because the agent enabled it. The program must not see that.
#pragma once

#include <atomic>
#include <cstdint>

namespace tracesmith::agent {

class QueueProfiling {
 public:
  // Changes that the agent made to a queue: bits of its handle's slot, because handles are aligned
  // to 8.
  static constexpr uint64_t kOurs = 1;       // the agent enabled profiling
  static constexpr uint64_t kPairAdded = 2;  // the property list had no CL_QUEUE_PROPERTIES
  static constexpr uint64_t kListAdded = 4;  // there was no property list at all

  /// Stores the changes made to a new queue (its handle may have been another queue's before).
  void set(const void* queue, uint64_t bits);
  /// The bits of a queue; 0 if the agent did not change it.
  uint64_t bits(const void* queue) const;
  bool isOurs(const void* queue) const { return (bits(queue) & kOurs) != 0; }

 private:
  static constexpr uint64_t kBits = 7;
  static constexpr uint32_t kSlots = 4096;  // further queues are shown unmasked
  static uint32_t slotOf(const void* queue);
  std::atomic<uint64_t> slots_[kSlots]{};  // handle | bits
};

QueueProfiling& queueProfiling();

}  // namespace tracesmith::agent
