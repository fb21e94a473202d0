// SPDX-License-Identifier: Apache-2.0
// Settings and results of ReplayEngine, and the operations that StreamScheduler, OperationExecutor
// and DeterminismChecker work on.
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
  Full,            ///< replays everything
  Partial,         ///< replays what start_… and end_… select, and what that needs
  DryRun,          ///< executes nothing: finds, orders and checks what would be executed
  StreamSpecific,  ///< replays what stream_id selects, and what that needs
};
std::string_view toString(ReplayMode mode);

enum class SchedulingPolicy : uint8_t {
  RoundRobin,      ///< streams with a ready operation take turns
  Priority,        ///< the highest StreamOperation::priority first
  OriginalTiming,  ///< in the recorded order; with time_scale also at the recorded times
};
std::string_view toString(SchedulingPolicy policy);

struct ReplayConfig {
  ReplayMode mode = ReplayMode::Full;
  /// RoundRobin and Priority execute one operation after the other in the order that they
  /// determine.
  SchedulingPolicy scheduling = SchedulingPolicy::OriginalTiming;

  // For Partial: first and last, both included. Times are in ns since the first recorded call; ids
  // are those of ReplayEngine::operations(). An operation must satisfy all given limits.
  std::optional<Timestamp> start_time;
  std::optional<Timestamp> end_time;
  std::optional<uint64_t> start_operation_id;
  std::optional<uint64_t> end_operation_id;
  /// For StreamSpecific: StreamOperation::stream_id.
  std::optional<uint32_t> stream_id;

  /// Whether the result includes DeterminismChecker's counts.
  bool validate_order = true;
  bool validate_dependencies = true;
  /// For simulated replays only: start times on a device are not queried.
  bool validate_timing = false;
  /// Hashes the output of each launch, with commands executed one after the other, and compares it
  /// with recordings that have such hashes (`profile --record --launch-hashes`).
  bool compute_checksums = false;
  /// Adds notes on the recording to the warnings.
  bool verbose = false;
  /// Reports only the first error. (A replay cannot pause because nobody could resume it.)
  bool pause_on_error = false;
  /// For OriginalTiming with a recording: no call starts before its recorded time multiplied by
  /// this factor; 0.5 is twice as fast. 0: the recorded order, as fast as the device allows.
  double time_scale = 0;

  /// Number of a device or a part of its name; "": the recorded one, else any, else simulated.
  /// "simulated": uses no device.
  std::string device;
  /// Limit per command; the replay is aborted when one takes longer. Program builds get ten times
  /// as long.
  double step_limit_s = 60;
};

/// Operations here are: for a recording, all its calls, including those that create objects; for a
/// trace or events, the device work.
struct ReplayResult {
  /// The request was completed, by execution or simulation, and `errors` is empty.
  bool success = false;
  /// Operations were executed, all data the program had read back was compared and equal, and
  /// nothing was out of order. Never true for a simulation.
  bool deterministic = false;
  /// Nothing was executed: times are virtual (docs/replay.md).
  bool simulated = false;

  // Each operation counts in one of the first three; together they are the total.
  size_t operations_executed = 0;
  size_t operations_simulated = 0;
  size_t operations_skipped = 0;  ///< not selected, not possible, or DryRun
  size_t operations_total = 0;
  /// Operations that could not be executed, or had another outcome than when recorded.
  size_t operations_failed = 0;

  /// In ns. Execution: duration of all calls; simulation: duration on the virtual clock.
  Timestamp replay_duration = 0;
  Timestamp original_duration = 0;  ///< as recorded
  // As DeterminismChecker counts them.
  size_t order_violations = 0;
  size_t dependency_violations = 0;
  size_t timing_violations = 0;
  size_t read_backs = 0;  ///< compared with the recording
  size_t read_backs_equal = 0;
  size_t launches_hashed = 0;  ///< for compute_checksums: compared with the recording
  size_t launches_equal = 0;
  std::string device;  ///< the device that executed; "": none
  std::vector<std::string> errors;
  std::vector<std::string> warnings;

  /// A few readable lines. The first states whether the replay was executed or simulated.
  std::string summary() const;
};

/// One operation of a stream.
struct StreamOperation {
  TraceEvent event;
  uint64_t operation_id = 0;  ///< unique
  uint32_t device_id = 0;
  uint32_t stream_id = 0;            ///< operations of one device and stream run one at a time
  std::vector<uint64_t> depends_on;  ///< ids, in addition to the predecessor in the stream
  bool dependencies_satisfied = false;
  bool executed = false;
  bool skipped = false;
  /// Duration in ns; for a simulated operation, on the virtual clock. 0 until known.
  Timestamp execution_time = 0;

  bool simulated = false;
  /// Waits only for its dependencies, not for its predecessor. The same for all operations of a
  /// stream.
  bool out_of_order = false;
  int64_t priority = 0;  ///< for SchedulingPolicy::Priority; the highest first
  /// Start time on the clock of the replay; none if not measured.
  std::optional<Timestamp> begin_time;
};

}  // namespace tracesmith
