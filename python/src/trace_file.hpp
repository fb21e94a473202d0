// SPDX-License-Identifier: Apache-2.0
// A trace as the Python package has it: tables by name, columns as arrays.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "tracesmith/api/open_trace.hpp"

namespace tracesmith::python {

/// What answers that are still being read share with their trace. All of it under `lock`.
struct SharedTrace {
  explicit SharedTrace(OpenTrace of) : open(std::move(of)) {}

  CallLock lock;
  OpenTrace open;
};

/// All threads at a time; each call keeps the others out, and does not hold the GIL meanwhile.
class TraceFile {
 public:
  explicit TraceFile(const std::string& path);

  /// All of the trace.
  std::shared_ptr<const TraceTables::Loaded> whole();
  ColumnArray column(const std::string& table, const std::string& name);
  uint64_t rows(const std::string& table);
  void load(const std::string& table, const std::vector<std::string>& columns);
  nanobind::object arrow(const std::string& table, const std::vector<std::string>& columns);
  nanobind::object query(const std::string& sql);
  nanobind::object queryArrow(const std::string& sql);

  nanobind::list analyze(const std::vector<std::string>& parts, uint64_t limit);
  /// Of each place its name, times and allocated bytes (model/live_memory.hpp).
  nanobind::list memory();
  /// Of all streams, in the order of their ids, no two alike.
  nanobind::list streamNames();
  nanobind::list tables();
  nanobind::dict about();

 private:
  std::shared_ptr<SharedTrace> trace_;
};

void bindTraceFile(nanobind::module_& module);

}  // namespace tracesmith::python
