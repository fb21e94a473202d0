// SPDX-License-Identifier: Apache-2.0
// API for programs: the functions of `tracesmith replay` in one class.
//
//   ReplayEngine engine;
//   if (Status ok = engine.loadTrace("run.sbt"); !ok) ...
//   const ReplayResult result = engine.replay({});
//   std::puts(result.summary().c_str());
//
// The engine executes a recording on a device, in a separate process, and compares the data read
// back. Without a recording (other tools' traces, events) or without a device, it times the same
// operations on a virtual clock and says so (ReplayResult::simulated).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/replay/determinism_checker.hpp"
#include "tracesmith/replay/replay_config.hpp"

namespace tracesmith {

/// Use from one thread at a time. replay() forks when it executes: it fails with kUnsupported in a
/// process that has loaded a driver, because drivers do not survive a fork.
class ReplayEngine {
 public:
  ReplayEngine();
  ~ReplayEngine();
  ReplayEngine(ReplayEngine&&) noexcept;
  ReplayEngine& operator=(ReplayEngine&&) noexcept;

  /// Loads a recording (.sbr), a trace (.sbt) with the recording beside it if there is one, or
  /// another tool's trace. Replaces what was loaded before, even on failure.
  Status loadTrace(const std::string& path);
  /// kInvalidArgument if none of the events is an operation.
  Status loadEvents(const std::vector<TraceEvent>& events);

  /// May be called repeatedly. Reports failures only in the result.
  ReplayResult replay(const ReplayConfig& config = {});

  /// True if the loaded data can be executed, given a device.
  bool hasRecording() const;
  /// The loaded operations, in recorded order (stream_operations.hpp).
  const std::vector<StreamOperation>& operations() const;
  /// The checker's findings on the last replay().
  const DeterminismChecker& getChecker() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
