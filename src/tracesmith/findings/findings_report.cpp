// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/findings/findings_report.hpp"

namespace tracesmith {
namespace {

using Q = Quantity;

ReportValue known(const std::optional<double>& value) {
  return value ? ReportValue(*value) : ReportValue(std::monostate{});
}

ReportValue text(const std::string& value) {
  return value.empty() ? ReportValue(std::monostate{}) : ReportValue(value);
}

std::vector<ReportValue> rowOf(const Finding& f) {
  const bool part = f.evidence.end_ns > f.evidence.begin_ns;
  const auto at = [&](int64_t ns) {
    return part ? ReportValue(ns) : ReportValue(std::monostate{});
  };
  return {f.rule,
          text(f.part_of),
          std::string(toString(f.severity)),
          f.title,
          f.cause,
          known(f.share),
          f.possible,
          f.advice,
          known(f.gain.share),
          f.gain.share ? ReportValue(f.gain.error) : ReportValue(std::monostate{}),
          text(f.gain.change),
          text(f.gain.command),
          text(f.gain.why_not),
          text(f.evidence.text),
          count(f.evidence.rows),
          at(f.evidence.begin_ns),
          at(f.evidence.end_ns),
          f.evidence.command};
}

}  // namespace

std::vector<ReportTable> findingsReport(const Findings& findings) {
  std::vector<ReportTable> out;
  out.push_back({"verdict", "Verdict", {{"text", "verdict", Q::kText}}, {{findings.verdict}}, {}});
  ReportTable list{"findings",
                   "Findings, by the most that a fix can save",
                   {{"rule", "rule", Q::kText},
                    {"part_of", "part of", Q::kText},
                    {"severity", "severity", Q::kText},
                    {"title", "finding", Q::kText},
                    {"cause", "cause", Q::kText},
                    {"share", "of the run", Q::kShare},
                    {"possible", "at most", Q::kShare},
                    {"advice", "what to do", Q::kText},
                    {"gain", "predicted gain", Q::kShare},
                    {"gain_error", "model error", Q::kShare},
                    {"gain_change", "change", Q::kText},
                    {"gain_command", "command", Q::kText},
                    {"gain_unknown", "why no prediction", Q::kText},
                    {"evidence", "evidence", Q::kText},
                    {"evidence_rows", "rows", Q::kCount},
                    {"begin_ns", "from", Q::kTimeNs},
                    {"end_ns", "to", Q::kTimeNs},
                    {"evidence_command", "shown by", Q::kText}},
                   {},
                   {}};
  for (const Finding& finding : findings.list) list.rows.push_back(rowOf(finding));
  out.push_back(std::move(list));
  ReportTable rest{"not_checked", "Not checked", {{"why", "why", Q::kText}}, {}, {}};
  for (const std::string& why : findings.not_checked) rest.rows.push_back({why});
  out.push_back(std::move(rest));
  return out;
}

}  // namespace tracesmith
