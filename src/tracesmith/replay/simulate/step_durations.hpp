// SPDX-License-Identifier: Apache-2.0
// How long the device took for each command of a recording, as the trace that was recorded with it
// says. Nothing here is a guess: a command whose work cannot be told for certain has no duration.
//
// Recorder and tracer sit in the same call, one above the other:
//
//   recording   |── clEnqueueNDRangeKernel ──────────|     process, thread, begin and end
//   trace          |── clEnqueueNDRangeKernel ──|          the same thread, within it
//   device                       |── kernel ──|            the call's correlation id
//
// A thread makes one call at a time, so a traced call whose middle lies in a recorded one was made
// by it; it has to be of the same function and result, and a launch's kernel of the same name.
// Ordinals would not do: the recorder's own calls (docs/recording.md) are in the trace, and what
// lies outside of a recorded range is not in the recording.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/replay/plan/replay_plan.hpp"

namespace tracesmith {

/// Whether a device works on such a command: launches, copies, fills, maps, migrations. Markers and
/// barriers only wait.
bool takesDeviceTime(recording::CommandKind kind);

struct StepDurations {
  static constexpr int64_t kUnknown = -1;
  std::vector<int64_t> ns;    ///< by step; kUnknown: not known, or none
  uint64_t device_work = 0;   ///< of the process, in the trace
  uint64_t of_commands = 0;   ///< of that, which commands of the recording asked for
  uint64_t contradicted = 0;  ///< calls that recording and trace tell differently: not used
  std::string why_none;       ///< where nothing at all is known

  /// O(n log n). `trace` in host time, `process` as the recording names it.
  static StepDurations of(const ReplayPlan& plan, const recording::Process& process,
                          const Trace& trace);
  static StepDurations none(const ReplayPlan& plan, std::string why);
};

}  // namespace tracesmith
