// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "tracesmith/base/files/distinct_files.hpp"
#include "tracesmith/base/files/file_identity.hpp"
#include "tracesmith/base/files/target_file.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/new_trace.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/busy_line.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/export/sbt/rank_merge.hpp"
#include "tracesmith/import/job_ranks.hpp"
#include "tracesmith/model/ranks/mpi_ranks.hpp"
#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith::cli {
namespace {

class MergeCommand : public Command {
 public:
  MergeCommand() : Command("merge", "Join the traces of the ranks of a job into one trace") {
    texts("FILE", inputs_, "FILE",
          "Traces, of one rank or of several MPI ranks: .sbt, or another tool's, also mixed",
          Complete::kFile)
        .required();
    text("-o,--output", output_, "FILE", "Output file", Complete::kFile).required();
    choice("--clock", clock_, "CLOCK", {"compared", "none"},
           "Whose clock the times are of: the first rank's, which needs that the clocks were "
           "compared (profile --sync-with), or each rank its own (default: compared if they were)");
    flag("--force", force_,
         "Let a trace without events replace one with events; see 'tracesmith help profile'");
    flag("-q,--quiet", quiet_, "Print only warnings and errors");
    describe(
        "The number of a rank is what its trace says; else the number after 'rank' in the file's "
        "name; else the lowest number that no other file has. A trace with the processes of "
        "several "
        "MPI ranks becomes several ranks.");
    describe(
        "If the clocks of the ranks were compared while they were recorded (profile --sync-with), "
        "or all ran on one host, all times are converted to the clock of the first rank, and the "
        "trace says how far off they can be. Otherwise each rank keeps its own clock: durations "
        "can be compared, starts and ends cannot.");
    describe(
        "'analyze' shows the ranks of a merged trace side by side; --rank N shows one of them, "
        "also in view, export, diff and whatif.");
    example("tracesmith merge rank-*.json.gz -o job.sbt", "Join PyTorch profiles");
    example("tracesmith merge node1.sbt node2.sbt -o job.sbt --clock compared",
            "Join the traces of two hosts, and fail if their clocks were not compared");
    example("tracesmith merge run.sbt -o job.sbt",
            "Tell the ranks of 'profile -- mpirun ...' apart");
    example("tracesmith analyze job.sbt", "Compare the ranks");
    example("tracesmith analyze job.sbt --rank 3", "Show where the time of one rank went");
  }

  int run(Session&) override {
    removeUnfinishedAtSignals();
    if (const Status given = checkFiles(); !given) return failWith(given.error());
    sortByRank();
    Result<NewTrace> target = NewTrace::open(output_, force_);
    if (!target) return failWith(target.error());
    const Status merged = merge(*target);
    if (!merged) return failWith(merged.error());
    const Result<std::string> path = target->finish();
    if (!path) return failWith(path.error());
    for (const std::string& text : import::describeRanks(paths_, ranks_)) say(text);
    if (!quiet_) {
      say(fmt::format("{} rows of {} ranks: {} ({}); {}. Next: tracesmith analyze {}",
                      formatCount(rows_), ranks_.size(), *path, formatBytes(bytes_), clocks_text_,
                      *path));
    }
    return code_;
  }

 private:
  Status checkFiles() const {
    TS_CHECK_OK(areDistinctFiles(inputs_));
    for (const std::string& input : inputs_) {
      if (sameFile(input, output_)) {
        return fail(ErrorCode::kInvalidArgument, "would be overwritten; choose another -o",
                    output_);
      }
    }
    return {};
  }

  /// By what the name says, because a shell lists rank-10 before rank-2; else by the first MPI
  /// rank. So the first one's clock is that of rank 0 as a rule.
  void sortByRank() {
    std::vector<std::pair<uint32_t, std::string>> by_rank;
    for (const std::string& input : inputs_) by_rank.emplace_back(firstRankOf(input), input);
    std::stable_sort(by_rank.begin(), by_rank.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = std::move(by_rank[i].second);
  }

  static uint32_t firstRankOf(const std::string& input) {
    constexpr uint32_t kUnknown = UINT32_MAX;
    if (const auto rank = import::rankInName(input)) return *rank;
    if (!isTraceFile(input)) return kUnknown;
    const Result<TraceFile> file = readTraceFile(input, {.tables = {TableId::kMetadata}});
    if (!file) return kUnknown;  // said when it is read as a whole
    const std::vector<MpiRank> ranks = mpiRanks(file->trace);
    return ranks.empty() ? kUnknown : ranks.front().number;
  }

  static Status isNotMerged(const TraceFile& file) {
    if (!isMerged(file.trace)) return {};
    return fail(ErrorCode::kUnsupported,
                fmt::format("already holds ranks ({}); merge the traces of the single ranks",
                            rankNumbersText(file.trace)),
                file.path);
  }

  /// The clocks of the inputs, if they are to be converted.
  Result<std::optional<RankClocks>> clocksOfInputs() const {
    if (clock_ == "none") return std::nullopt;
    Trace facts;
    std::vector<std::string> names;  // of the ranks
    for (const std::string& path : inputs_) {
      // Another tool's trace does not say which clock it has. A stream can be read only once.
      if (!isTraceFile(path)) {
        addClockFacts(facts, Trace());
        names.push_back(path);
        continue;
      }
      TS_TRY(TraceFile file, readTraceFile(path, {.tables = {TableId::kMetadata}}));
      TS_CHECK_OK(isNotMerged(file));
      addClockFacts(facts, file.trace);
      // Its other ranks have the same clock, and what that was compared with is told by the first.
      file.trace.clock_offset.clear();
      for (size_t i = 1; i < mpiRanks(file.trace).size(); ++i) addClockFacts(facts, file.trace);
      names.resize(facts.rank.size(), path);
    }
    RankClocks clocks(facts);
    for (const std::string& sentence : clocks.contradictions(names)) sayWarning(sentence);
    if (clocks.areCompared()) return std::optional(std::move(clocks));
    if (clock_ != "compared") return std::nullopt;
    return fail(ErrorCode::kInvalidArgument, clocks.whyNot(names), "--clock");
  }

  Status merge(const NewTrace& target) {
    TS_TRY(std::optional<RankClocks> clocks, clocksOfInputs());
    const bool converts = clocks.has_value();
    TS_TRY(RankMerge out, RankMerge::create(target.place(), std::move(clocks)));
    for (size_t i = 0; i < inputs_.size(); ++i) {
      ReadOptions options;
      options.convert_clocks = converts;  // else rows keep the stamps of their device
      TS_TRY(TraceFile file, readTraceFile(inputs_[i], options));
      TS_CHECK_OK(isNotMerged(file));
      TS_CHECK_OK(addRanksOf(file));
      reportOmissions(file);
      forEachTable(file.trace, [&](const auto& table) {
        if (isEvent(std::decay_t<decltype(table)>::kId)) rows_ += table.size();
      });
      const BusyLine busy(fmt::format("merging file {} of {}", i + 1, inputs_.size()));
      const auto add = [&](Trace part) { return out.add(std::move(part)); };
      const bool is_split = mpiRanks(file.trace).size() > 1;
      const Status added =
          is_split ? forEachMpiRank(std::move(file.trace), add) : add(std::move(file.trace));
      if (!added) return tl::unexpected<Error>(target.named(added.error()));
    }
    std::vector<RankMerge::Rank> ranks;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      ranks.push_back({ranks_[i].number, ranks_[i].from, ranks_[i].world_size, paths_[i]});
    }
    const Status finished = out.finish(ranks);
    if (!finished) return tl::unexpected<Error>(target.named(finished.error()));
    bytes_ = out.bytesWritten();
    clocks_text_ = out.clocksText();
    if (out.attributesLeftOut() > 0) {
      code_ = kExitPartlyRead;
      sayWarning(
          fmt::format("{} attributes were left out: the rows that they describe are not in "
                      "their traces",
                      out.attributesLeftOut()));
    }
    return {};
  }

  /// Fails early if a rank is there twice, because a large job takes long.
  Status addRanksOf(const TraceFile& file) {
    if (hasSeveralMpiJobs(file.trace) && !import::rankInName(file.path)) {
      return fail(ErrorCode::kUnsupported,
                  "has several processes of one MPI rank: of two jobs, or started by "
                  "MPI_Comm_spawn. So its ranks cannot be told apart; record the jobs one by one",
                  file.path);
    }
    const std::vector<MpiRank> of_mpi = mpiRanks(file.trace);
    if (of_mpi.size() > 1) {
      for (const MpiRank& rank : of_mpi) {
        in_traces_.push_back(import::jobRankOf(rank));
      }
    } else {
      in_traces_.push_back(import::rankInTrace(file.trace));
    }
    paths_.resize(in_traces_.size(), file.path);
    if (inputs_.size() == 1 && paths_.size() == 1) {
      return fail(ErrorCode::kInvalidArgument,
                  "one trace is given, of one rank; merge joins the traces of several", file.path);
    }
    ranks_ = import::ranksOfFiles(paths_, in_traces_);
    return import::areRanksOfOneJob(paths_, ranks_);
  }

  void reportOmissions(const TraceFile& file) {
    code_ = reportLosses(file.reader, file.path, code_);
    if (file.reader.rows(TableId::kRecordedCommand) > 0) {
      sayWarning(file.path + ": the recording in the trace is omitted");
    }
  }

  static bool isEvent(TableId id) { return id >= TableId::kHostCall && id != TableId::kAttribute; }

  std::vector<std::string> inputs_;
  std::string output_;
  std::string clock_;
  bool force_ = false;
  bool quiet_ = false;
  // Of each rank.
  std::vector<std::string> paths_;
  std::vector<std::optional<import::JobRank>> in_traces_;
  std::vector<import::JobRank> ranks_;
  uint64_t rows_ = 0;
  uint64_t bytes_ = 0;
  std::string clocks_text_;
  int code_ = kExitOk;
};

}  // namespace

std::unique_ptr<Command> makeMergeCommand() { return std::make_unique<MergeCommand>(); }

}  // namespace tracesmith::cli
