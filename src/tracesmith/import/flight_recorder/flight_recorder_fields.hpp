// SPDX-License-Identifier: Apache-2.0
// The members of an entry of the Flight Recorder that columns are made of. Names differ between
// versions of the format: 1.0 has "seq_id", and dumps before it times in microseconds.
#pragma once

#include <string_view>
#include <utility>

namespace tracesmith::import::flight_field {

enum : int {
  kName,
  kGroup,
  kGroupId,
  kSequence,
  kP2pSequence,
  kCreated,
  kStarted,
  kCompleted,
  kCreatedMicros,
  kStartedMicros,
  kCompletedMicros,
  kDuration,
  kInputSizes,
  kInputTypes,
  kOutputSizes,
  kOutputTypes,
  kState,
  kIsP2p,
  kThreadId,
  kThreadName,
  kFrames,
  kFields,
};

inline int flightFieldOf(std::string_view path) {
  constexpr std::pair<std::string_view, int> kNames[] = {
      {"profiling_name", kName},
      {"process_group", kGroup},
      {"pg_id", kGroupId},
      {"collective_seq_id", kSequence},
      {"seq_id", kSequence},
      {"p2p_seq_id", kP2pSequence},
      {"time_created_ns", kCreated},
      {"time_discovered_started_ns", kStarted},
      {"time_discovered_completed_ns", kCompleted},
      {"time_created_us", kCreatedMicros},
      {"time_discovered_started_us", kStartedMicros},
      {"time_discovered_completed_us", kCompletedMicros},
      {"duration_ms", kDuration},
      {"input_sizes", kInputSizes},
      {"input_dtypes", kInputTypes},
      {"output_sizes", kOutputSizes},
      {"output_dtypes", kOutputTypes},
      {"state", kState},
      {"is_p2p", kIsP2p},
      {"thread_id", kThreadId},
      {"thread_name", kThreadName},
      {"frames", kFrames},
  };
  for (const auto& [name, field] : kNames) {
    if (name == path) return field;
  }
  return -1;
}

}  // namespace tracesmith::import::flight_field
