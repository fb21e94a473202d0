// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>

#include "tracesmith/analysis/diff/job_report.hpp"
#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/analysis/report/report_operators.hpp"
#include "tracesmith/analysis/stragglers/straggler_report.hpp"
#include "tracesmith/base/files/distinct_files.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/busy_line.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/export/text/findings_text.hpp"
#include "tracesmith/export/text/report_text.hpp"
#include "tracesmith/findings/findings.hpp"
#include "tracesmith/findings/findings_report.hpp"
#include "tracesmith/format/trace_scan.hpp"
#include "tracesmith/import/job_ranks.hpp"
#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith::cli {
namespace {

constexpr uint64_t kShownFindings = 5;

class AnalyzeCommand : public Command {
 public:
  AnalyzeCommand() : Command("analyze", "Show where the time went, and why") {
    texts("FILE", inputs_, "FILE",
          "Trace (.sbt), or another tool's trace; several: one for each rank of a job",
          Complete::kFile)
        .required();
    constexpr std::array<const char*, kAnalysisParts> kMeanings = {
        "Utilization of each device, by kind of work",
        "Operations running concurrently; communication hidden by compute",
        "Causes of idle time: host late, short gaps, other waits",
        "Work of each stream",
        "Kernels by name, with percentiles",
        "Host calls, call stacks and the longest single operations",
        "Allocations and their peak",
        "Copies and fills, with bandwidth",
        "Communication: bandwidths, who sent what to whom, who waited for whom, hangs",
        "Launch delay and latency",
        "Launches queued in each stream",
        "Occupancy allowed by the launch shapes",
        "Training or inference steps",
        "The chain of calls, launches and work that determines the run time"};
    flag("--findings", findings_, "Verdict, and what the run loses most time to, ranked");
    for (size_t i = 0; i < kAnalysisParts; ++i) {
      flag("--" + std::string(toString(static_cast<AnalysisPart>(i))), parts_[i], kMeanings[i]);
    }
    flag("--operators", operators_, "Time of each operator, or of what --by names");
    choice("--by", by_, "WHAT", namesOf<OperatorsBy, kOperatorsBy>(),
           "What a row of --operators is: an operator (default), a module of PyTorch, a family of "
           "kernels, a path of ranges, a step, a stream or a device");
    choice("--sort", sort_, "COLUMN", namesOf<OperatorsSort, kOperatorsSorts>(),
           "Order of the rows of --operators, the largest first (default device-self, or "
           "host-self in a trace without device work)");
    text("--range", range_, "NAME",
         "Critical path of one host range, by its name or the start of it");
    count("--instance", instance_, "N",
          "Use the Nth range with that name, counted from 0 (default 0)");
    count(
        "--limit", limit_, "N",
        "Rows of a table; 0: all (default 15; with --json all, but 15 of the longest operations)");
    const Option rank =
        count("--rank", rank_, "N", "Rank N of a merged trace (default: all ranks side by side)");
    text("--ranks", ranks_, "LIST", "Only these ranks of a merged trace, for example 0-3,7")
        .excludes(rank);
    flag("--all-frames", all_frames_, "Show frames of the interpreter, libffi and the loader too");
    flag("--full-names", full_names_,
         "Show full names of kernels, not short ones (--json always has full names)");
    flag("--json", json_, "Print JSON, exact in ns");
    flagWithChoice("--as-hta", as_hta_, "0.5", {"0.5", "0.6"},
                   "Count as Holistic Trace Analysis 0.5.0, or as its main branch (0.6), does: "
                   "whole microseconds, its classes of names, without the last step. For "
                   "comparisons; the default is exact");
    text("-o,--output", output_, "FILE", "Output file (default: standard output)", Complete::kFile);
    describe(
        "Shows all parts unless some are selected. With several files, or a trace of 'tracesmith "
        "merge', shows the ranks of a job "
        "side by side: their times, sums and spread, and each kernel's time in all ranks. "
        "docs/analysis.md defines every number, docs/findings.md every finding.");
    example("tracesmith analyze trace.sbt", "Show everything");
    example("tracesmith analyze trace.sbt --findings", "Show what to improve first");
    example("tracesmith analyze trace.json.gz --gpu-util --idle",
            "Show utilization and causes of idle time");
    example("tracesmith analyze trace.json.gz --operators --by module",
            "Show device and host time of each PyTorch module");
    example("tracesmith analyze trace.sbt --json -o report.json", "Write JSON for a program");
    example("tracesmith analyze rank-*.json.gz", "Compare the ranks of a job");
  }

  int run(Session& session) override {
    if (const Status given = checkOptions(); !given) return failWith(given.error());
    if (inputs_.size() > 1) return runRanks(session);
    if (const std::optional<int> code = runByBlock(session)) return *code;
    Result<TraceFile> file = readTraceFile(inputs_.front());
    if (!file) return failWith(file.error());
    if (const Status kept = keepRanks(*file, ranks_); !kept) return failWith(kept.error());
    if (isMerged(file->trace) && !rank_ && !selectsParts()) return runMerged(*file, session);
    if (!isMerged(file->trace) || rank_ || needsOneClock() || haveOneClock(file->trace)) {
      if (const Status chosen = chooseRank(*file, rank_); !chosen) return failWith(chosen.error());
    }
    ReportOptions options = reportOptions();
    options.analysis.as_hta = !as_hta_.empty();
    options.analysis.hta_main = as_hta_ == "0.6";
    if (!range_.empty()) {
      if (const Status found = findRange(file->trace, options); !found) {
        return failWith(found.error());
      }
    }
    options.parts = partsWanted();
    Shown shown;
    BusyLine busy("analyzing " + inputs_.front());
    if (findings_ || (!selects() && as_hta_.empty())) shown.findings = findIn(*file);
    if (operators_) {
      std::optional<OperatorsSort> sort;
      if (!sort_.empty()) sort = operatorsSortOf(sort_).value();
      shown.report.push_back(operatorTable(
          file->trace, operatorsByOf(by_).value_or(OperatorsBy::kOperator), sort, options));
    }
    if (!options.parts.empty() || !selects()) {
      for (ReportTable& table : analyze(file->trace, options)) {
        shown.report.push_back(std::move(table));
      }
    }
    busy.end();
    return finish(shown, session,
                  [&] { return reportLosses(file->reader, inputs_.front(), kExitOk); });
  }

 private:
  /// The names of an enum's values, which count from 0.
  template <class Enum, size_t N>
  static std::vector<std::string> namesOf() {
    std::vector<std::string> names;
    for (size_t i = 0; i < N; ++i) names.emplace_back(toString(static_cast<Enum>(i)));
    return names;
  }

  ReportOptions reportOptions() const {
    ReportOptions options;
    if (json_) options.limit = 0;
    if (limit_) options.limit = options.longest = static_cast<size_t>(*limit_);
    options.whole_paths = json_;
    options.short_names = !json_ && !full_names_;
    options.all_frames = all_frames_;
    return options;
  }

  /// Whether more is selected of a job than communication and findings, of which there are some
  /// where the clocks of the ranks were not compared.
  bool needsOneClock() const {
    constexpr auto kPart = static_cast<size_t>(AnalysisPart::kCommunication);
    const auto others = std::count(parts_.begin(), parts_.end(), true) - (parts_[kPart] ? 1 : 0);
    return !(parts_[kPart] || findings_) || others != 0 || operators_ || !range_.empty() ||
           !as_hta_.empty();
  }

  /// Whether only some of the report is wanted.
  bool selects() const {
    return findings_ || operators_ ||
           std::any_of(parts_.begin(), parts_.end(), [](bool part) { return part; });
  }

  struct Shown {
    std::optional<Findings> findings;
    std::vector<ReportTable> report;
  };

  /// Reads the recording beside the trace, if it is of the same session.
  Findings findIn(const TraceFile& file) const {
    return withRecording(
        [&](const FindingsOptions& options) { return findingsOf(file.trace, options); });
  }
  Findings findIn(TraceScan& scan, const WorkTrace& work) const {
    return withRecording([&](const FindingsOptions& options) {
      return findingsOf(work, scan.reader().kernelNames(), options);
    });
  }
  template <class Find>
  Findings withRecording(Find&& find) const {
    FindingsOptions options;
    options.file = inputs_.front();
    RecordingBeside recording(options.file);
    recording.give(options);
    return find(options);
  }

  std::vector<AnalysisPart> partsWanted() const {
    std::vector<AnalysisPart> parts;
    for (size_t i = 0; i < kAnalysisParts; ++i) {
      if (parts_[i]) parts.push_back(static_cast<AnalysisPart>(i));
    }
    return parts;
  }

  /// A file of any size. nullopt: it has to be read as a whole, or cannot be read.
  std::optional<int> runByBlock(const Session& session) const {
    ReportOptions options = reportOptions();
    options.parts = partsWanted();
    const bool needs_whole =
        operators_ || rank_ || !ranks_.empty() || !range_.empty() || !as_hta_.empty();
    const std::string& path = inputs_.front();
    if (needs_whole || !isTraceFile(path)) return std::nullopt;
    Result<TraceScan> scan = TraceScan::open(path);
    if (!scan || isMerged(scan->tables())) return std::nullopt;
    std::optional<Findings> findings;
    std::function<void(const WorkTrace&)> find;
    if (findings_ || !selects()) {
      if (!canFindInWork(scan->reader())) return std::nullopt;
      find = [&](const WorkTrace& work) { findings = findIn(*scan, work); };
    }
    BusyLine busy("analyzing " + path);
    // Findings alone: of the tables, one that takes no time is made, and not shown.
    const bool has_tables = !options.parts.empty() || !selects();
    if (!has_tables) options.parts = {AnalysisPart::kMemory};
    auto report = analyzeByBlock(*scan, options, find);
    if (!report) return failWith(explainError(report.error(), path));
    if (!*report) return std::nullopt;
    if (!has_tables) (*report)->clear();
    busy.end();
    return finish({.findings = std::move(findings), .report = std::move(**report)}, session,
                  [&] { return reportLosses(scan->losses(), scan->reader(), path, kExitOk); });
  }

  /// Whether an option needs a single trace.
  bool selectsParts() const {
    return selects() || !range_.empty() || !as_hta_.empty() || all_frames_;
  }

  /// One trace after the other, so that only one is in memory.
  int runRanks(Session& session) const {
    if (selectsParts() || rank_ || !ranks_.empty()) {
      return failWith({ErrorCode::kInvalidArgument,
                       "parts, ranges and ways of counting need a single trace; several have "
                       "only --limit, --full-names, --json and -o",
                       "analyze"});
    }
    if (const Status distinct = areDistinctFiles(inputs_); !distinct) {
      return failWith(distinct.error());
    }
    int code = kExitOk;
    std::vector<RankRun> runs;
    std::vector<std::optional<import::JobRank>> in_traces;
    for (const std::string& path : inputs_) {
      const Result<TraceFile> file = readTraceFile(path);
      if (!file) return failWith(file.error());
      if (isMerged(file->trace)) {
        return failWith({ErrorCode::kInvalidArgument,
                         "already holds the ranks of a job; analyze it alone", path});
      }
      in_traces.push_back(import::rankInTrace(file->trace));
      runs.push_back(RankRun::of(file->trace, path, 0));
      code = reportLosses(file->reader, path, code);
    }
    const std::vector<import::JobRank> ranks = import::ranksOfFiles(inputs_, in_traces);
    return reportJob(std::move(runs), inputs_, ranks, JobReportOptions(), session, code);
  }

  int runMerged(const TraceFile& file, Session& session) const {
    const RankTable& table = file.trace.rank;
    std::vector<RankRun> runs;
    std::vector<std::string> paths;
    std::vector<import::JobRank> ranks;
    BusyLine busy("analyzing " + inputs_.front());
    std::optional<Findings> findings;
    if (!file.trace.comm.empty() || haveOneClock(file.trace)) findings = findIn(file);
    for (size_t i = 0; i < table.size(); ++i) {
      paths.emplace_back(file.trace.text(table.file[i]));
      ranks.push_back({table.number[i], table.number_from[i], table.world_size[i]});
      runs.push_back(RankRun::of(partOfRank(file.trace, table.id[i]), paths.back(), 0));
    }
    JobReportOptions options;
    options.clocks = clocksText(file.trace);
    options.clock_pairs = clockPairs(file.trace);
    std::vector<ReportTable> communication;
    if (!file.trace.comm.empty()) {
      ReportOptions of_all = reportOptions();
      of_all.parts = {AnalysisPart::kCommunication};
      communication = stragglerReport(findStragglers(file.trace));
      std::vector<ReportTable> calls = analyze(file.trace, of_all);
      std::move(calls.begin(), calls.end(), std::back_inserter(communication));
    }
    busy.end();
    return reportJob(std::move(runs), paths, ranks, std::move(options), session,
                     reportLosses(file.reader, inputs_.front(), kExitOk), std::move(findings),
                     std::move(communication));
  }

  int reportJob(std::vector<RankRun> runs, const std::vector<std::string>& paths,
                const std::vector<import::JobRank>& ranks, JobReportOptions options,
                Session& session, int code, std::optional<Findings> findings = std::nullopt,
                std::vector<ReportTable> more = {}) const {
    for (size_t i = 0; i < runs.size(); ++i) runs[i].rank = ranks[i].number;
    options.limit = limit_ ? static_cast<size_t>(*limit_) : json_ ? 0 : 15;
    options.short_names = !json_ && !full_names_;
    options.notes = import::describeRanks(paths, ranks);
    Shown shown{std::move(findings), jobReport(std::move(runs), options)};
    std::move(more.begin(), more.end(), std::back_inserter(shown.report));
    return finish(shown, session, [&] { return code; });
  }

  /// Writes the report; `code` reports losses after it and returns the exit code.
  int finish(const Shown& shown, const Session& session, const std::function<int()>& code) const {
    const bool to_file = !output_.empty() && output_ != "-";
    const TerminalStyle style{.width = to_file ? 0 : session.terminal.width,
                              .colour = !to_file && session.terminal.colour,
                              .utf8 = to_file || session.terminal.utf8};
    if (!to_file) {
      Output out = standardOutput();
      write(shown, style, out);
      return finishOutput(out, code());
    }
    Result<Output> out = Output::toFile(output_);
    if (!out) return failWith(out.error());
    write(shown, style, *out);
    if (const Status written = out->finish(); !written) {
      sayError(written.error());
      return kExitFailed;
    }
    return code();
  }

  Status checkOptions() const {
    for (const auto& [option, value] : {std::pair{"--by", &by_}, std::pair{"--sort", &sort_}}) {
      if (!value->empty() && !operators_) {
        return fail(ErrorCode::kInvalidArgument, "needs --operators", option);
      }
    }
    if (range_.empty() && instance_) {
      return fail(ErrorCode::kInvalidArgument, "needs --range NAME", "--instance");
    }
    if (!range_.empty() && selects() && !parts_[static_cast<size_t>(AnalysisPart::kCriticalPath)]) {
      return fail(ErrorCode::kInvalidArgument, "needs --critical-path, or no selection of parts",
                  "--range");
    }
    return {};
  }

  Status findRange(const Trace& trace, ReportOptions& options) const {
    std::vector<std::pair<int64_t, int64_t>> found;
    const RangeTable& ranges = trace.range;
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (ranges.kind[i] == RangeKind::kRange && ranges.stream_id[i] == StreamId::kNone &&
          trace.text(ranges.name[i]).starts_with(range_)) {
        found.emplace_back(ranges.start_ns[i], endOf(ranges.start_ns[i], ranges.duration_ns[i]));
      }
    }
    const auto n = static_cast<size_t>(instance_.value_or(0));
    if (found.empty()) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("no host range has a name that starts with '{}'; 'tracesmith "
                              "view -t range' lists them",
                              range_),
                  "--range");
    }
    if (n >= found.size()) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("host ranges whose name starts with '{}': {}, counted from 0; "
                              "there is no {}",
                              range_, found.size(), n),
                  "--instance");
    }
    std::sort(found.begin(), found.end());
    options.from_ns = found[n].first;
    options.to_ns = found[n].second;
    return {};
  }

  void write(const Shown& shown, const TerminalStyle& style, Output& out) const {
    if (json_) {
      std::vector<ReportTable> all;
      if (shown.findings) all = findingsReport(*shown.findings);
      all.insert(all.end(), shown.report.begin(), shown.report.end());
      writeReportJson(all, out);
      return;
    }
    if (shown.findings) {
      writeFindingsText(*shown.findings, static_cast<size_t>(limit_.value_or(kShownFindings)),
                        style, out);
      if (!shown.report.empty()) out.put('\n');
    }
    writeReportText(shown.report, style, out,
                    selects() ? EmptyTables::kInPlace : EmptyTables::kListed);
  }

  std::vector<std::string> inputs_;
  std::string output_;
  std::array<bool, kAnalysisParts> parts_{};
  std::optional<uint64_t> limit_;
  std::optional<uint64_t> rank_;
  std::string ranks_;
  std::string range_;
  std::optional<uint64_t> instance_;
  bool findings_ = false;
  bool operators_ = false;
  std::string by_, sort_;
  bool all_frames_ = false;
  bool full_names_ = false;
  bool json_ = false;
  std::string as_hta_;
};

}  // namespace

std::unique_ptr<Command> makeAnalyzeCommand() { return std::make_unique<AnalyzeCommand>(); }

}  // namespace tracesmith::cli
