// SPDX-License-Identifier: Apache-2.0
// Replays for programs: what `tracesmith replay` does, behind one class.
//
//   ReplayEngine engine;
//   if (Status ok = engine.loadTrace("run.sbt"); !ok) ...
//   const ReplayResult result = engine.replay({});
//   std::puts(result.summary().c_str());
//
// A recording is executed on a device, in a process of its own, and what it reads back is compared.
// Where there is no recording (other tools' traces, events) or no device, the same operations are
// timed on a virtual clock, and the result says so (ReplayResult::simulated).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/replay/determinism_checker.hpp"
#include "tracesmith/replay/replay_config.hpp"

namespace tracesmith {

/// One thread at a time. replay() forks where it executes: call it from a process that has loaded
/// no driver, as drivers do not survive that.
class ReplayEngine {
 public:
  ReplayEngine();
  ~ReplayEngine();
  ReplayEngine(ReplayEngine&&) noexcept;
  ReplayEngine& operator=(ReplayEngine&&) noexcept;

  /// A recording (.sbr), a trace (.sbt) with the recording beside it if there is one, or another
  /// tool's trace. Replaces what was loaded, also when it fails.
  Status loadTrace(const std::string& path);
  /// kInvalidArgument where none of them is an operation.
  Status loadEvents(const std::vector<TraceEvent>& events);

  /// May be called again and again. Never fails otherwise than in the result.
  ReplayResult replay(const ReplayConfig& config = {});

  /// True when what is loaded can be executed, given a device.
  bool hasRecording() const;
  /// What was loaded, in the recorded order (stream_operations.hpp).
  const std::vector<StreamOperation>& operations() const;
  /// What the last replay() did with them.
  const DeterminismChecker& getChecker() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
