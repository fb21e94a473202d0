// SPDX-License-Identifier: Apache-2.0
#include "report_tables.hpp"

#include <string>
#include <string_view>
#include <variant>

#include "text.hpp"
#include "tracesmith/export/text/report_text.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

namespace {

std::string_view nameOf(Quantity quantity) {
  switch (quantity) {
    case Quantity::kText:
      return "text";
    case Quantity::kCount:
      return "count";
    case Quantity::kNs:
    case Quantity::kTimeNs:
      return "ns";
    case Quantity::kShare:
      return "share";
    case Quantity::kNumber:
      return "number";
    case Quantity::kProbability:
      return "probability";
    case Quantity::kBytes:
      return "bytes";
    case Quantity::kBytesPerSecond:
      return "bytes per second";
  }
  return "";
}

nb::object objectOf(const ReportValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return nb::cast(*text);
  if (const auto* integer = std::get_if<int64_t>(&value)) return nb::int_(*integer);
  if (const auto* real = std::get_if<double>(&value)) return nb::float_(*real);
  return nb::none();
}

}  // namespace

nb::list ReportTables::tables() const {
  nb::list all;
  for (const ReportTable& table : tables_) {
    nb::list columns;
    for (const ReportColumn& column : table.columns) {
      columns.append(nb::make_tuple(column.key, column.header, nameOf(column.quantity)));
    }
    nb::list rows;
    for (const auto& row : table.rows) {
      nb::list cells;
      for (const ReportValue& value : row) cells.append(objectOf(value));
      rows.append(nb::tuple(cells));
    }
    all.append(nb::make_tuple(table.key, table.title, table.note, columns, rows));
  }
  return all;
}

std::string ReportTables::text(int width) const {
  std::string text;
  Output out = Output::toString(&text);
  const TerminalStyle style{.width = width};
  write_ ? write_(style, out) : writeReportText(tables_, style, out);
  (void)out.finish();  // a string takes everything
  return text;
}

void bindReportTables(nb::module_& module) {
  nb::class_<ReportTables>(module, "ReportTables")
      .def("tables", &ReportTables::tables,
           nb::sig("def tables(self) -> list[tuple[str, str, str, list[tuple[str, str, str]], "
                   "list[tuple[typing.Any, ...]]]]"))
      .def("text", &ReportTables::text, nb::arg("width"));
}

}  // namespace tracesmith::python
