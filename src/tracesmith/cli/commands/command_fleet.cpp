// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tracesmith/base/files/target_file.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/fleet_files.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/export/text/report_text.hpp"
#include "tracesmith/fleet/fleet_report.hpp"

namespace tracesmith::cli {
namespace {

class FleetCommand : public Command {
 public:
  FleetCommand() : Command("fleet", "Show where the time of very many traces went") {
    texts("FILE", inputs_, "FILE|DIR", "Traces, their summaries, or folders with them",
          Complete::kFile)
        .required();
    text("--summaries", folder_, "DIR",
         "Folder where summaries are stored (default: beside each trace)", Complete::kDirectory);
    flag("!--no-store", stores_, "Do not store the summaries of traces");
    flag("--again", again_, "Summarize traces again that have a summary");
    count("--limit", limit_, "N", "Rows of a table; 0: all (default 15; with --json all)");
    flag("--full-names", full_names_,
         "Show full names of kernels, not short ones (--json always has full names)");
    flag("--json", json_, "Print JSON, exact in ns");
    describe(
        "Adds up the summaries of all traces, and makes those that are missing. A trace counts "
        "once, however many copies of it there are. What cannot be read is named on standard "
        "error, and does not stop the rest.");
    describe(
        "Sums, counts and extremes are exact, quantiles right within 1/128. They do not depend on "
        "the order of the files.");
    example("tracesmith fleet /data/traces", "Sum up all traces in a folder");
    example("tracesmith fleet monday/*.summary --json", "Sum up summaries, as JSON");
  }

  int run(Session& session) override {
    removeUnfinishedAtSignals();
    FleetOptions options;
    options.folder = folder_;
    options.stores = stores_;
    options.computes_again = again_;
    const Result<FleetRun> run = runFleetFiles(inputs_, options, session);
    if (!run) return failWith(run.error());
    const int code = reportFleetFiles(*run);
    warnOfMissingStores(*run);
    if (run->sum.traces == 0) return kExitFailed;
    FleetReportOptions report;
    if (json_) report.limit = 0;
    if (limit_) report.limit = static_cast<size_t>(*limit_);
    report.short_names = !json_ && !full_names_;
    Output out = standardOutput();
    if (json_) {
      writeReportJson(fleetReport(run->sum, report), out);
    } else {
      const TerminalStyle style{.width = session.terminal.width,
                                .colour = session.terminal.colour,
                                .utf8 = session.terminal.utf8};
      writeReportText(fleetReport(run->sum, report), style, out, EmptyTables::kListed);
    }
    return finishOutput(out, code);
  }

 private:
  /// Once for all of them: a folder that cannot be written to may have thousands of traces.
  void warnOfMissingStores(const FleetRun& run) const {
    size_t missing = 0;
    const FleetFile* first = nullptr;
    for (const FleetFile& file : run.files) {
      if (file.not_stored.empty()) continue;
      ++missing;
      if (first == nullptr) first = &file;
    }
    if (first == nullptr) return;
    sayWarning(fmt::format("{}: its summary was not stored: {}{}", first->path, first->not_stored,
                           missing == 1 ? std::string()
                                        : fmt::format("; and {} more. --summaries DIR stores them "
                                                      "elsewhere",
                                                      missing - 1)));
  }

  std::vector<std::string> inputs_;
  std::string folder_;
  bool stores_ = true, again_ = false, full_names_ = false, json_ = false;
  std::optional<uint64_t> limit_;
};

}  // namespace

std::unique_ptr<Command> makeFleetCommand() { return std::make_unique<FleetCommand>(); }

}  // namespace tracesmith::cli
