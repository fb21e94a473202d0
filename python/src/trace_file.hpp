// SPDX-License-Identifier: Apache-2.0
// A trace for the Python package: tables by name, columns as arrays.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "tracesmith/api/open_trace.hpp"

namespace tracesmith::python {

/// The open trace, shared by TraceFile and answers that are still being read. Guarded by `lock`.
struct SharedTrace {
  explicit SharedTrace(OpenTrace of) : open(std::move(of)) {}

  CallLock lock;
  OpenTrace open;
};

/// Thread-safe: calls take turns, and release the GIL while they run.
class TraceFile {
 public:
  explicit TraceFile(const std::string& path);

  /// The trace with all tables loaded.
  std::shared_ptr<const TraceTables::Loaded> whole();
  ColumnArray column(const std::string& table, const std::string& name);
  uint64_t rows(const std::string& table);
  void load(const std::string& table, const std::vector<std::string>& columns);
  nanobind::object arrow(const std::string& table, const std::vector<std::string>& columns);
  nanobind::object query(const std::string& sql);
  nanobind::object queryArrow(const std::string& sql);

  nanobind::list analyze(const std::vector<std::string>& parts, uint64_t limit);
  /// Tables in the form of analyze(): the verdict, the findings, and what was not checked.
  nanobind::list findings(const std::string& file, bool predict);
  /// Name, times and allocated bytes of each device and the host (model/live_memory.hpp).
  nanobind::list memory();
  /// Distinct names of all streams, in the order of their ids.
  nanobind::list streamNames();
  nanobind::list tables();
  nanobind::dict about();

 private:
  std::shared_ptr<SharedTrace> trace_;
};

void bindTraceFile(nanobind::module_& module);

}  // namespace tracesmith::python
