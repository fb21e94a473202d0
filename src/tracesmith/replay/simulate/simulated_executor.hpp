// SPDX-License-Identifier: Apache-2.0
// Replaces a device without executing anything: computes when each step of a plan would start and
// end on a virtual clock, if the device's work took as long as when it was recorded.
//
// A step starts when all steps that it waits for have ended (StepDependencies: in-order queues,
// wait lists, barriers, host waits). Host calls take no time. Queues run concurrently and do not
// slow each other down. Work of unknown duration takes no time and is counted.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/replay/plan/step_order.hpp"
#include "tracesmith/replay/run/executor.hpp"
#include "tracesmith/replay/run/replay_run.hpp"
#include "tracesmith/replay/simulate/step_durations.hpp"

namespace tracesmith {

class SimulatedExecutor final : public Executor {
 public:
  /// Device work of one kind of command.
  struct Work {
    uint64_t count = 0;
    uint64_t unknown = 0;  ///< of those: unknown duration, so they took no time
    int64_t total_ns = 0;
  };

  /// `plan` and `durations` must outlive this object.
  SimulatedExecutor(const ReplayPlan& plan, const StepDurations& durations);

  StepOutcome perform(StepIndex step, StepMode mode) override;
  StepOutcome performPermuted(StepIndex launch, uint64_t seed) override;
  StepOutcome finish() override { return {.simulated = true}; }
  Result<ByteView> shown(StepIndex step) override;
  Result<Bytes> contents(ObjectIndex memory) override;
  Status setContents(ObjectIndex memory, ByteView bytes) override;
  bool has(ObjectIndex) const override { return false; }
  void keepObjects() override {}
  std::string argumentType(StepIndex, uint32_t) const override { return {}; }
  std::string deviceName() const override { return "simulated"; }
  bool sameDevice() const override { return false; }
  bool holdUntil(int64_t since_begin_ns) override;

  int64_t beginNs(StepIndex step) const { return begin_ns_[step]; }
  int64_t endNs(StepIndex step) const { return end_ns_[step]; }
  /// Virtual time from the start to the end of the last step.
  int64_t virtualNs() const { return last_ns_; }
  const std::map<recording::CommandKind, Work>& work() const { return work_; }

 private:
  int64_t readyAt(StepIndex step) const;

  const ReplayPlan& plan_;
  const StepDurations& durations_;
  StepDependencies dependencies_;
  std::vector<int64_t> begin_ns_;
  std::vector<int64_t> end_ns_;  // kNotYet: neither performed nor passed over
  static constexpr int64_t kNotYet = -1;
  StepIndex passed_ = 0;     // all steps before this one have an end
  int64_t earliest_ns_ = 0;  // the host makes no call before this time
  int64_t last_ns_ = 0;
  std::map<recording::CommandKind, Work> work_;
};

/// A replay that executed nothing.
struct PlanSimulation {
  RunResult run;  ///< nothing in it counts as executed, shown or compared; duration_ns is virtual
  std::vector<int64_t> begin_ns;  ///< by step, for those that were simulated
  std::vector<int64_t> end_ns;
  std::map<recording::CommandKind, SimulatedExecutor::Work> work;
};

/// Fails with kInvalidArgument for settings that require execution: dumps, hashes of launches, and
/// orders about concurrency on the device.
Result<PlanSimulation> simulatePlan(const ReplayPlan& plan, RecordingReader& reader,
                                    const StepDurations& durations, const RunSettings& settings);

}  // namespace tracesmith
