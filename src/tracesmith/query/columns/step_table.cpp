// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/columns/step_table.hpp"

#include <optional>
#include <string>

#include "tracesmith/analysis/timing/steps.hpp"
#include "tracesmith/model/ranks/ranks.hpp"
#include "tracesmith/query/columns/computed_column.hpp"

namespace tracesmith {
namespace {

class LazySteps {
 public:
  explicit LazySteps(const Trace& trace) : trace_(trace) {}
  const Steps& found() {
    if (!found_) {
      found_ = stepsOf(trace_, DeviceOps::of(trace_));
      basis_ = found_->basis();
      // Repetitions are found by time, and ranks have different clocks.
      if (isMerged(trace_) && found_->from == Steps::From::kRepeatedKernels) found_->all.clear();
    }
    return *found_;
  }
  const Step& at(uint64_t row) { return found().all[row]; }
  const std::string& basis() {
    found();
    return basis_;
  }

 private:
  const Trace& trace_;
  std::optional<Steps> found_;
  std::string basis_;
};

}  // namespace

std::unique_ptr<SqlTable> makeStepTable(const Trace& trace) {
  auto steps = std::make_shared<LazySteps>(trace);
  auto table = std::make_unique<SqlTable>(
      "step", "training or inference steps: marked by the program, or found from repeated kernels");
  table->setRows(trace.range.size() + trace.kernel.size(),
                 [steps] { return uint64_t{steps->found().all.size()}; });
  const auto add = [&](const char* name, const char* type, const char* meaning, auto value) {
    auto cell = [steps, value](uint64_t row) { return value(steps->at(row)); };
    table->add(std::make_unique<ComputedColumn<decltype(cell)>>(name, type, ColumnRole::kPlain,
                                                                meaning, std::move(cell)));
  };
  add("number", "INTEGER", "number given by the program, else counted from 0",
      [](const Step& s) { return Value::ofInteger(s.number); });
  add("name", "TEXT", "name", [&trace](const Step& s) { return Value::ofText(s.nameIn(trace)); });
  add("start_ns", "INTEGER", "start, in host time",
      [](const Step& s) { return Value::ofInteger(s.begin_ns); });
  add("duration_ns", "INTEGER", "length",
      [](const Step& s) { return Value::ofInteger(s.duration()); });
  add("end_ns", "INTEGER", "end", [](const Step& s) { return Value::ofInteger(s.end_ns); });
  add("process_id", "INTEGER", "process; NULL: of the whole trace", [](const Step& s) {
    return s.process == ProcessId::kNone ? Value{}
                                         : Value::ofUnsigned(static_cast<uint64_t>(s.process));
  });
  auto basis = [steps](uint64_t) { return Value::ofText(steps->basis()); };
  table->add(std::make_unique<ComputedColumn<decltype(basis)>>(
      "basis", "TEXT", ColumnRole::kPlain, "how the steps were found", std::move(basis)));
  return table;
}

}  // namespace tracesmith
