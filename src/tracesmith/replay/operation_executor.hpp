// SPDX-License-Identifier: Apache-2.0
// Executes operations one by one, in any order that the caller chooses. Together with
// StreamScheduler this makes a custom replay. Use ReplayEngine instead unless you need to inspect
// the state between operations.
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

/// Use from one thread at a time.
class OperationExecutor {
 public:
  struct Metrics {
    size_t operations_executed = 0;
    size_t kernels_executed = 0;  ///< of the executed ones
    size_t memory_ops_executed = 0;
    size_t sync_ops_executed = 0;
    Timestamp total_execution_time = 0;  ///< ns, of the executed ones
    size_t operations_simulated = 0;
    Timestamp total_virtual_time = 0;  ///< ns, of the simulated ones
    size_t operations_skipped = 0;     ///< dry runs
    size_t operations_failed = 0;
  };

  /// Has nothing to execute on: only dry runs succeed.
  OperationExecutor();
  /// Executes on an OpenCL device, in this process. `device`: its number in the order of
  /// `tracesmith devices`, or a part of its name; empty: the recorded device, else one of its type,
  /// else the first. If the recording has several processes, takes the one with the most launches.
  /// kNotFound names what is missing and where it was looked for.
  static Result<OperationExecutor> open(const std::string& recording,
                                        const std::string& device = {});
  /// `plan` and `executor` must outlive this object. Operations are those of operationsOf(plan).
  OperationExecutor(const ReplayPlan& plan, Executor& executor);
  ~OperationExecutor();
  OperationExecutor(OperationExecutor&&) noexcept;
  OperationExecutor& operator=(OperationExecutor&&) noexcept;

  /// After open(): the operations to execute, in the recorded order.
  const std::vector<StreamOperation>& operations() const { return operations_; }

  /// Executes `op` and waits until it has ended. The first call creates all objects that operations
  /// use.
  ///
  /// Success means one of:
  /// - `op` was executed, with the same result code as when it was recorded (op.executed).
  /// - A simulated executor determined its time (op.simulated).
  /// - Dry run: `op` could be executed, as far as can be checked without executing it (op.skipped).
  ///
  /// On failure only the times of `op` change. kUnsupported: there is nothing to execute on, or
  /// `op` cannot be replayed. kNotFound: `op` is not part of the plan. kInvalidArgument: `op` was
  /// executed before. kInternal: `op` was executed with another outcome than when it was recorded.
  Status execute(StreamOperation& op);

  /// Objects that could not be created before the first operation, and why. Operations that need
  /// them fail.
  const std::vector<std::string>& problems() const { return problems_; }

  void setDryRun(bool dry_run) { dry_run_ = dry_run; }
  bool isDryRun() const { return dry_run_; }
  Metrics getMetrics() const { return metrics_; }
  void resetMetrics() { metrics_ = {}; }

 private:
  Status check(const StreamOperation& op) const;
  void prepare();

  struct Opened;
  std::unique_ptr<Opened> opened_;  // set by open(); owns what the next two point to
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
