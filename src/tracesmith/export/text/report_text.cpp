// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/text/report_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/export/text/wrapped_text.hpp"

namespace tracesmith {
namespace {

constexpr int kLongestText = 100;  // columns; names of C++ templates may have thousands

double numberOf(const ReportValue& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&value)) return *d;
  return 0;
}

void writeNote(std::string_view note, const TerminalStyle& style, Output& out) {
  const int width = style.width > 0 ? std::max(style.width - 2, 1) : 0;
  for (const std::string& line : wrapText(note, width, &style)) {
    out.write("  " + style.dim(line) + "\n");
  }
}

void writeTitle(std::string_view title, const TerminalStyle& style, Output& out) {
  for (const std::string& line : wrapText(title, style.width, &style)) {
    out.write(style.bold(line) + "\n");
  }
}

/// "Launch latency" of "Launch latency (in ns), the longest first".
std::string_view shortTitle(std::string_view title) {
  return title.substr(0, std::min(title.find(" ("), title.find(',')));
}

}  // namespace

std::string reportValueText(const ReportValue& value, Quantity quantity,
                            const TerminalStyle& style) {
  if (std::holds_alternative<std::monostate>(value)) return style.utf8 ? "–" : "-";
  if (const auto* text = std::get_if<std::string>(&value)) {
    return cutMiddle(printable(*text), kLongestText, style);
  }
  const double number = numberOf(value);
  const auto rounded = static_cast<int64_t>(std::llround(number));
  switch (quantity) {
    case Quantity::kNs:
    case Quantity::kTimeNs:
      return formatDuration(rounded, style.micro());
    case Quantity::kShare:
      return formatPercent(number);
    case Quantity::kBytes:
      return formatBytes(static_cast<uint64_t>(std::max<int64_t>(rounded, 0)));
    case Quantity::kBytesPerSecond:
      return formatBandwidth(number);
    case Quantity::kNumber:
      return fmt::format("{:.2f}", number);
    case Quantity::kProbability:
      // The normal approximation is not meaningful below this.
      return number < 1e-15  ? "<1e-15"
             : number < 1e-4 ? fmt::format("{:.0e}", number)
                             : fmt::format("{:.4f}", number);
    case Quantity::kCount:
    case Quantity::kText:
      break;
  }
  return rounded < 0 ? "-" + formatCount(static_cast<uint64_t>(-rounded))
                     : formatCount(static_cast<uint64_t>(rounded));
}

void writeReportText(const std::vector<ReportTable>& report, const TerminalStyle& style,
                     Output& out, EmptyTables empty) {
  bool first = true;
  std::vector<const ReportTable*> without_rows;
  for (const ReportTable& table : report) {
    if (empty == EmptyTables::kListed && table.rows.empty()) {
      without_rows.push_back(&table);
      continue;
    }
    if (!first) out.put('\n');
    first = false;
    writeTitle(table.title, style, out);
    if (!table.rows.empty()) {
      std::vector<TextTable::Column> columns;
      for (const ReportColumn& c : table.columns) {
        const bool text = c.quantity == Quantity::kText;
        columns.push_back({.header = c.header,
                           .align = text ? TextTable::Align::kLeft : TextTable::Align::kRight,
                           .may_shrink = text && (columns.empty() || c.key == "name"),
                           .from_middle = true,
                           .spare = c.spare});
      }
      TextTable lines(std::move(columns));
      for (const auto& row : table.rows) {
        std::vector<std::string> cells;
        for (size_t i = 0; i < row.size(); ++i) {
          cells.push_back(reportValueText(row[i], table.columns[i].quantity, style));
        }
        lines.add(std::move(cells));
      }
      std::vector<std::string> left_out;
      out.write(lines.render(style, "  ", &left_out));
      if (!left_out.empty()) {
        writeNote(fmt::format("left out for width: {}", fmt::join(left_out, ", ")), style, out);
      }
    }
    if (!table.note.empty()) writeNote(table.note, style, out);
  }
  if (without_rows.empty()) return;
  if (!first) out.put('\n');
  writeTitle("Nothing to show", style, out);
  for (const ReportTable* table : without_rows) {
    writeNote(fmt::format("{}: {}", shortTitle(table->title), table->note), style, out);
  }
}

void writeReportJson(const std::vector<ReportTable>& report, Output& out) {
  JsonWriter json(out, 1);
  json.beginObject();
  for (const ReportTable& table : report) {
    json.key(table.key).beginArray();
    for (const auto& row : table.rows) {
      json.beginObject();
      for (size_t i = 0; i < row.size(); ++i) {
        json.key(table.columns[i].key);
        if (const auto* text = std::get_if<std::string>(&row[i])) {
          json.value(*text);
        } else if (const auto* whole = std::get_if<int64_t>(&row[i])) {
          json.value(*whole);
        } else if (const auto* real = std::get_if<double>(&row[i])) {
          json.value(*real);
        } else {
          json.null();
        }
      }
      json.endObject();
    }
    json.endArray();
  }
  json.key("notes").beginObject();
  for (const ReportTable& table : report) {
    if (!table.note.empty()) json.key(table.key).value(table.note);
  }
  json.endObject();
  json.endObject();
  out.put('\n');
}

}  // namespace tracesmith
