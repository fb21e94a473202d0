// SPDX-License-Identifier: Apache-2.0
// Executes operations one by one, in whatever order its user chooses: with StreamScheduler, a
// replay of one's own. ReplayEngine does that and more; this is for those who want to look between.
//
//   StreamScheduler scheduler;
//   scheduler.addOperations(operationsOf(plan));
//   OperationExecutor executor(plan, *device);  // openClExecutor(), SimulatedExecutor
//   while (StreamOperation* op = scheduler.getNextOperation()) {
//     if (Status ok = executor.execute(*op); !ok) ...
//     scheduler.markCompleted(op->operation_id);
//   }
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/replay/replay_config.hpp"
#include "tracesmith/replay/run/executor.hpp"

namespace tracesmith {

/// One thread at a time.
class OperationExecutor {
 public:
  struct Metrics {
    size_t operations_executed = 0;
    size_t kernels_executed = 0;  ///< of those
    size_t memory_ops_executed = 0;
    size_t sync_ops_executed = 0;
    Timestamp total_execution_time = 0;  ///< ns, of the executed ones
    // What the earlier tool had not.
    size_t operations_simulated = 0;
    Timestamp total_virtual_time = 0;  ///< ns, of the simulated ones
    size_t operations_skipped = 0;     ///< dry runs
    size_t operations_failed = 0;
  };

  /// With nothing to execute on: dry runs alone succeed.
  OperationExecutor() = default;
  /// Both outlive it. Operations are those of operationsOf(plan).
  OperationExecutor(const ReplayPlan& plan, Executor& executor)
      : plan_(&plan), executor_(&executor) {}

  /// Executes it, and waits until it is over. Before the first, all is made that operations use.
  ///
  /// Success means: it was executed, with the result that it had when it was recorded
  /// (op.executed); or, by a simulated executor, that its time was found (op.simulated); or, in a
  /// dry run, that it could be executed as far as can be told without doing it (op.skipped).
  /// Else nothing of op changes but its times. kUnsupported: there is nothing to execute on, or it
  /// cannot be replayed; kNotFound: it is none of the plan; kInvalidArgument: it was executed
  /// before; kInternal: it was executed and went otherwise than when it was recorded.
  Status execute(StreamOperation& op);

  /// What could not be made before the first operation, and why; operations that need it fail.
  const std::vector<std::string>& problems() const { return problems_; }

  void setDryRun(bool dry_run) { dry_run_ = dry_run; }
  bool isDryRun() const { return dry_run_; }
  Metrics getMetrics() const { return metrics_; }
  void resetMetrics() { metrics_ = {}; }

 private:
  Status check(const StreamOperation& op) const;
  void prepare();

  const ReplayPlan* plan_ = nullptr;
  Executor* executor_ = nullptr;
  bool dry_run_ = false;
  bool prepared_ = false;
  std::vector<bool> done_;  // steps
  std::vector<std::string> problems_;
  Metrics metrics_;
};

}  // namespace tracesmith
