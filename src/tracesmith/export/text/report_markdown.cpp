// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/text/report_markdown.hpp"

#include <fmt/format.h>

#include <cctype>
#include <string>
#include <string_view>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/export/text/report_text.hpp"

namespace tracesmith {
namespace {

const TerminalStyle kStyle{.utf8 = true};

/// Text that Markdown shows as it is, on one line.
std::string plain(std::string_view text) {
  const std::string line = printable(text);
  const auto isWord = [&](size_t at) {
    return at < line.size() && std::isalnum(static_cast<unsigned char>(line[at])) != 0;
  };
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool special =
        line[i] == '_' ? !isWord(i - 1) || !isWord(i + 1)
                       : std::string_view("\\`*{}[]<>#|~&").find(line[i]) != std::string_view::npos;
    if (special) out += '\\';
    out += line[i];
  }
  return out;
}

/// A command as code; whatever quotes it has.
std::string code(std::string_view text) {
  const std::string line = printable(text);
  const std::string_view quote = line.find('`') == std::string::npos ? "`" : "`` ";
  return fmt::format("{}{}{}", quote, line, quote == "`" ? "`" : " ``");
}

void writeFinding(const Finding& finding, Output& out) {
  out.write(fmt::format("### {}\n\n", plain(finding.title)));
  out.write(fmt::format("- Why: {}\n", plain(finding.cause)));
  out.write(fmt::format("- Shown by: {}\n", plain(finding.evidence.text)));
  if (!finding.evidence.command.empty()) {
    out.write(fmt::format("- Command: {}\n", code(finding.evidence.command)));
  }
  out.write(fmt::format("- Do: {}\n", plain(finding.advice)));
  if (finding.gain.share) {
    out.write(fmt::format("- Gain: {} shorter {} (simulated; without the change {} off)\n",
                          formatPercent(*finding.gain.share), plain(finding.gain.change),
                          formatPercent(finding.gain.error)));
  } else {
    out.write(fmt::format("- Gain: cannot say: {}\n", plain(finding.gain.why_not)));
  }
  out.write(fmt::format("- Rule: {} ({})\n\n", finding.rule, toString(finding.severity)));
}

void writeTable(const ReportTable& table, Output& out) {
  out.write(fmt::format("## {}\n\n", plain(table.title)));
  std::string heads = "|", rules = "|";
  for (const ReportColumn& column : table.columns) {
    heads += fmt::format(" {} |", plain(column.header));
    rules += column.quantity == Quantity::kText ? "---|" : "---:|";
  }
  out.write(heads + "\n" + rules + "\n");
  for (const std::vector<ReportValue>& row : table.rows) {
    std::string line = "|";
    for (size_t i = 0; i < row.size(); ++i) {
      line +=
          fmt::format(" {} |", plain(reportValueText(row[i], table.columns[i].quantity, kStyle)));
    }
    out.write(line + "\n");
  }
  out.write("\n");
  if (!table.note.empty()) out.write(plain(table.note) + "\n\n");
}

}  // namespace

void writeFindingsMarkdown(const Findings& findings, Output& out) {
  out.write(plain(findings.verdict) + "\n\n## Findings\n\n");
  if (findings.list.empty()) out.write("No rule found a problem.\n\n");
  for (const Finding& finding : findings.list) writeFinding(finding, out);
  for (const std::string& why : findings.not_checked) {
    out.write(fmt::format("- Not checked: {}\n", plain(why)));
  }
  if (!findings.not_checked.empty()) out.write("\n");
}

void writeReportMarkdown(const std::vector<ReportTable>& report, Output& out) {
  for (const ReportTable& table : report) {
    if (!table.rows.empty()) writeTable(table, out);
  }
}

}  // namespace tracesmith
