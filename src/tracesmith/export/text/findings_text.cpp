// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/text/findings_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "tracesmith/base/human_units.hpp"

namespace tracesmith {
namespace {

constexpr int kPipeWidth = 100;  // of lines for people, where there is no terminal
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
      out_.write(style_.bold("Findings, the most important first") + "\n");
    }
    const size_t most = limit == 0 ? all : std::min(limit, all);
    for (size_t i = 0; i < most; ++i) write(findings.list[i], i + 1);
    if (most < all) {
      out_.write("  " + style_.dim(fmt::format("and {} more (--limit 0 shows all)", all - most)) +
                 "\n");
    }
    std::string rest;
    for (const std::string& why : findings.not_checked) rest += (rest.empty() ? "" : "; ") + why;
    if (!rest.empty()) paragraph(printable("Not checked: " + rest + "."), 2);
  }

 private:
  void write(const Finding& finding, size_t number) {
    const std::string head = fmt::format("{:>2}. ", number);
    const char* paint = finding.severity == Severity::kWrong   ? "1;31"
                        : finding.severity == Severity::kMajor ? "1"
                                                               : nullptr;
    paragraph(printable(finding.title), kIndent, head, paint);
    labelled("why", finding.cause);
    labelled("shown by", evidenceOf(finding));
    command(finding.evidence.command);
    labelled("do", finding.advice);
    labelled("gain", gainOf(finding.gain));
    if (finding.gain.share) command(finding.gain.command);
    labelled("rule", fmt::format("{} ({})", finding.rule, toString(finding.severity)));
  }

  std::string evidenceOf(const Finding& finding) const {
    const Evidence& evidence = finding.evidence;
    if (evidence.end_ns <= evidence.begin_ns) return evidence.text;
    const std::string from = formatDuration(evidence.begin_ns, style_.micro());
    const std::string to = formatDuration(evidence.end_ns, style_.micro());
    return from == to ? fmt::format("{} (see {})", evidence.text, from)
                      : fmt::format("{} (see {} to {})", evidence.text, from, to);
  }

  std::string gainOf(const Gain& gain) const {
    if (!gain.share) return "cannot say: " + gain.why_not;
    return fmt::format("{} shorter {}; error of the model {}", formatPercent(*gain.share),
                       gain.change, formatPercent(gain.error));
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
    std::string line;
    const auto finish = [&] {
      if (head.empty()) head = std::string(static_cast<size_t>(indent), ' ');
      out_.write(head + (paint != nullptr ? style_.paint(paint, line) : line) + "\n");
      head.clear();
      line.clear();
    };
    while (!text.empty()) {
      const size_t space = std::min(text.find(' '), text.size());
      const std::string_view word = text.substr(0, space);
      text.remove_prefix(std::min(space + 1, text.size()));
      if (!line.empty() && indent + displayWidth(line) + 1 + displayWidth(word) > width_) finish();
      if (!line.empty()) line += ' ';
      line += word;
    }
    if (!line.empty()) finish();
  }

  const TerminalStyle& style_;
  int width_;
  Output& out_;
};

}  // namespace

void writeFindingsText(const Findings& findings, size_t limit, const TerminalStyle& style,
                       Output& out) {
  FindingsText(style, out).write(findings, limit);
}

}  // namespace tracesmith
