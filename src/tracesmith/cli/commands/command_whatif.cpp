// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/busy_line.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/emulate/what_if_report.hpp"
#include "tracesmith/export/text/report_text.hpp"

namespace tracesmith::cli {
namespace {

class WhatIfCommand : public Command {
 public:
  WhatIfCommand() : Command("whatif", "Predict the effect of a change on the run time") {
    text("FILE", input_, "FILE", "Trace (.sbt), or another tool's trace", Complete::kFile)
        .required();
    list("--scale", texts_.scale, "WHAT:FACTOR",
         "Multiply durations of device work or calls: kernel=RE:0.5, call=RE:2, host:0.8 (the "
         "host's time between calls)");
    list("--remove", texts_.remove, "WHAT", "Remove device work or calls");
    list("--fuse", texts_.fuse, "WHAT",
         "Fuse matching kernels that follow each other in a stream into one, launched once");
    list("--bandwidth", texts_.bandwidth, "FACTOR",
         "Multiply the bandwidth of copies: 2x, or of one direction: h2d=2x (h2d, d2h, d2d, p2p)");
    count("--streams", texts_.streams, "N", "Spread each device's work over N streams");
    flag("--allow-unmatched", allow_unmatched_,
         "Keep the recorded start of work whose launch is not in the trace, instead of refusing "
         "the trace");
    flag("--no-check", no_check_, "Skip the model's error estimate, which takes most of the time");
    count("--rank", rank_, "N", "Rank N of a merged trace");
    count("--limit", limit_, "N", "Rows of a table; 0: all (default 15; with --json all)");
    flag("--json", json_, "Print JSON, exact in ns");
    describe(
        "Computes the times of the trace again with a model of host threads, launches, streams, "
        "events, copy engines and devices that kernels share. Waiting times are computed, not "
        "copied from the trace. WHAT is a regular expression (POSIX extended) for names of device "
        "work, or kernel=RE, copy=RE, fill=RE, call=RE, or the word communication for the kernels "
        "of "
        "collective libraries. Changes can be repeated and combined; they apply in the order "
        "remove, fuse, scale, bandwidth, streams. Without changes, shows how well the model fits "
        "this trace. docs/whatif.md defines every number and lists the assumptions.");
    example("tracesmith whatif trace.sbt", "Check the model against the trace");
    example("tracesmith whatif trace.sbt --scale 'kernel=gemm:0.5'",
            "Make matrix products twice as fast");
    example("tracesmith whatif trace.sqlite --remove elementwise --bandwidth h2d=2x --json",
            "Combine two changes and print JSON");
  }

  int run(Session& session) override {
    const Result<WhatIf> change = WhatIf::parse(texts_);
    if (!change) return failWith(change.error());
    Result<TraceFile> file = readTraceFile(input_);
    if (!file) return failWith(file.error());
    if (const Status chosen = chooseRank(*file, rank_); !chosen) return failWith(chosen.error());
    WhatIfOptions options;
    options.emulator.allow_unmatched = allow_unmatched_;
    options.check = !no_check_;
    options.limit = static_cast<size_t>(limit_.value_or(json_ ? 0 : 15));
    BusyLine busy("emulating " + input_);
    const Result<std::vector<ReportTable>> report = whatIfReport(file->trace, *change, options);
    busy.end();
    if (!report) {
      Error error = report.error();
      if (error.where.empty()) error.where = input_;
      return failWith(error);
    }
    const TerminalStyle style{.width = session.terminal.width,
                              .colour = session.terminal.colour,
                              .utf8 = session.terminal.utf8};
    Output out = standardOutput();
    if (json_) {
      writeReportJson(*report, out);
    } else {
      writeReportText(*report, style, out);
    }
    return finishOutput(out, reportLosses(file->reader, input_, kExitOk));
  }

 private:
  /// An option that may be repeated.
  void list(const std::string& name, std::vector<std::string>& out, const std::string& value,
            const std::string& description) {
    texts(name, out, value, description).oneEach();
  }

  std::string input_;
  WhatIfTexts texts_;
  std::optional<uint64_t> rank_;
  std::optional<uint64_t> limit_;
  bool allow_unmatched_ = false;
  bool no_check_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeWhatIfCommand() { return std::make_unique<WhatIfCommand>(); }

}  // namespace tracesmith::cli
