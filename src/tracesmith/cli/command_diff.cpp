// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/trace_diff.hpp"
#include "tracesmith/cli/commands.hpp"
#include "tracesmith/cli/messages.hpp"
#include "tracesmith/cli/standard_output.hpp"
#include "tracesmith/cli/trace_file.hpp"
#include "tracesmith/export/report_text.hpp"

namespace tracesmith::cli {
namespace {

class DiffCommand : public Command {
 public:
  DiffCommand() : Command("diff", "Say what is different between two traces") {
    text("A", a_, "A", "The trace before (.sbt), or another tool's", Complete::kFile).required();
    text("B", b_, "B", "The trace after", Complete::kFile).required();
    count("--limit", limit_, "N",
          "Rows of the table by name (default 25, with --json all; 0: all)");
    flag("--json", json_, "As JSON: exact, in ns");
    describe(
        "Which kernels, copies and calls appeared, vanished, became slower or faster. A name is "
        "called slower or faster only where that is no chance: effect is Cliff's delta of its "
        "durations, p that of a rank test (docs/analysis.md).");
    example("tracesmith diff before.sbt after.sbt", "Did the change help?");
  }

  int run(Session& session) override {
    Result<TraceFile> a = readTraceFile(a_);
    if (!a) return failWith(a.error());
    Result<TraceFile> b = readTraceFile(b_);
    if (!b) return failWith(b.error());
    const std::vector<ReportTable> report =
        diffReport(a->trace, b->trace, {}, static_cast<size_t>(limit_.value_or(json_ ? 0 : 25)));
    const TerminalStyle style{.width = session.terminal.width,
                              .colour = session.terminal.colour,
                              .utf8 = session.terminal.utf8};
    Output out = standardOutput();
    if (json_) {
      writeReportJson(report, out);
    } else {
      writeReportText(report, style, out);
    }
    return finishOutput(out, reportLosses(b->reader, b_, reportLosses(a->reader, a_, kExitOk)));
  }

 private:
  std::string a_;
  std::string b_;
  std::optional<uint64_t> limit_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeDiffCommand() { return std::make_unique<DiffCommand>(); }

}  // namespace tracesmith::cli
