// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include "tracesmith/base/files/target_file.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/new_trace.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/export/formats/export_format.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/import/import_trace.hpp"

namespace tracesmith::cli {
namespace {

class ImportCommand : public Command {
 public:
  ImportCommand() : Command("import", "Convert another tool's trace") {
    texts("FILE", inputs_, "FILE",
          "Another tool's trace (may be compressed with gzip or zstd), or - for standard input; "
          "several files if the tool wrote several for one run",
          Complete::kFile)
        .required();
    text("-o,--output", output_, "FILE",
         "Output file (default: beside FILE, as .sbt; replaces only an earlier import of FILE)",
         Complete::kFile);
    text("--binary", options_.binary, "PROGRAM",
         "For XRay logs: the program that wrote the log, to name its functions", Complete::kFile);
    flag("--force", force_,
         "Let a trace without events replace one with events; see 'tracesmith help profile'");
    flag("-q,--quiet", quiet_, "Print only warnings and errors");
    describe(
        "The format is recognised by the content. Other commands also read such files directly; an "
        "imported trace opens faster.");
    describe(formats());
    example("tracesmith import trace.json.gz -o trace.sbt", "Import a PyTorch profile");
    example("ssh host cat trace.json.gz | tracesmith import - -o trace.sbt", "Import from a pipe");
    example("tracesmith import report.sqlite", "Import an export of Nsight Systems");
    example("tracesmith import 42_*_trace.csv 42_agent_info.csv -o run.sbt",
            "Import a run of rocprofv3");
    example("tracesmith import xray-log.app.Ab12Cd --binary ./app", "Import an XRay log");
  }

  int run(Session&) override {
    removeUnfinishedAtSignals();
    input_ = inputs_.front();
    options_.more.assign(inputs_.begin() + 1, inputs_.end());
    if (input_ == "-") {
      if (output_.empty()) {
        return failWith({ErrorCode::kInvalidArgument, "has no name: name the output with -o",
                         "standard input"});
      }
      called_ = "standard input";
    } else {
      called_ = input_;
    }
    const std::string output = output_.empty() ? sbtPathFor(input_) : output_;
    if (output_.empty() && isAnother(output)) {
      return failWith(
          {ErrorCode::kInvalidArgument,
           fmt::format("exists and was not imported from {}; choose the output with -o", input_),
           output});
    }
    const Result<ImportedTrace> imported = importToOutput(input_, output, force_, options_);
    if (!imported) return failWith(explainError(imported.error(), called_));
    const import::ImportReport* const report = &imported->report;
    const import::ImportCounts& counts = report->counts;
    const bool damaged = reportImportLosses(called_, counts);
    if (!report->experimental.empty()) {
      sayWarning(fmt::format("{} is experimental: {}", report->format, report->experimental));
    }
    if (!quiet_) {
      for (const std::string& note : counts.notes) say(fmt::format("{}: {}", called_, note));
      say(fmt::format("{} events of {} ({}), {}: {} ({}){}. Next: tracesmith view {} --stats",
                      formatCount(counts.events), called_, report->format,
                      formatBytes(counts.bytes), imported->path, formatBytes(report->output_bytes),
                      wasConvertedToText(counts), imported->path));
    }
    return damaged ? kExitPartlyRead : kExitOk;
  }

 private:
  /// All formats that can be imported; those never tested with a real file are marked.
  static std::string formats() {
    std::string list = "It reads:";
    for (const import::Importer& importer : import::importers()) {
      list += fmt::format("{} {}{}", list.back() == ':' ? "" : ",", importer.format,
                          importer.experimental.empty() ? "" : " (experimental)");
    }
    return list + ".";
  }

  /// What became of the events, if not all are rows: `loss` counts all of them as written.
  static std::string wasConvertedToText(const import::ImportCounts& counts) {
    if (counts.rows >= counts.events) return "";
    return fmt::format(", {} as table rows and {} as names or unchanged", formatCount(counts.rows),
                       formatCount(counts.events - counts.rows));
  }

  /// "dir/run.json.gz" gives "dir/run.sbt".
  static std::string sbtPathFor(std::string path) {
    for (const std::string packed : {".gz", ".zst"}) {
      if (path.size() > packed.size() && path.ends_with(packed)) {
        path.resize(path.size() - packed.size());
      }
    }
    return withExtension(path, ".sbt");
  }

  /// Whether the output exists and was not created by an earlier import of this input. It may be a
  /// recording, for example, which nobody asked to replace.
  bool isAnother(const std::string& output) const {
    if (::access(output.c_str(), F_OK) != 0) return false;
    Result<TraceReader> there = TraceReader::open(output);
    if (!there) return true;
    const Result<Trace> facts = there->read({.tables = {TableId::kMetadata}});
    // Both are in the same folder, whose path may be written in different ways.
    return !facts || fileName(facts->metadataValue("imported_from")) != fileName(input_);
  }

  static std::string_view fileName(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
  }

  std::vector<std::string> inputs_;
  std::string input_;   // the first input file
  std::string called_;  // the name of the input in messages
  std::string output_;
  import::ImportOptions options_;
  bool force_ = false;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> makeImportCommand() { return std::make_unique<ImportCommand>(); }

}  // namespace tracesmith::cli
