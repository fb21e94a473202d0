// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tracesmith/cli/commands.hpp"
#include "tracesmith/cli/export_target.hpp"
#include "tracesmith/cli/messages.hpp"
#include "tracesmith/cli/trace_file.hpp"
#include "tracesmith/export/human_units.hpp"
#include "tracesmith/import/import_trace.hpp"

namespace tracesmith::cli {
namespace {

class ImportCommand : public Command {
 public:
  ImportCommand() : Command("import", "Make a trace from what another tool recorded") {
    texts("FILE", inputs_, "FILE",
          "Another tool's trace, also packed with gzip or zstd; several where it wrote several "
          "files of one run",
          Complete::kFile)
        ->required();
    text("-o,--output", output_, "FILE", "Where to write (default: beside FILE, as .sbt)",
         Complete::kFile);
    text("--binary", options_.binary, "PROGRAM",
         "XRay logs: the program that wrote it, which has the names of its functions",
         Complete::kFile);
    flag("-q,--quiet", quiet_, "Say nothing but warnings and errors");
    describe(
        "Reads Chrome's JSON format, in which PyTorch's profiler (Kineto) and many others write, "
        "AMD's rocprofv3 (JSON, and CSV, of which all tables of a run can be given at once) and "
        "logs "
        "of LLVM's XRay. "
        "The format is recognised by the content. The other commands take such files directly, "
        "too; a trace that was imported once is quicker to open.");
    example("tracesmith import trace.json.gz -o trace.sbt", "PyTorch's profile");
    example("tracesmith import 42_*_trace.csv 42_agent_info.csv -o run.sbt", "A run of rocprofv3");
    example("tracesmith import xray-log.app.Ab12Cd --binary ./app",
            "What XRay logged of a program");
  }

  int run(Session&) override {
    input_ = inputs_.front();
    options_.more.assign(inputs_.begin() + 1, inputs_.end());
    const std::string output = output_.empty() ? sbtBeside(input_) : output_;
    const Result<import::ImportReport> report = import::importTrace(input_, output, options_);
    if (!report) return failWith(inWordsForPeople(report.error(), input_));
    const import::ImportCounts& counts = report->counts;
    const bool damaged = sayWhatWasLost(input_, counts);
    if (!quiet_) {
      for (const std::string& note : counts.notes) say(fmt::format("{}: {}", input_, note));
      say(fmt::format("{} of {} events of {} ({}), {}: {} ({}). Next: tracesmith view {} --stats",
                      formatCount(counts.rows), formatCount(counts.events), input_, report->format,
                      formatBytes(counts.bytes), output, formatBytes(report->output_bytes),
                      output));
    }
    return damaged ? kExitPartlyRead : kExitOk;
  }

 private:
  /// "dir/run.json.gz" makes "dir/run.sbt".
  static std::string sbtBeside(std::string path) {
    for (const std::string packed : {".gz", ".zst"}) {
      if (path.size() > packed.size() && path.ends_with(packed)) {
        path.resize(path.size() - packed.size());
      }
    }
    return withExtension(path, ".sbt");
  }

  std::vector<std::string> inputs_;
  std::string input_;  // the first of them
  std::string output_;
  import::ImportOptions options_;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> makeImportCommand() { return std::make_unique<ImportCommand>(); }

}  // namespace tracesmith::cli
