// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/diff/trace_diff.hpp"
#include "tracesmith/base/files/distinct_files.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/busy_line.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/export/text/report_text.hpp"

namespace tracesmith::cli {
namespace {

class DiffCommand : public Command {
 public:
  DiffCommand() : Command("diff", "Compare two traces, or two groups of traces") {
    texts("A", before_, "A", "Trace before the change (.sbt), or another tool's; several with '--'",
          Complete::kFile)
        .required();
    takeSecondGroup("B");
    count("--rank", rank_, "N", "Rank N of merged traces");
    count("--limit", limit_, "N",
          "Rows of the table by name; 0: all (default 25; with --json all)");
    flag("--json", json_, "Print JSON, exact in ns");
    describe(
        "Shows which kernels, copies and calls appeared, vanished, or became slower or faster: "
        "'diff A B', or 'diff A... -- B...' with several runs of each side. A name is slower or "
        "faster when the confidence interval of its change excludes 0. With one run of each side, "
        "this holds only for these two runs; with several, for the programs (docs/analysis.md).");
    example("tracesmith diff before.sbt after.sbt", "Compare two runs");
    example("tracesmith diff before*.sbt -- after*.sbt",
            "Compare two groups, so that differences between runs count");
  }

  int run(Session& session) override {
    std::vector<std::string> after = session.second_group;
    if (after.empty() && before_.size() == 2) {
      after.push_back(before_.back());
      before_.pop_back();
    }
    if (after.empty()) {
      const std::string given = before_.size() == 1
                                    ? "one trace is given"
                                    : std::to_string(before_.size()) + " traces are given";
      say("diff: " + given +
          "; use 'diff A B' for two traces, 'diff A... -- B...' for several per side");
      return kExitUsage;
    }
    const bool by_run = before_.size() > 1 || after.size() > 1;
    if (by_run) {  // a run that counts twice would make any difference look certain
      std::vector<std::string> all = before_;
      all.insert(all.end(), after.begin(), after.end());
      if (const Status distinct = areDistinctFiles(all); !distinct) {
        return failWith(distinct.error());
      }
    }
    int code = kExitOk;
    std::vector<DiffRun> a, b;
    for (const auto& [paths, runs] : {std::pair(&before_, &a), std::pair(&after, &b)}) {
      for (const std::string& path : *paths) {
        Result<TraceFile> file = readTraceFile(path);
        if (!file) return failWith(file.error());
        if (const Status chosen = chooseRank(*file, rank_); !chosen) {
          return failWith(chosen.error());
        }
        runs->push_back(DiffRun::of(file->trace, !by_run));
        code = reportLosses(file->reader, path, code);
      }
    }
    BusyLine busy("comparing");
    const std::vector<ReportTable> report =
        diffReport(a, b, {}, static_cast<size_t>(limit_.value_or(json_ ? 0 : 25)));
    busy.end();
    const TerminalStyle style{.width = session.terminal.width,
                              .colour = session.terminal.colour,
                              .utf8 = session.terminal.utf8};
    Output out = standardOutput();
    if (json_) {
      writeReportJson(report, out);
    } else {
      writeReportText(report, style, out);
    }
    return finishOutput(out, code);
  }

 private:
  std::vector<std::string> before_;
  std::optional<uint64_t> rank_;
  std::optional<uint64_t> limit_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeDiffCommand() { return std::make_unique<DiffCommand>(); }

}  // namespace tracesmith::cli
