// SPDX-License-Identifier: Apache-2.0
// Ids are strong types, so a stream cannot be passed as a thread. All ids are trace-wide and start
// at 1; 0 means "none", so that an absent column reads as "none".
#pragma once

#include <cstdint>

namespace tracesmith {

enum class StringId : uint32_t { kNone = 0 };
enum class ProcessId : uint32_t {
  kNone = 0
};                                             ///< row of `process`; the system's number is its pid
enum class ThreadId : uint32_t { kNone = 0 };  ///< row of `thread`; the system's number is its tid
enum class DeviceId : uint32_t { kNone = 0 };
enum class ContextId : uint32_t { kNone = 0 };
enum class StreamId : uint32_t { kNone = 0 };
enum class ShapeId : uint32_t { kNone = 0 };
enum class CallPathId : uint32_t { kNone = 0 };
enum class FrameId : uint32_t { kNone = 0 };
enum class ClockDomainId : uint32_t { kNone = 0 };  ///< kNone is the host's CLOCK_MONOTONIC
enum class CounterTrackId : uint32_t { kNone = 0 };
enum class LossId : uint32_t { kNone = 0 };
enum class TopologyNodeId : uint32_t { kNone = 0 };
enum class CommunicatorId : uint32_t { kNone = 0 };
enum class RankId : uint32_t { kNone = 0 };  ///< row of `rank`; its number in the job is `number`

/// The index of an id in its dictionary's columns. Only for ids other than kNone.
template <class Id>
constexpr uint32_t indexOf(Id id) {
  return static_cast<uint32_t>(id) - 1;
}
template <class Id>
constexpr Id idAt(uint64_t index) {
  return static_cast<Id>(static_cast<uint32_t>(index + 1));
}

}  // namespace tracesmith
