// SPDX-License-Identifier: Apache-2.0
// Results of an analysis for Python: tables, and the text that the command prints.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <utility>
#include <vector>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/text/terminal_table.hpp"

namespace tracesmith::python {

class ReportTables {
 public:
  using Writer = std::function<void(const TerminalStyle& style, Output& out)>;

  /// `write`: writes the result as text; empty: the tables, as writeReportText() does.
  explicit ReportTables(std::vector<ReportTable> tables, Writer write = {})
      : tables_(std::move(tables)), write_(std::move(write)) {}

  /// (key, title, note, columns, rows) of each table; a column is (key, header, quantity).
  nanobind::list tables() const;
  std::string text(int width) const;

 private:
  std::vector<ReportTable> tables_;
  Writer write_;
};

void bindReportTables(nanobind::module_& module);

}  // namespace tracesmith::python
