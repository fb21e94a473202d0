// SPDX-License-Identifier: Apache-2.0
// The recording beside a trace: its commands, and the races in them. Nothing of it is executed.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/replay/check/race_search.hpp"
#include "tracesmith/replay/plan/replay_source.hpp"

namespace tracesmith::studio {

/// Any number of threads may use it at the same time.
class StudioRecording {
 public:
  /// kNotFound: the trace has no recording.
  static Result<std::unique_ptr<StudioRecording>> open(const std::string& trace_path);

  const std::string& path() const { return source_.reader.path(); }
  /// The process that replays execute: the one with most launches.
  const recording::Process& process() const { return source_.process; }
  const ReplayPlan& plan() const { return source_.plan; }
  /// What to know before trusting a replay.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// The races of all processes, as `tracesmith races` finds them; with --all if `all`. Made when
  /// they are first asked for.
  Result<const std::vector<ProcessRaces>*> races(bool all) const;
  /// The bytes of a payload.
  Result<Bytes> content(const recording::Payload& payload) const {
    const std::lock_guard lock(mutex_);
    return source_.reader.content(payload);
  }

 private:
  StudioRecording(ReplaySource source, std::vector<std::string> warnings)
      : source_(std::move(source)), warnings_(std::move(warnings)) {}

  mutable std::mutex mutex_;  // of the reader and the races
  mutable ReplaySource source_;
  const std::vector<std::string> warnings_;
  mutable std::array<std::optional<std::vector<ProcessRaces>>, 2> races_;
};

}  // namespace tracesmith::studio
