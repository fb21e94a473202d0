// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tracesmith/base/files/file_identity.hpp"
#include "tracesmith/base/files/target_file.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/busy_line.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/export/formats/export_request.hpp"
#include "tracesmith/export/text/table_text.hpp"

namespace tracesmith::cli {
namespace {

std::vector<std::string> tables() {
  const std::vector<std::string_view> names = tableNames();
  return {names.begin(), names.end()};
}

/// Prints which parts of a recording are not in the trace.
void reportMissingEvents(const RecordingCopy& copy, const TraceFile& file) {
  const bool same = sameFile(copy.path, file.path);
  for (const DataLoss& loss : same ? furtherLosses(copy.losses, file.reader) : copy.losses) {
    sayWarning(fmt::format("{}: {} bytes at offset {} are omitted: {}", copy.path, loss.bytes,
                           loss.offset, loss.reason));
  }
  if (!copy.complete && !same) {
    sayWarning(copy.path +
               ": is unfinished; the new file has its current content ('tracesmith recover' may "
               "find more)");
  }
}

class ExportCommand : public Command {
 public:
  ExportCommand() : Command("export", "Write a trace in another format") {
    text("FILE", input_, "FILE", "Trace (.sbt)", Complete::kFile).required();
    text("-o,--output", output_, "FILE",
         "Output file; '-' for standard output (default: beside the trace, with the format's "
         "extension)",
         Complete::kFile);
    choice("-f,--format", format_, "FORMAT", exportFormatNames(),
           "perfetto (the same as proto) for ui.perfetto.dev; json (the same as chrome) for older "
           "viewers; csv for spreadsheets; speedscope, folded and svg for flame graphs; dot for "
           "Graphviz: the dependencies; sbt for a part of the trace as a trace. Default: "
           "what the output's extension says, else perfetto")
        .explain("parquet", parquetAdvice());
    choice("--table", table_, "TABLE", tables(), "Table to write as CSV (default: kernel)");
    // Two names of one switch; the last one given counts.
    flag("--counters,!--no-counters", counters_, "Include counter tracks (default) or not");
    flag("--flows,!--no-flows", flows_, "Include dependency arrows (default) or not");
    flag("--full", full_,
         "Include attributes that differ for every event: complete, but slow in a viewer");
    choice("--profile", profile_, "PROFILE", {"gpu", "compat"},
           "Perfetto's GPU packets (default) or plain slices for viewers before v55");
    time("--from", from_ns_, "Leave out events that end before this time (from the trace's start)");
    time("--to", to_ns_, "Leave out events that start at or after this time");
    counts("--stream", streams_, "N",
           "Only device work of stream N (numbered as in view --timeline); not with -f dot");
    counts("--device", devices_, "N",
           "Only device work of device N (numbered as in view --timeline); not with -f dot");
    text("--name", name_, "REGEX",
         "Only events whose name contains a match of REGEX (POSIX extended); not with -f dot");
    const Option rank = count("--rank", rank_, "N",
                              "Only rank N of a merged trace; another trace must be of this rank");
    text("--ranks", ranks_, "LIST", "Only these ranks of a merged trace, for example 0-3,7")
        .excludes(rank);
    choice("--by", by_, "WHAT",
           {"device-time", "host-time", "launches", "bytes", "cpu-time", "wait-time"},
           "Flame graph of the host call stacks (profile --stacks), weighted by device time, time "
           "of the calls, number of launches or allocated bytes; with profile --system by time on "
           "processors, or without running; as folded, speedscope or svg. Without call stacks, "
           "device time is that of host ranges and Python functions");
    flag("--all-frames", all_frames_,
         "Include frames of the interpreter, libffi and the loader; -f sbt and csv always have "
         "them");
    flag("--with-recording", with_recording_,
         "Include the recording for replay (.sbr) in the file; only for whole traces and -f sbt "
         "(default: FILE.whole.sbt)");
    flag("--rebuild", rebuild_,
         "Write the JSON of an imported trace from TraceSmith's tables, not the original document");
    flag("-q,--quiet", quiet_, "Print only warnings and errors");
    example("tracesmith export trace.sbt", "Write trace.pftrace for https://ui.perfetto.dev");
    example("tracesmith export trace.sbt -o trace.json", "Write Chrome's JSON format");
    example("tracesmith export trace.sbt -f csv --table copy", "Write all copies to trace.csv");
    example("tracesmith export trace.sbt -f folded --name gemm -o - | flamegraph.pl > gemm.svg",
            "Draw a flame graph of kernels with a name");
    example("tracesmith export trace.sbt -f speedscope --by device-time",
            "Show which functions cause the device time");
    example("tracesmith export trace.json.gz -o flame.svg",
            "Draw the device time by operator, to explore in a browser");
    example("tracesmith export trace.sbt --from 1.2s --to 1.3s -o part.pftrace",
            "Export a tenth of a second");
    example("tracesmith export trace.sbt --with-recording -o both.sbt",
            "Write one file that can be replayed elsewhere");
  }

  int run(Session&) override {
    removeUnfinishedAtSignals();
    ExportFormat format = exportFormatByPath(output_).value_or(ExportFormat::kPerfetto);
    if (with_recording_ && output_.empty()) format = ExportFormat::kSbt;
    if (!format_.empty()) format = *exportFormatByName(format_);
    const std::string extension = with_recording_ ? ".whole.sbt" : extensionOf(format);
    const std::string output = output_.empty() ? withExtension(input_, extension) : output_;
    if (const Status sense = checkOptions(format, output); !sense) return failWith(sense.error());
    Result<NamePattern> names = NamePattern::parse(name_, "--name");
    if (!names) return failWith(names.error());
    Result<TraceFile> file = from_ns_ || to_ns_ ? readTraceWindow(input_, from_ns_, to_ns_, true)
                                                : readTraceFile(input_);
    if (!file) return failWith(file.error());
    if (const Status chosen = chooseRanks(*file, format); !chosen) {
      return failWith(chosen.error());
    }
    const Result<PerfettoOptions> options = optionsFor(file->trace);
    if (!options) return failWith(options.error());
    const Result<TableId> table = tableByName(table_.empty() ? "kernel" : table_);
    if (!table) return failWith(table.error());
    const ExportRequest request{
        .format = format,
        .options = *options,
        .choice = {std::move(*names), counters_, flows_},
        .table = *table,
        .by = stackWeightByName(by_),
        .rebuild = rebuild_,
        .recording_of = with_recording_ ? std::optional(file->path) : std::nullopt};
    BusyLine busy("writing " + output);
    const Result<ExportResult> exported = runExport(request, file->reader, file->trace, output);
    busy.end();
    if (!exported) {
      sayError(exported.error());
      return kExitFailed;
    }
    for (const std::string& lacks : exported->lacks) sayWarning(lacks);
    if (exported->recording) reportMissingEvents(*exported->recording, *file);
    if (!quiet_ && output != "-") {
      say(fmt::format("wrote {}{}{}", output, with_recording_ ? ", with the recording" : "",
                      viewerOf(format)));
    }
    return reportLosses(file->reader, input_, exported->whole ? kExitOk : kExitPartlyRead);
  }

 private:
  /// Rejects options that have no meaning for this format, or would destroy the input.
  Status checkOptions(ExportFormat format, const std::string& output) const {
    const auto refuse = [](const char* why, const char* option) {
      return fail(ErrorCode::kInvalidArgument, why, option);
    };
    if (!table_.empty() && format != ExportFormat::kCsv) {
      return refuse("only a CSV file holds a single table (-f csv)", "--table");
    }
    if (!profile_.empty() && format != ExportFormat::kPerfetto) {
      return refuse("is about Perfetto's format (-f perfetto)", "--profile");
    }
    const char* const given = !name_.empty()      ? "--name"
                              : !streams_.empty() ? "--stream"
                              : !devices_.empty() ? "--device"
                                                  : nullptr;
    if (format == ExportFormat::kDot && given != nullptr) {
      return refuse("cannot be used with -f dot; use --from and --to", given);
    }
    if (!by_.empty() && !isFlameGraph(format)) {
      return refuse("is about flame graphs (-f folded, speedscope or svg)", "--by");
    }
    if (with_recording_) TS_CHECK_OK(checkWithRecording(format, output));
    if (sameFile(input_, output)) {
      return fail(ErrorCode::kInvalidArgument, "would be overwritten; choose another -o", output);
    }
    return {};
  }

  /// Viewers get the ranks aligned. Tables and traces keep the times of the file; if these are of
  /// several clocks, a range of time cannot select from them.
  Status chooseRanks(TraceFile& file, ExportFormat format) const {
    TS_CHECK_OK(keepRanks(file, ranks_));
    const bool viewed = format == ExportFormat::kPerfetto || format == ExportFormat::kChromeJson;
    if (viewed) return chooseOrAlignRanks(file, rank_);
    const bool whole = !rank_ && !from_ns_ && !to_ns_ && format != ExportFormat::kDot;
    return whole ? Status() : chooseRank(file, rank_);
  }

  Result<PerfettoOptions> optionsFor(const Trace& trace) const {
    PerfettoOptions options;
    options.counters = counters_;
    options.flows = flows_;
    options.full_args = full_;
    options.compat = profile_ == "compat";
    options.all_frames = all_frames_;
    TS_TRY(const TimeWindow window, windowOf(trace, from_ns_, to_ns_));
    options.from_ns = window.from_ns;
    options.to_ns = window.to_ns;
    TS_TRY(const std::vector<StreamId> streams, streamsOf(trace, streams_));
    TS_TRY(options.streams, streamsOfDevices(trace, devices_, streams));
    return options;
  }

  /// A recording cannot be cut to a time range or to names: it could not be replayed.
  Status checkWithRecording(ExportFormat format, const std::string& output) const {
    const auto refuse = [](const std::string& why) {
      return fail(ErrorCode::kInvalidArgument, why, "--with-recording");
    };
    if (format != ExportFormat::kSbt) return refuse("only a trace can hold one (-f sbt)");
    const char* const part = from_ns_            ? "--from"
                             : to_ns_            ? "--to"
                             : !streams_.empty() ? "--stream"
                             : !devices_.empty() ? "--device"
                             : !name_.empty()    ? "--name"
                                                 : nullptr;
    if (part != nullptr) {
      return refuse(
          fmt::format("a recording is included as a whole; omit {} (replay --range "
                      "replays a part)",
                      part));
    }
    if (sameFile(recording::recordingPathFor(input_), output)) {
      return fail(ErrorCode::kInvalidArgument, "would be overwritten; choose another -o", output);
    }
    return {};
  }

  std::string input_;
  std::string output_;
  std::string format_;
  std::string by_;
  std::string table_;
  std::string profile_;
  bool counters_ = true;
  bool flows_ = true;
  bool full_ = false;
  bool rebuild_ = false;
  bool all_frames_ = false;
  bool with_recording_ = false;
  std::optional<int64_t> from_ns_, to_ns_;
  std::vector<uint64_t> streams_;
  std::vector<uint64_t> devices_;
  std::string name_;
  std::optional<uint64_t> rank_;
  std::string ranks_;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> makeExportCommand() { return std::make_unique<ExportCommand>(); }

}  // namespace tracesmith::cli
