// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/operation_executor.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "tracesmith/replay/plan/recording_test_util.hpp"
#include "tracesmith/replay/simulate/simulated_executor.hpp"
#include "tracesmith/replay/stream_operations.hpp"
#include "tracesmith/replay/stream_scheduler.hpp"

namespace tracesmith {
namespace {

using test::RecordingBuilder;
using testing::HasSubstr;

/// Runs `f` in a separate process, because other tests fork, and no driver survives a fork. f()
/// returns a description of what failed.
constexpr const char* kNoDevice = "no device";
template <class F>
std::string inChild(F&& f) {
  if (!test::kRunsDrivers) return kNoDevice;
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t pid = fork();
  if (pid == 0) {
    const std::string problem = f();
    (void)!write(ends[1], problem.data(), problem.size());
    _exit(0);
  }
  close(ends[1]);
  std::string problem;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    problem.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? problem : "it crashed";
}

/// Two queues: the second adds 1 to the result that the first has doubled. Then the result is read.
class Executed : public testing::Test {
 protected:
  Executed() {
    const auto a = r.queue(), b = r.queue(), event = r.newHandle();
    const auto buffer = r.bufferWith<int>({1, 2, 3});
    const auto program = r.program(
        "kernel void twice(global int* a) { a[get_global_id(0)] *= 2; }"
        "kernel void plus(global int* a) { a[get_global_id(0)] += 1; }");
    const auto first = r.kernel(program, "twice"), second = r.kernel(program, "plus");
    r.argument(first, 0, buffer);
    r.argument(second, 0, buffer);
    twice = r.launch(a, first, 3, {}, event);
    plus = r.launch(b, second, 3, {event});
    read = r.read<int>(b, buffer, {3, 5, 7});
    reader.emplace(r.reader());
    plan.emplace(*ReplayPlan::make(*reader->commands(1)));
  }

  RecordingBuilder r;
  uint64_t twice = 0, plus = 0, read = 0;
  std::optional<RecordingReader> reader;
  std::optional<ReplayPlan> plan;
};

TEST_F(Executed, OperationsOfARecordingAreItsCommandsWithWhatTheyWaitFor) {
  const auto operations = operationsOf(*plan);
  ASSERT_EQ(operations.size(), 3u);
  EXPECT_EQ(operations[0].operation_id, twice);
  EXPECT_EQ(operations[0].stream_id, 0u);
  EXPECT_EQ(operations[0].event.type, EventType::KernelLaunch);
  EXPECT_EQ(operations[0].event.name, "twice");
  EXPECT_EQ(operations[1].stream_id, 1u);
  EXPECT_THAT(operations[1].depends_on, testing::Contains(twice));
  EXPECT_EQ(operations[2].event.type, EventType::MemcpyD2H);
}

TEST_F(Executed, RealOnesAreExecutedInTheSchedulersOrder) {
  const std::string problem = inChild([&]() -> std::string {
    auto device = openClExecutor(*plan, *reader, {});
    if (!device) return kNoDevice;
    StreamScheduler scheduler;
    if (!scheduler.addOperations(operationsOf(*plan))) return "not added";
    OperationExecutor executor(*plan, **device);
    while (StreamOperation* op = scheduler.getNextOperation()) {
      if (const Status ok = executor.execute(*op); !ok) return ok.error().toString();
      if (!op->executed || op->simulated || op->execution_time == 0) return "not executed";
      if (executor.execute(*op)) return "executed twice";
      scheduler.markCompleted(op->operation_id);
    }
    if (!scheduler.allCompleted() || !executor.problems().empty()) return "not all";
    const auto metrics = executor.getMetrics();
    // Each was tried twice.
    if (metrics.operations_executed != 3 || metrics.kernels_executed != 2 ||
        metrics.memory_ops_executed != 1 || metrics.operations_failed != 3 ||
        metrics.total_execution_time == 0) {
      return "counts";
    }
    const auto shown = (*device)->shown(static_cast<StepIndex>(read));
    const int expected[] = {3, 5, 7};
    if (!shown || shown->size() != sizeof expected) return "nothing was read";
    return std::memcmp(shown->data(), expected, sizeof expected) == 0 ? "" : "something else";
  });
  if (problem == kNoDevice) GTEST_SKIP() << problem;
  EXPECT_EQ(problem, "");
}

TEST_F(Executed, ARecordingIsOpenedPlannedAndExecutedByItsName) {
  const std::string problem = inChild([&]() -> std::string {
    auto opened = OperationExecutor::open(r.path());
    if (!opened) {
      const bool none = opened.error().code == ErrorCode::kNotFound;
      return none ? kNoDevice : opened.error().toString();
    }
    OperationExecutor executor = std::move(*opened);  // the objects it executes on do not move
    if (executor.operations().size() != 3) return "operations";
    for (StreamOperation op : executor.operations()) {
      if (const Status ok = executor.execute(op); !ok) return ok.error().toString();
    }
    return executor.getMetrics().operations_executed == 3 ? "" : "counts";
  });
  if (problem == kNoDevice) GTEST_SKIP() << problem;
  EXPECT_EQ(problem, "");
  EXPECT_EQ(OperationExecutor::open("/nonexistent.sbr").error().code, ErrorCode::kNotFound);
}

TEST_F(Executed, SimulatedOnesAreNotCalledExecuted) {
  StepDurations durations = StepDurations::none(*plan, "");
  durations.ns[twice] = 100;
  durations.ns[plus] = 30;
  SimulatedExecutor device(*plan, durations);
  OperationExecutor executor(*plan, device);
  for (StreamOperation& op : operationsOf(*plan, &durations)) {
    ASSERT_TRUE(executor.execute(op));
    EXPECT_FALSE(op.executed);
    EXPECT_TRUE(op.simulated);
    EXPECT_EQ(op.execution_time, op.operation_id == twice  ? 100u
                                 : op.operation_id == plus ? 30u
                                                           : 0u);
    if (op.operation_id == read) {
      EXPECT_EQ(op.begin_time, 130u);
    }
  }
  const auto metrics = executor.getMetrics();
  EXPECT_EQ(metrics.operations_executed, 0u);
  EXPECT_EQ(metrics.kernels_executed, 0u);
  EXPECT_EQ(metrics.total_execution_time, 0u);
  EXPECT_EQ(metrics.operations_simulated, 3u);
  EXPECT_EQ(metrics.total_virtual_time, 130u);
  executor.resetMetrics();
  EXPECT_EQ(executor.getMetrics().operations_simulated, 0u);
}

TEST_F(Executed, WithNothingToExecuteOnOnlyDryRunsSucceed) {
  OperationExecutor executor;
  auto operations = operationsOf(*plan);
  const Status refused = executor.execute(operations[0]);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(operations[0].executed);
  EXPECT_EQ(executor.getMetrics().operations_failed, 1u);
  executor.setDryRun(true);
  EXPECT_TRUE(executor.isDryRun());
  EXPECT_TRUE(executor.execute(operations[0]));
  EXPECT_FALSE(operations[0].executed);
  EXPECT_TRUE(operations[0].skipped);
  EXPECT_EQ(executor.getMetrics().operations_executed, 0u);
  EXPECT_EQ(executor.getMetrics().operations_skipped, 1u);
}

TEST_F(Executed, WhatIsNoOperationOfTheRecordingIsRefused) {
  const StepDurations durations = StepDurations::none(*plan, "");
  SimulatedExecutor device(*plan, durations);
  OperationExecutor executor(*plan, device);
  for (const uint64_t id : {uint64_t{0}, twice - 1, uint64_t{plan->steps().size()}, UINT64_MAX}) {
    for (const bool dry : {false, true}) {
      StreamOperation op;
      op.operation_id = id;
      executor.setDryRun(dry);
      const Status refused = executor.execute(op);
      ASSERT_FALSE(refused) << id;
      EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
      EXPECT_FALSE(op.executed || op.skipped || op.simulated);
    }
  }
}

TEST_F(Executed, WhatCanNotBeReplayedOrGoesOtherwiseIsNoSuccess) {
  RecordingBuilder other;
  const auto q = other.queue();
  const std::string function = "clEnqueueNativeKernel";
  const uint64_t native = other.add(recording::Unsupported{.function = function, .queue = q});
  const auto kernel = other.kernel(other.program("kernel void k(global int* a) {}"), "k");
  const uint64_t without_argument = other.launch(q, kernel, 1);
  RecordingReader opened = other.reader();
  const auto made = ReplayPlan::make(*opened.commands(1));
  auto operations = operationsOf(*made);
  ASSERT_EQ(operations.size(), 2u);
  const StepDurations durations = StepDurations::none(*made, "");
  SimulatedExecutor simulated(*made, durations);
  OperationExecutor executor(*made, simulated);
  ASSERT_EQ(operations[0].operation_id, native);
  EXPECT_EQ(executor.execute(operations[0]).error().code, ErrorCode::kUnsupported);
  ASSERT_EQ(operations[1].operation_id, without_argument);
  const std::string problem = inChild([&]() -> std::string {
    auto device = openClExecutor(*made, opened, {});
    if (!device) return kNoDevice;
    OperationExecutor real(*made, **device);
    // The recorded call had succeeded.
    return !real.execute(operations[1]) && !operations[1].executed ? "" : "success";
  });
  if (problem == kNoDevice) GTEST_SKIP() << problem;
  EXPECT_EQ(problem, "");
}

}  // namespace
}  // namespace tracesmith
