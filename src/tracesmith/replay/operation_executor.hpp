// SPDX-License-Identifier: Apache-2.0
// Executes operations one by one, in whatever order its user chooses: with StreamScheduler, a
// replay of one's own. ReplayEngine does that and more; this is for those who want to look between.
//
//   Result<OperationExecutor> executor = OperationExecutor::open("run.sbr");
//   if (!executor) ...
//   StreamScheduler scheduler;
//   scheduler.addOperations(executor->operations());
//   while (StreamOperation* op = scheduler.getNextOperation()) {
//     if (Status ok = executor->execute(*op); !ok) ...
//     scheduler.markCompleted(op->operation_id);
//   }
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/replay/replay_config.hpp"

namespace tracesmith {

class Executor;
class ReplayPlan;

/// One thread at a time.
class OperationExecutor {
 public:
  struct Metrics {
    size_t operations_executed = 0;
    size_t kernels_executed = 0;  ///< of those
    size_t memory_ops_executed = 0;
    size_t sync_ops_executed = 0;
    Timestamp total_execution_time = 0;  ///< ns, of the executed ones
    size_t operations_simulated = 0;
    Timestamp total_virtual_time = 0;  ///< ns, of the simulated ones
    size_t operations_skipped = 0;     ///< dry runs
    size_t operations_failed = 0;
  };

  /// With nothing to execute on: dry runs alone succeed.
  OperationExecutor();
  /// On an OpenCL device, in this process. `device`: its number in `tracesmith devices`' order, or
  /// a part of its name; empty: the recorded one, else one of its type, else the first. Of a
  /// recording of several processes it takes the one that launched most. kNotFound names what is
  /// missing and where it was looked for.
  static Result<OperationExecutor> open(const std::string& recording,
                                        const std::string& device = {});
  /// Both outlive it. Operations are those of operationsOf(plan).
  OperationExecutor(const ReplayPlan& plan, Executor& executor);
  ~OperationExecutor();
  OperationExecutor(OperationExecutor&&) noexcept;
  OperationExecutor& operator=(OperationExecutor&&) noexcept;

  /// Of open(): what there is to execute, in the recorded order.
  const std::vector<StreamOperation>& operations() const { return operations_; }

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

  struct Opened;
  std::unique_ptr<Opened> opened_;  // by open(): what the next two point into
  const ReplayPlan* plan_ = nullptr;
  Executor* executor_ = nullptr;
  std::vector<StreamOperation> operations_;
  bool dry_run_ = false;
  bool prepared_ = false;
  std::vector<bool> done_;  // steps
  std::vector<std::string> problems_;
  Metrics metrics_;
};

}  // namespace tracesmith
