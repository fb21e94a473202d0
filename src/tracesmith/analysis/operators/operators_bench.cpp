// SPDX-License-Identifier: Apache-2.0
// The operator table of 5.3 million events of a training: nested ranges, launches and kernels, and
// backward operators on a thread of their own. The limit is 1.5 s beyond reading the trace.
#include <cstdio>
#include <string>

#include "tracesmith/analysis/report/report_operators.hpp"
#include "tracesmith/base/clock.hpp"

using namespace tracesmith;  // NOLINT: a program of three functions

namespace {

constexpr size_t kEvents = 5'300'000;
constexpr size_t kEventsOfOperator = 10;
constexpr size_t kNamesOfOperators = 300;

class Training {
 public:
  Training() {
    trace.device.push({.id = idAt<DeviceId>(0)});
    trace.stream.push({.id = idAt<StreamId>(0), .device_id = idAt<DeviceId>(0)});
  }
  /// Three nested ranges, a launch and its kernel; and the same for its backward.
  void add(size_t i) {
    const auto at = static_cast<int64_t>(i) * 1'000;
    addOn(ThreadId{1}, at, "aten::operator_" + std::to_string(i % kNamesOfOperators), i + 1, 0);
    addOn(ThreadId{2}, at + 500,
          "autograd::engine::evaluate_function: Operator" + std::to_string(i % kNamesOfOperators) +
              "Backward0",
          i + 1, 1);
  }
  Trace trace;

 private:
  void addOn(ThreadId thread, int64_t at, const std::string& name, uint64_t number,
             uint32_t forward_thread) {
    for (int64_t depth = 0; depth < 3; ++depth) {
      trace.range.push({.start_ns = at + depth * 10,
                        .duration_ns = 400 - depth * 20,
                        .name = trace.strings.intern(depth == 0 ? name : name + "_inner"),
                        .thread_id = thread,
                        .sequence_number = depth == 2 ? 0 : number,
                        .forward_thread = depth == 2 ? 0 : forward_thread});
    }
    const uint64_t id = trace.kernel.size() + 1;
    trace.host_call.push({.start_ns = at + 100,
                          .duration_ns = 10,
                          .name = trace.strings.intern("cudaLaunchKernel"),
                          .thread_id = thread,
                          .correlation_id = id,
                          .kind = CallKind::kLaunch});
    trace.kernel.push({.start_ns = at + 300,
                       .duration_ns = 200,
                       .name = trace.strings.intern("kernel"),
                       .stream_id = idAt<StreamId>(0),
                       .correlation_id = id});
  }
};

}  // namespace

int main() {
  Training training;
  for (size_t i = 0; i < kEvents / kEventsOfOperator; ++i) training.add(i);
  for (const OperatorsBy by : {OperatorsBy::kOperator, OperatorsBy::kStack, OperatorsBy::kFamily}) {
    const int64_t from = clockNs(CLOCK_PROCESS_CPUTIME_ID);
    const ReportTable table = operatorTable(training.trace, by);
    const int64_t ns = clockNs(CLOCK_PROCESS_CPUTIME_ID) - from;
    std::printf("%zu events by %s: %zu rows in %.2f s\n",
                training.trace.range.size() + training.trace.host_call.size() +
                    training.trace.kernel.size(),
                std::string(toString(by)).c_str(), table.rows.size(),
                static_cast<double>(ns) / 1e9);
  }
  return 0;
}
