// SPDX-License-Identifier: Apache-2.0
// Where the calls of a recording are in the timeline of its trace.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/recording/command_kind.hpp"
#include "tracesmith/studio/studio_recording.hpp"
#include "tracesmith/studio/studio_trace.hpp"

namespace tracesmith::studio {

struct RecordedCall {
  uint32_t pid = 0;
  uint32_t thread = 0;   ///< kernel thread id
  int64_t start_ns = 0;  ///< of the call
  int64_t next_ns = 0;   ///< start of the next recorded call of the thread
  bool launches = false;
};

struct CallPlace {
  std::optional<DeviceSpan> call;  ///< the API call
  std::optional<DeviceSpan> work;  ///< what it made a device do
};

/// The places of calls, in their order. Takes one pass over the trace.
std::vector<CallPlace> placesOf(const StudioTrace& of, std::span<const RecordedCall> calls);

/// The recorded call of a step of the plan.
RecordedCall callOfStep(const StudioRecording& recording, StepIndex step);

/// {"at_ns", "call": [begin, end], "work": [begin, end]}, in ns from the start of the trace; null
/// if unknown.
void writePlace(const StudioTrace& of, const RecordedCall& call, const CallPlace& place,
                JsonWriter& out);

}  // namespace tracesmith::studio
