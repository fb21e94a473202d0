// SPDX-License-Identifier: Apache-2.0
// What a program asks of a replay (ReplayEngine), what it is told, and the operations that
// StreamScheduler, OperationExecutor and DeterminismChecker work on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

enum class ReplayMode : uint8_t {
  Full,            ///< all of it
  Partial,         ///< what start_… and end_… choose, and what that needs
  DryRun,          ///< nothing: what would be executed is found, ordered and checked
  StreamSpecific,  ///< what stream_id chooses, and what that needs
};
std::string_view toString(ReplayMode mode);

enum class SchedulingPolicy : uint8_t {
  RoundRobin,      ///< streams that can go on take turns
  Priority,        ///< the highest StreamOperation::priority first
  OriginalTiming,  ///< in the order, and where that is asked for at the times, of the recording
};
std::string_view toString(SchedulingPolicy policy);

struct ReplayConfig {
  ReplayMode mode = ReplayMode::Full;
  /// RoundRobin and Priority execute one operation after the other in the order that they find.
  SchedulingPolicy scheduling = SchedulingPolicy::OriginalTiming;

  // Of Partial; both included. Times in ns since the first recorded call; ids are those of
  // ReplayEngine::operations(). What is chosen has to fulfil all that is given.
  std::optional<Timestamp> start_time;
  std::optional<Timestamp> end_time;
  std::optional<uint64_t> start_operation_id;
  std::optional<uint64_t> end_operation_id;
  /// Of StreamSpecific: StreamOperation::stream_id.
  std::optional<uint32_t> stream_id;

  /// Whether DeterminismChecker's counts are in the result.
  bool validate_order = true;
  bool validate_dependencies = true;
  /// Of simulated replays alone: a device is not asked when it began each operation.
  bool validate_timing = false;
  /// Hashes what each launch leaves, one command after the other, and compares that with recordings
  /// that have such hashes (`profile --record --launch-hashes`).
  bool compute_checksums = false;
  /// Notes on the recording are among the warnings.
  bool verbose = false;
  /// A replay has nobody to wait for, so nothing pauses: errors after the first are left out.
  bool pause_on_error = false;
  /// Of OriginalTiming with a recording: no call before its recorded time times this; 0.5 is twice
  /// as fast. 0: the recorded order, as fast as the device goes.
  double time_scale = 0;

  /// Number or part of the name of a device; "": the recorded one, else any, else simulated.
  /// "simulated": none is asked for.
  std::string device;
  /// A command that takes longer is given up; building programs is given ten times as long.
  double step_limit_s = 60;
};

/// Of a recording, operations are here its calls, those that make objects included; of a trace or
/// of events, what the device did.
struct ReplayResult {
  /// What was asked for was done, executed or simulated, and nothing is in `errors`.
  bool success = false;
  /// Something was executed, all that the program had read back was compared and equal, and
  /// nothing was out of order. Never true of what was simulated.
  bool deterministic = false;
  /// Nothing was executed: times are virtual (docs/replay.md).
  bool simulated = false;

  // Each operation is in one of the first three; together they are the total.
  size_t operations_executed = 0;
  size_t operations_simulated = 0;
  size_t operations_skipped = 0;  ///< not wanted, not possible, or DryRun
  size_t operations_total = 0;
  /// What could not be executed, or went otherwise than when it was recorded.
  size_t operations_failed = 0;

  /// ns. Of an execution: of all calls; of a simulation: on the virtual clock.
  Timestamp replay_duration = 0;
  Timestamp original_duration = 0;  ///< as recorded
  // As DeterminismChecker counts them.
  size_t order_violations = 0;
  size_t dependency_violations = 0;
  size_t timing_violations = 0;
  size_t read_backs = 0;  ///< compared with the recording
  size_t read_backs_equal = 0;
  size_t launches_hashed = 0;  ///< of compute_checksums: compared with the recording
  size_t launches_equal = 0;
  std::string device;  ///< that executed; "": none
  std::vector<std::string> errors;
  std::vector<std::string> warnings;

  /// A few lines for people. The first says whether it was executed or simulated.
  std::string summary() const;
};

/// One thing that a stream does.
struct StreamOperation {
  TraceEvent event;
  uint64_t operation_id = 0;  ///< another one for each
  uint32_t device_id = 0;
  uint32_t stream_id = 0;            ///< operations of one device and stream go one by one
  std::vector<uint64_t> depends_on;  ///< ids, besides its predecessor in the stream
  bool dependencies_satisfied = false;
  bool executed = false;
  bool skipped = false;
  /// ns that it took; of a simulated one: on the virtual clock. 0 until it is known.
  Timestamp execution_time = 0;

  bool simulated = false;
  /// Waits for what it depends on alone, not for its predecessor: all of a stream, or none.
  bool out_of_order = false;
  int64_t priority = 0;  ///< of SchedulingPolicy::Priority; the highest first
  /// When it began, on the clock of the replay; none where nobody measured it.
  std::optional<Timestamp> begin_time;
};

}  // namespace tracesmith
