// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/text/findings_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/export/text/wrapped_text.hpp"

namespace tracesmith {
namespace {

constexpr int kPipeWidth = 100;  // of lines for people, where there is no terminal
/// A predicted gain of at least this part of a finding's share is all of it.
constexpr double kWholeGain = 0.9;
constexpr int kIndent = 4;
constexpr int kLabel = 10;

class FindingsText {
 public:
  FindingsText(const TerminalStyle& style, Output& out)
      : style_(style), width_(style.width > 0 ? style.width : kPipeWidth), out_(out) {}

  void write(const Findings& findings, size_t limit) {
    out_.write(style_.bold("Verdict") + "\n");
    paragraph(printable(findings.verdict), 2);
    out_.put('\n');
    const size_t all = findings.list.size();
    if (all == 0) {
      out_.write("  " + style_.dim("no finding") + "\n");
    } else {
      out_.write(style_.bold("Findings, by the most that a fix can save") + "\n");
    }
    const size_t most = limit == 0 ? all : std::min(limit, all);
    size_t number = 0;
    size_t part = 0;
    for (size_t i = 0; i < most; ++i) {
      const bool is_part = !findings.list[i].part_of.empty();
      number += is_part ? 0 : 1;
      part = is_part ? part + 1 : 0;
      write(findings.list[i],
            is_part ? fmt::format("{}.{}", number, part) : fmt::format("{}.", number));
    }
    if (most < all) {
      out_.write("  " + style_.dim(fmt::format("and {} more (--limit 0 shows all)", all - most)) +
                 "\n");
    }
    std::string rest;
    for (const std::string& why : findings.not_checked) rest += (rest.empty() ? "" : "; ") + why;
    if (!rest.empty()) paragraph(printable("Not checked: " + rest + "."), 2);
  }

 private:
  void write(const Finding& finding, const std::string& number) {
    const std::string head = fmt::format("{:>3} ", number);
    const char* paint = finding.severity == Severity::kWrong   ? "1;31"
                        : finding.severity == Severity::kMajor ? "1"
                                                               : nullptr;
    paragraph(printable(finding.title), kIndent, head, paint);
    labelled("why", finding.cause);
    labelled("shown by", evidenceOf(finding));
    command(finding.evidence.command);
    labelled("do", finding.advice);
    labelled("gain", gainOf(finding));
    if (!finding.gain.command.empty()) command(finding.gain.command);
    labelled("rule", fmt::format("{} ({}{}{})", finding.rule, severityOf(finding),
                                 finding.part_of.empty() ? "" : ", part of ", finding.part_of));
  }

  std::string evidenceOf(const Finding& finding) const {
    const Evidence& evidence = finding.evidence;
    if (evidence.end_ns <= evidence.begin_ns) return evidence.text;
    const std::string from = formatDuration(evidence.begin_ns, style_.micro());
    const std::string to = formatDuration(evidence.end_ns, style_.micro());
    return from == to ? fmt::format("{} (see {})", evidence.text, from)
                      : fmt::format("{} (see {} to {})", evidence.text, from, to);
  }

  static std::string_view severityOf(const Finding& finding) {
    return finding.severity == Severity::kWrong ? "wrong results or numbers"
                                                : toString(finding.severity);
  }

  /// The same reason is given once.
  std::string gainOf(const Finding& finding) {
    const Gain& gain = finding.gain;
    if (!gain.share) {
      if (gain.why_not == last_why_not_) return "cannot say, as above";
      last_why_not_ = gain.why_not;
      return "cannot say: " + gain.why_not;
    }
    std::string out =
        fmt::format("{} shorter {} (simulated; without the change {} off)",
                    formatPercent(*gain.share), gain.change, formatPercent(gain.error));
    if (gain.removes && finding.share && *gain.share < kWholeGain * *finding.share) {
      out += fmt::format("; not the whole {}, because other work, waits or the host remain",
                         formatPercent(*finding.share));
    }
    return out;
  }

  void labelled(std::string_view label, const std::string& text) {
    paragraph(printable(text), kIndent + kLabel, fmt::format("{:4}{:<{}}", "", label, kLabel));
  }

  /// Never broken, so that it can be copied.
  void command(const std::string& text) {
    out_.write(std::string(kIndent + kLabel, ' ') + style_.dim(printable(text)) + "\n");
  }

  /// Words of `text`, indented; `head` stands in the indentation of the first line.
  void paragraph(std::string_view text, int indent, std::string head = {},
                 const char* paint = nullptr) {
    if (head.empty()) head = std::string(static_cast<size_t>(indent), ' ');
    for (const std::string& line : wrapText(text, std::max(width_ - indent, 1))) {
      out_.write(head + (paint != nullptr ? style_.paint(paint, line) : line) + "\n");
      head = std::string(static_cast<size_t>(indent), ' ');
    }
  }

  const TerminalStyle& style_;
  std::string last_why_not_;
  int width_;
  Output& out_;
};

}  // namespace

void writeFindingsText(const Findings& findings, size_t limit, const TerminalStyle& style,
                       Output& out) {
  FindingsText(style, out).write(findings, limit);
}

}  // namespace tracesmith
