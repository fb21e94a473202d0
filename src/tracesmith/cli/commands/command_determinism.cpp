// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/replay_source.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/progress_line.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/export/text/report_text.hpp"
#include "tracesmith/replay/check/replay_report.hpp"

namespace tracesmith::cli {
namespace {

class DeterminismCommand : public Command {
 public:
  DeterminismCommand() : Command("determinism", "Find launches whose results vary, and why") {
    text("FILE", input_, "FILE", "Recording (.sbr), or the trace (.sbt) it belongs to",
         Complete::kFile)
        .required();
    count("--runs", runs_, "N",
          "Runs of each launch from equal inputs, at least 10 (default: enough that a launch which "
          "varies in 3 of 10 runs is missed with a chance below 0.0001)");
    count("--seed", seed_, "N", "Seed for random orders (default 1)");
    text("--device", device_, "D", "Device number or part of its name (default: the recorded one)");
    count("--time-limit", limit_, "S", "Give up on a command that takes longer (default 60 s)");
    count("--process", process_, "PID", "Process to use (default: the one with most launches)");
    flag("--json", json_, "Print JSON");
    describe(
        "Executes each launch many times from the same inputs: with different numbers of threads, "
        "different orders of its work-groups, and newly compiled programs. The whole recording is "
        "also replayed in random legal orders, and with different content in memory that was never "
        "written. Each divergent launch is printed on a line that starts with 'divergent KERNEL'; "
        "the exit code is then 4. See docs/determinism.md.");
    example("tracesmith determinism out.sbt", "Find the launch that varies");
  }

  int run(Session& session) override {
    Result<ReplaySource> source = openReplaySource(input_, process_);
    if (!source) return failWith(source.error());
    DeterminismOptions options;
    options.executor.device = device_;
    options.runs = static_cast<uint32_t>(std::min<uint64_t>(runs_.value_or(0), 1'000'000));
    options.seed = seed_.value_or(1);
    if (limit_) options.step_limit_s = static_cast<double>(*limit_);
    Result<DeterminismReport> report = DeterminismReport();
    {
      ProgressLine line(session.terminal.err_is_terminal);
      options.progress = [&](const std::string& what, double share) {
        line.show(fmt::format("{:3.0f} % {}", 100 * share, what));
      };
      report = checkDeterminism(source->plan, source->reader, options);
    }
    if (!report) return failWith(report.error());
    Output out = standardOutput();
    const std::vector<ReportTable> tables = determinismReport(source->plan, *report);
    if (json_) {
      writeReportJson(tables, out);
    } else {
      for (const Divergence& d : report->divergences) {
        out.write(printable(divergenceLine(source->plan, d)) + "\n");
      }
      writeReportText(tables,
                      {.width = session.terminal.width,
                       .colour = session.terminal.colour,
                       .utf8 = session.terminal.utf8},
                      out);
    }
    if (report->device.empty()) return finishOutput(out, kExitFailed);
    if (!report->divergences.empty() || report->shown != report->shown_equal) {
      return finishOutput(out, kExitReplayDiffers);
    }
    return finishOutput(out, report->complete && source->whole() ? kExitOk : kExitPartlyRead);
  }

 private:
  std::string input_, device_;
  std::optional<uint64_t> runs_, seed_, limit_, process_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeDeterminismCommand() { return std::make_unique<DeterminismCommand>(); }

}  // namespace tracesmith::cli
