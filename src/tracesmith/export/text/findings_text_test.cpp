// SPDX-License-Identifier: Apache-2.0
// Tests of findings and of report tables as text.
#include "tracesmith/export/text/findings_text.hpp"

#include <gmock/gmock.h>

#include "tracesmith/export/text/report_text.hpp"

namespace tracesmith {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TerminalStyle wide() {
  TerminalStyle style;
  style.width = 400;
  return style;
}

std::string textOf(const std::vector<Finding>& list) {
  std::string text;
  Output out = Output::toString(&text);
  writeFindingsText({.verdict = "A verdict.", .list = list, .not_checked = {}}, 0, wide(), out);
  EXPECT_TRUE(out.finish());
  return text;
}

Finding predicted(double share, double gain, bool removes) {
  Finding finding;
  finding.rule = "a-rule";
  finding.share = share;
  finding.gain.share = gain;
  finding.gain.removes = removes;
  finding.gain.change = "after a change";
  return finding;
}

TEST(FindingsText, ExplainsAGainBelowTheShareThatTheChangeRemoves) {
  constexpr const char* kWhy = "not the whole 30.0 %, because";
  EXPECT_THAT(textOf({predicted(0.3, 0.1, true)}), HasSubstr(kWhy));
  EXPECT_THAT(textOf({predicted(0.3, 0.28, true)}), Not(HasSubstr(kWhy)));
  // Half of the time is expected to remain.
  EXPECT_THAT(textOf({predicted(0.3, 0.1, false)}), Not(HasSubstr(kWhy)));
}

TEST(FindingsText, GivesTheSameReasonOnce) {
  Finding unknown;
  unknown.gain.why_not = "the trace has no API calls";
  unknown.gain.command = "tracesmith whatif";
  const std::string text = textOf({unknown, unknown});
  const size_t first = text.find("cannot say: the trace has no API calls");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("the trace has no API calls", first + 20), std::string::npos);
  EXPECT_THAT(text.substr(first), HasSubstr("cannot say, as above"));
  EXPECT_THAT(text, HasSubstr("tracesmith whatif"));
}

std::vector<ReportTable> twoTables() {
  const ReportColumn name{"name", "name", Quantity::kText};
  return {{"none", "Idle time (in ns), the longest first", {name}, {}, "the device never idled"},
          {"some", "Kernels", {name}, {{ReportValue("matmul")}}, ""}};
}

std::string textOf(EmptyTables empty) {
  std::string text;
  Output out = Output::toString(&text);
  writeReportText(twoTables(), wide(), out, empty);
  EXPECT_TRUE(out.finish());
  return text;
}

TEST(ReportText, TablesWithoutRowsStayInPlaceOrAreListedAtTheEnd) {
  EXPECT_EQ(textOf(EmptyTables::kInPlace),
            "Idle time (in ns), the longest first\n"
            "  the device never idled\n"
            "\n"
            "Kernels\n"
            "  name\n"
            "  matmul\n");
  EXPECT_EQ(textOf(EmptyTables::kListed),
            "Kernels\n"
            "  name\n"
            "  matmul\n"
            "\n"
            "Nothing to show\n"
            "  Idle time: the device never idled\n");
}

}  // namespace
}  // namespace tracesmith
