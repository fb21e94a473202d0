// SPDX-License-Identifier: Apache-2.0
// Which queues have profiling only because we turned it on. The program must not see that.
#pragma once

#include <atomic>
#include <cstdint>

namespace tracesmith::agent {

class QueueProfiling {
 public:
  // What we did to a queue. Bits of its handle's slot: handles are aligned to 8.
  static constexpr uint64_t kOurs = 1;       // profiling is ours
  static constexpr uint64_t kPairAdded = 2;  // the property list had no CL_QUEUE_PROPERTIES
  static constexpr uint64_t kListAdded = 4;  // there was no property list at all

  /// Says of a new queue (its handle may have been another's before) what we did to it.
  void set(const void* queue, uint64_t bits);
  /// The bits of a queue; 0 when it is as the program made it.
  uint64_t bits(const void* queue) const;
  bool isOurs(const void* queue) const { return (bits(queue) & kOurs) != 0; }

 private:
  static constexpr uint64_t kBits = 7;
  static constexpr uint32_t kSlots = 4096;  // more queues than that: the rest is shown as it is
  static uint32_t slotOf(const void* queue);
  std::atomic<uint64_t> slots_[kSlots]{};  // handle | bits
};

QueueProfiling& queueProfiling();

}  // namespace tracesmith::agent
