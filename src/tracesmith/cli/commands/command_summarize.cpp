// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tracesmith/base/files/target_file.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/fleet_files.hpp"
#include "tracesmith/cli/terminal/messages.hpp"

namespace tracesmith::cli {
namespace {

class SummarizeCommand : public Command {
 public:
  SummarizeCommand()
      : Command("summarize", "Write small summaries of traces, which can be added up") {
    texts("FILE", inputs_, "FILE|DIR", "Traces (.sbt), or folders with traces", Complete::kFile)
        .required();
    text("--summaries", folder_, "DIR",
         "Store summaries in this folder (default: beside each trace)", Complete::kDirectory);
    flag("--again", again_, "Also if there is a summary of the same trace");
    flag("-q,--quiet", quiet_, "Print only warnings and errors");
    describe(
        "A summary takes at most 64 KiB, however large its trace is: counts, sums, extremes and "
        "quantiles by kernel, family, copy, collective, device and reason of idleness. Traces are "
        "read block by block on all processors.");
    describe(
        "The summary of run.sbt is run.sbt.summary. 'tracesmith fleet' adds summaries up, and "
        "makes "
        "those that are missing. So summarize traces where they are, and collect the summaries.");
    example("tracesmith summarize run.sbt", "Write run.sbt.summary");
    example("tracesmith summarize /data/traces --summaries /data/summaries",
            "Summarize all traces in a folder that are new");
  }

  int run(Session& session) override {
    removeUnfinishedAtSignals();
    FleetOptions options;
    options.folder = folder_;
    options.computes_again = again_;
    const Result<FleetRun> run = runFleetFiles(inputs_, options, session);
    if (!run) return failWith(run.error());
    int code = reportFleetFiles(*run);
    for (const FleetFile& file : run->files) {
      if (file.state != FleetFile::State::kComputed || file.not_stored.empty()) continue;
      sayError({ErrorCode::kIo, "no summary was stored: " + file.not_stored, file.path});
      code = kExitFailed;
    }
    if (!quiet_) {
      say(fmt::format("{} traces summarized, {} had summaries already. Next: tracesmith fleet {}",
                      run->count(FleetFile::State::kComputed),
                      run->count(FleetFile::State::kStored),
                      folder_.empty() ? inputs_.front() : folder_));
    }
    return code;
  }

 private:
  std::vector<std::string> inputs_;
  std::string folder_;
  bool again_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> makeSummarizeCommand() { return std::make_unique<SummarizeCommand>(); }

}  // namespace tracesmith::cli
