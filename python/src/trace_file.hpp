// SPDX-License-Identifier: Apache-2.0
// A trace for the Python package: tables by name, columns as arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "report_tables.hpp"
#include "row_window.hpp"
#include "tracesmith/api/open_trace.hpp"

namespace tracesmith::python {

/// The open trace, shared by TraceFile and answers that are still being read. Guarded by `lock`.
struct SharedTrace {
  explicit SharedTrace(OpenTrace of) : open(std::move(of)) {}

  CallLock lock;
  OpenTrace open;
  RowWindow window;
};

/// Numbers of rows, from NumPy.
using Positions = nanobind::ndarray<const uint64_t, nanobind::ndim<1>, nanobind::c_contig>;

/// Thread-safe: calls take turns, and release the GIL while they run.
class TraceFile {
 public:
  explicit TraceFile(const std::string& path);

  /// The trace with all tables loaded.
  std::shared_ptr<const TraceTables::Loaded> whole();
  ColumnArray column(const std::string& table, const std::string& name);
  uint64_t rows(const std::string& table);
  void load(const std::string& table, const std::vector<std::string>& columns);
  /// `positions`: only these rows.
  nanobind::object arrow(const std::string& table, const std::vector<std::string>& columns,
                         const std::optional<Positions>& positions);
  /// A count of rows, and for each column what column() gives.
  nanobind::tuple rowsAt(const std::string& table, const std::vector<std::string>& columns,
                         uint64_t first, uint64_t count);
  nanobind::object query(const std::string& sql);
  nanobind::object queryArrow(const std::string& sql);

  ReportTables analyze(const std::vector<std::string>& parts, uint64_t limit);
  ReportTables operators(const std::string& by, const std::string& sort, uint64_t limit);
  /// The verdict, the findings, and what was not checked.
  ReportTables findings(const std::string& file, bool predict);
  /// Ranks that others wait for, and what the length of the job consists of.
  ReportTables stragglers();
  /// Name, times and allocated bytes of each device and the host (model/live_memory.hpp).
  nanobind::list memory();
  /// Distinct names of all streams, in the order of their ids.
  nanobind::list streamNames();
  nanobind::list tables();
  nanobind::dict about();
  /// Runs f(reader) alone.
  template <class F>
  auto withReader(F&& f) {
    return alone(trace_->lock, [&] { return f(trace_->open.tables().reader()); });
  }

 private:
  std::shared_ptr<SharedTrace> trace_;
};

void bindTraceFile(nanobind::module_& module);

}  // namespace tracesmith::python
