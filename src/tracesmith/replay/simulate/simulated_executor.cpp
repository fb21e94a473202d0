// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/simulate/simulated_executor.hpp"

#include <algorithm>

namespace tracesmith {

using namespace recording;

namespace {

tl::unexpected<Error> noContent() {
  return fail(ErrorCode::kUnsupported, "nothing was executed: a simulation has no content");
}

}  // namespace

SimulatedExecutor::SimulatedExecutor(const ReplayPlan& plan, const StepDurations& durations)
    : plan_(plan),
      durations_(durations),
      dependencies_(StepDependencies::of(plan)),
      begin_ns_(plan.steps().size(), 0),
      end_ns_(plan.steps().size(), kNotYet) {}

int64_t SimulatedExecutor::readyAt(StepIndex step) const {
  int64_t ready = 0;
  for (const StepIndex before : dependencies_.before(step)) {
    ready = std::max(ready, end_ns_[before]);
  }
  return ready;
}

StepOutcome SimulatedExecutor::perform(StepIndex i, StepMode mode) {
  const ReplayStep& step = plan_.step(i);
  StepOutcome outcome;
  // A command that could not be executed is not simulated either.
  outcome.simulated = step.kind() != CommandKind::kUnsupported;
  int64_t begin = 0;
  if (mode == StepMode::kAlone) {
    begin = last_ns_;
  } else {
    // Skipped steps take no time, but pass on what they waited for.
    for (; passed_ < i; ++passed_) {
      if (end_ns_[passed_] == kNotYet) end_ns_[passed_] = readyAt(passed_);
    }
    begin = readyAt(i);
  }
  begin = std::max(begin, earliest_ns_);
  int64_t duration = 0;
  // A failed call gave the device no work.
  if (step.header.result == 0 && takesDeviceTime(step.kind())) {
    Work& work = work_[step.kind()];
    ++work.count;
    if (durations_.ns[i] == StepDurations::kUnknown) {
      ++work.unknown;
    } else {
      duration = durations_.ns[i];
      work.total_ns = endOf(work.total_ns, duration);
    }
  }
  begin_ns_[i] = begin;
  end_ns_[i] = endOf(begin, duration);
  last_ns_ = std::max(last_ns_, end_ns_[i]);
  outcome.begin_ns = begin;
  outcome.end_ns = end_ns_[i];
  return outcome;
}

StepOutcome SimulatedExecutor::performPermuted(StepIndex, uint64_t) {
  return {.problem = "a simulation has no work-groups"};
}

Result<ByteView> SimulatedExecutor::shown(StepIndex) { return noContent(); }
Result<Bytes> SimulatedExecutor::contents(ObjectIndex) { return noContent(); }
Status SimulatedExecutor::setContents(ObjectIndex, ByteView) { return noContent(); }

bool SimulatedExecutor::holdUntil(int64_t since_begin_ns) {
  earliest_ns_ = std::max(earliest_ns_, since_begin_ns);
  return true;
}

Result<PlanSimulation> simulatePlan(const ReplayPlan& plan, RecordingReader& reader,
                                    const StepDurations& durations, const RunSettings& settings) {
  if (!settings.dumps.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "a simulation executes nothing: there is no content to show");
  }
  if (settings.hash_launches) {
    return fail(ErrorCode::kInvalidArgument,
                "a simulation executes nothing: there is no content to hash");
  }
  if (settings.order == ReplayOrder::kConcurrent) {
    return fail(ErrorCode::kInvalidArgument,
                "concurrency on a device is not simulated; use the order recorded, serial, timing "
                "or random (`whatif` has a model of devices)");
  }
  SimulatedExecutor executor(plan, durations);
  PlanSimulation out;
  out.run = runPlan(plan, reader, executor, settings, nullptr);
  out.work = executor.work();
  out.begin_ns.resize(plan.steps().size());
  out.end_ns.resize(plan.steps().size());
  for (StepIndex i = 0; i < plan.steps().size(); ++i) {
    out.begin_ns[i] = executor.beginNs(i);
    out.end_ns[i] = executor.endNs(i);
  }
  out.run.duration_ns = executor.virtualNs();
  return out;
}

}  // namespace tracesmith
