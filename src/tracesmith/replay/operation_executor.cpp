// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/operation_executor.hpp"

#include <fmt/format.h>

#include "tracesmith/replay/check/replay_report.hpp"
#include "tracesmith/replay/plan/replay_source.hpp"
#include "tracesmith/replay/plan/step_order.hpp"
#include "tracesmith/replay/run/executor.hpp"
#include "tracesmith/replay/stream_operations.hpp"

namespace tracesmith {

using recording::CommandKind;

namespace {

/// The recorded return code; for a call that waited, its Done has it.
int32_t recordedResult(const ReplayPlan& plan, const ReplayStep& step) {
  const bool started = (step.header.flags & recording::command_flags::kStarted) != 0;
  return started && step.done != kNoStep ? plan.step(step.done).header.result : step.header.result;
}

Timestamp length(int64_t begin_ns, int64_t end_ns) {
  return static_cast<Timestamp>(lengthOf(begin_ns, end_ns));
}

}  // namespace

/// Never moved, because the plan and the executor refer to its members.
struct OperationExecutor::Opened {
  explicit Opened(ReplaySource opened) : source(std::move(opened)) {}

  ReplaySource source;
  std::unique_ptr<Executor> executor;
};

OperationExecutor::OperationExecutor() = default;
OperationExecutor::OperationExecutor(const ReplayPlan& plan, Executor& executor)
    : plan_(&plan), executor_(&executor) {}
OperationExecutor::~OperationExecutor() = default;
OperationExecutor::OperationExecutor(OperationExecutor&&) noexcept = default;
OperationExecutor& OperationExecutor::operator=(OperationExecutor&&) noexcept = default;

Result<OperationExecutor> OperationExecutor::open(const std::string& recording,
                                                  const std::string& device) {
  TS_TRY(ReplaySource source, ReplaySource::open(recording));
  OperationExecutor made;
  made.opened_ = std::make_unique<Opened>(std::move(source));
  Opened& opened = *made.opened_;
  TS_TRY(opened.executor,
         openClExecutor(opened.source.plan, opened.source.reader, {.device = device}));
  made.plan_ = &opened.source.plan;
  made.executor_ = opened.executor.get();
  made.operations_ = operationsOf(opened.source.plan);
  return made;
}

Status OperationExecutor::check(const StreamOperation& op) const {
  if (plan_ == nullptr) {
    if (dry_run_) return {};
    return fail(ErrorCode::kUnsupported,
                "there is nothing to execute on: neither a recording nor a device was given");
  }
  const std::string name = fmt::format("operation {}", op.operation_id);
  if (op.operation_id >= plan_->steps().size() ||
      !isOperation(plan_->step(static_cast<StepIndex>(op.operation_id)))) {
    return fail(ErrorCode::kNotFound, "is not part of the recording", name);
  }
  const auto step = static_cast<StepIndex>(op.operation_id);
  if (plan_->step(step).kind() == CommandKind::kUnsupported) {
    return fail(ErrorCode::kUnsupported, "is a call that cannot be replayed", name);
  }
  if (step < done_.size() && done_[step]) {
    return fail(ErrorCode::kInvalidArgument, "was executed before", name);
  }
  return {};
}

void OperationExecutor::prepare() {
  if (prepared_) return;
  prepared_ = true;
  done_.assign(plan_->steps().size(), false);
  // The caller chooses the order, so an object may be used after its recorded release.
  executor_->keepObjects();
  for (StepIndex i = 0; i < plan_->steps().size(); ++i) {
    const ReplayStep& step = plan_->step(i);
    if (isOperation(step) || step.kind() == CommandKind::kDone) continue;
    const StepOutcome outcome = executor_->perform(i, StepMode::kAlone);
    if (outcome.problem.empty()) continue;
    problems_.push_back(stepName(*plan_, i) + ": " + outcome.problem);
  }
}

Status OperationExecutor::execute(StreamOperation& op) {
  if (const Status ok = check(op); !ok) {
    ++metrics_.operations_failed;
    return ok;
  }
  if (dry_run_) {
    op.skipped = true;
    ++metrics_.operations_skipped;
    return {};
  }
  prepare();
  const auto i = static_cast<StepIndex>(op.operation_id);
  const ReplayStep& step = plan_->step(i);
  const int64_t begin = monotonicNs();
  StepOutcome outcome = executor_->perform(i, StepMode::kAlone);
  const int64_t end = monotonicNs();
  if (outcome.simulated) {
    op.simulated = true;
    op.begin_time = static_cast<Timestamp>(outcome.begin_ns);
    op.execution_time = length(outcome.begin_ns, outcome.end_ns);
    done_[i] = true;
    ++metrics_.operations_simulated;
    metrics_.total_virtual_time += op.execution_time;
    return {};
  }
  op.begin_time = static_cast<Timestamp>(begin);
  op.execution_time = length(begin, end);
  const int32_t recorded = recordedResult(*plan_, step);
  if (outcome.executed && outcome.problem.empty() && outcome.result != recorded) {
    outcome.problem = fmt::format("returned {}; recorded: {}", outcome.result, recorded);
  }
  done_[i] = outcome.executed;
  if (!outcome.executed || !outcome.problem.empty()) {
    ++metrics_.operations_failed;
    if (outcome.problem.empty()) outcome.problem = "was not executed";
    return fail(ErrorCode::kInternal, std::move(outcome.problem), stepName(*plan_, i));
  }
  op.executed = true;
  ++metrics_.operations_executed;
  metrics_.total_execution_time += op.execution_time;
  switch (kindOf(op.event.type)) {
    case OperationKind::kKernel:
      ++metrics_.kernels_executed;
      break;
    case OperationKind::kMemory:
      ++metrics_.memory_ops_executed;
      break;
    case OperationKind::kSync:
      ++metrics_.sync_ops_executed;
      break;
    case OperationKind::kOther:
      break;
  }
  return {};
}

}  // namespace tracesmith
