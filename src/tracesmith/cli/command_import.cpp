// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tracesmith/cli/commands.hpp"
#include "tracesmith/cli/export_target.hpp"
#include "tracesmith/cli/messages.hpp"
#include "tracesmith/cli/trace_file.hpp"
#include "tracesmith/export/human_units.hpp"
#include "tracesmith/import/import_trace.hpp"
#include "tracesmith/import/importer.hpp"

namespace tracesmith::cli {
namespace {

class ImportCommand : public Command {
 public:
  ImportCommand() : Command("import", "Make a trace from what another tool recorded") {
    text("FILE", input_, "FILE", "Another tool's trace, also packed with gzip or zstd",
         Complete::kFile)
        ->required();
    text("-o,--output", output_, "FILE", "Where to write (default: beside FILE, as .sbt)",
         Complete::kFile);
    flag("-q,--quiet", quiet_, "Say nothing but warnings and errors");
    describe(
        "Chrome's JSON format is that of PyTorch's profiler (Kineto) and of many others. "
        "The format is recognised by the content. The other commands take such files directly, "
        "too; a trace that was imported once is quicker to open.");
    describe(formats());
    example("tracesmith import trace.json.gz -o trace.sbt", "PyTorch's profile");
  }

  int run(Session&) override {
    const std::string output = output_.empty() ? sbtBeside(input_) : output_;
    const Result<import::ImportReport> report = import::importTrace(input_, output);
    if (!report) return failWith(inWordsForPeople(report.error(), input_));
    const import::ImportCounts& counts = report->counts;
    const bool damaged = sayWhatWasLost(input_, counts);
    if (!quiet_) {
      say(fmt::format("{} of {} events of {} ({}), {}: {} ({}). Next: tracesmith view {} --stats",
                      formatCount(counts.rows), formatCount(counts.events), input_, report->format,
                      formatBytes(counts.bytes), output, formatBytes(report->output_bytes),
                      output));
      if (!report->experimental.empty()) {
        say(fmt::format("reading {} is experimental: {}", report->format, report->experimental));
      }
    }
    return damaged ? kExitPartlyRead : kExitOk;
  }

 private:
  static std::string formats() {
    std::string tried;
    std::string experimental;
    for (const import::Importer& importer : import::importers()) {
      std::string& list = importer.experimental.empty() ? tried : experimental;
      list += (list.empty() ? "" : ", ") + std::string(importer.format);
    }
    std::string text = "Formats: " + tried + ".";
    if (!experimental.empty()) {
      text += " Experimental, as no real file could be had to test with: " + experimental + ".";
    }
    return text;
  }

  /// "dir/run.json.gz" makes "dir/run.sbt".
  static std::string sbtBeside(std::string path) {
    for (const std::string packed : {".gz", ".zst"}) {
      if (path.size() > packed.size() && path.ends_with(packed)) {
        path.resize(path.size() - packed.size());
      }
    }
    return withExtension(path, ".sbt");
  }

  std::string input_;
  std::string output_;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> makeImportCommand() { return std::make_unique<ImportCommand>(); }

}  // namespace tracesmith::cli
