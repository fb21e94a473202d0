// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <optional>
#include <string>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/base/files/file_identity.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/studio_source.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/busy_line.hpp"
#include "tracesmith/cli/terminal/exit_code.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/export/text/report_markdown.hpp"
#include "tracesmith/findings/findings.hpp"
#include "tracesmith/studio/answers/report_page.hpp"

namespace tracesmith::cli {
namespace {

constexpr size_t kRows = 15;

class ReportCommand : public Command {
 public:
  ReportCommand() : Command("report", "Write what a trace shows as one file") {
    text("FILE", input_, "FILE", "Trace (.sbt), or another tool's trace", Complete::kFile)
        .required();
    text("-o,--output", output_, "FILE", "Report; an existing file is replaced", Complete::kFile)
        .required();
    choice("-f,--format", format_, "FORMAT", {"html", "md"},
           "Page that opens in any browser, or Markdown (default: by the name of the output)");
    count("--rank", rank_, "N", "Only rank N of a merged trace");
    describe(
        "The page has findings, an overview of the timeline, and all tables of 'analyze'. It is "
        "one "
        "file that needs no network. Markdown has findings and tables.");
    example("tracesmith report out.sbt -o report.html", "A page to send or to keep");
    example("tracesmith report out.sbt -o report.md", "The same as text, for an issue");
  }

  int run(Session&) override {
    const bool markdown = format_.empty() ? output_.ends_with(".md") : format_ == "md";
    if (format_.empty() && !markdown && !output_.ends_with(".html")) {
      return failWith({ErrorCode::kInvalidArgument,
                       "its name ends neither in .html nor in .md; say -f html or -f md", output_});
    }
    if (sameFile(input_, output_)) {
      return failWith(
          {ErrorCode::kInvalidArgument, "would be overwritten; choose another -o", output_});
    }
    Result<TraceFile> file = readTraceFile(input_);
    if (!file) return failWith(file.error());
    if (const Status chosen = chooseRank(*file, rank_); !chosen) return failWith(chosen.error());
    BusyLine busy("analyzing " + input_);
    Result<Output> out = Output::toFile(output_);
    if (!out) return failWith(out.error());
    const int code = reportLosses(file->reader, input_, kExitOk);
    const Status written = markdown ? writeMarkdown(*file, *out) : writePage(*file, code, *out);
    if (!written) return failWith(written.error());
    if (const Status finished = out->finish(); !finished) return failWith(finished.error());
    busy.end();
    say(fmt::format("wrote {} ({})", output_, formatBytes(out->bytesWritten())));
    return code;
  }

 private:
  Status writePage(TraceFile& file, int code, Output& out) {
    studio::StudioTrace::Source source =
        studioSource(file.trace, file.reader, input_, code == kExitOk);
    const studio::StudioTrace trace(std::move(source), std::move(file.trace));
    TS_TRY(const std::string page, studio::reportPage(trace));
    out.write(page);
    return {};
  }

  Status writeMarkdown(const TraceFile& file, Output& out) {
    const size_t slash = input_.rfind('/');
    out.write(fmt::format("# {}\n\n", input_.substr(slash == std::string::npos ? 0 : slash + 1)));
    FindingsOptions options;
    options.file = input_;
    RecordingBeside recording(input_);
    recording.give(options);
    writeFindingsMarkdown(findingsOf(file.trace, options), out);
    ReportOptions tables;
    tables.limit = tables.longest = kRows;
    tables.short_names = true;
    writeReportMarkdown(analyze(file.trace, tables), out);
    return {};
  }

  std::string input_, output_, format_;
  std::optional<uint64_t> rank_;
};

}  // namespace

std::unique_ptr<Command> makeReportCommand() { return std::make_unique<ReportCommand>(); }

}  // namespace tracesmith::cli
