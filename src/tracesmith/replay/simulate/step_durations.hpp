// SPDX-License-Identifier: Apache-2.0
// Device time of each command of a recording, taken from the trace recorded at the same time. No
// value is estimated: a command whose work cannot be identified with certainty has no duration.
//
// Recorder and tracer intercept the same call, one inside the other:
//
//   recording   |── clEnqueueNDRangeKernel ──────────|     process, thread, start and end
//   trace          |── clEnqueueNDRangeKernel ──|          the same thread, within it
//   device                       |── kernel ──|            the call's correlation id
//
// A thread makes one call at a time, so a traced call whose middle lies in a recorded one belongs
// to it. Function and result must match, and for a launch the kernel name too. Matching by ordinal
// would fail: the trace contains the recorder's own calls (docs/recording.md), and the recording
// lacks calls outside of a recorded range.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/replay/plan/replay_plan.hpp"

namespace tracesmith {

/// True if the command is device work: launches, copies, fills, maps, migrations. Markers and
/// barriers only wait.
bool takesDeviceTime(recording::CommandKind kind);

struct StepDurations {
  static constexpr int64_t kUnknown = -1;
  std::vector<int64_t> ns;    ///< by step; kUnknown: unknown or no device work
  uint64_t device_work = 0;   ///< device operations of the process in the trace
  uint64_t of_commands = 0;   ///< of those, operations caused by commands of the recording
  uint64_t contradicted = 0;  ///< calls on which recording and trace disagree; not used
  std::string why_none;       ///< the reason if no duration is known at all

  /// Takes O(n log n). `trace` must be in host time; `process` is the recording's process.
  static StepDurations of(const ReplayPlan& plan, const recording::Process& process,
                          const Trace& trace);
  static StepDurations none(const ReplayPlan& plan, std::string why);
};

}  // namespace tracesmith
