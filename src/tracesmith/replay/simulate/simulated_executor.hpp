// SPDX-License-Identifier: Apache-2.0
// Stands where a device would be and executes nothing: it finds out when each step of a plan would
// begin and end on a virtual clock, if the device's work took as long as it did when it was
// recorded.
//
// A step begins when all that it has to wait for is over (StepDependencies: in-order queues, wait
// lists, barriers, what the host had waited for). Calls of the host take no time; queues work
// beside each other and do not get into each other's way. What has no known duration takes none,
// and is counted.
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
  /// Commands of one kind on which a device would work.
  struct Work {
    uint64_t count = 0;
    uint64_t unknown = 0;  ///< of those: no duration is known, they took none
    int64_t total_ns = 0;
  };

  /// Both outlive it.
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
  /// From the begin to the end of the last step.
  int64_t virtualNs() const { return last_ns_; }
  const std::map<recording::CommandKind, Work>& work() const { return work_; }

 private:
  int64_t readyAt(StepIndex step) const;

  const ReplayPlan& plan_;
  const StepDurations& durations_;
  StepDependencies dependencies_;
  std::vector<int64_t> begin_ns_;
  std::vector<int64_t> end_ns_;  // kNotYet: it was neither performed nor passed over
  static constexpr int64_t kNotYet = -1;
  StepIndex passed_ = 0;     // steps before it have an end
  int64_t earliest_ns_ = 0;  // the host makes no call before it
  int64_t last_ns_ = 0;
  std::map<recording::CommandKind, Work> work_;
};

/// A replay that executed nothing.
struct PlanSimulation {
  RunResult run;  ///< nothing of it is executed, shown or compared; duration_ns is virtual
  std::vector<int64_t> begin_ns;  ///< of each step that was simulated
  std::vector<int64_t> end_ns;
  std::map<recording::CommandKind, SimulatedExecutor::Work> work;
};

/// Fails with kInvalidArgument for what asks for execution: dumps, hashes of launches, and orders
/// that are about what a device may do at the same time.
Result<PlanSimulation> simulatePlan(const ReplayPlan& plan, RecordingReader& reader,
                                    const StepDurations& durations, const RunSettings& settings);

}  // namespace tracesmith
