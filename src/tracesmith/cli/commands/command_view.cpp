// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "tracesmith/analysis/timing/runtime_frames.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/cli/views/timeline_view.hpp"
#include "tracesmith/export/text/terminal_events.hpp"
#include "tracesmith/export/text/terminal_stats.hpp"
#include "tracesmith/export/text/terminal_timeline.hpp"

namespace tracesmith::cli {
namespace {

constexpr size_t kTextLines = 50;
constexpr size_t kTimelineStreams = 40;

std::vector<std::string> tableChoices() {
  std::vector<std::string> names;
  for (const auto& [name, table] : listableTables()) names.emplace_back(name);
  return names;
}

class ViewCommand : public Command {
 public:
  ViewCommand() : Command("view", "Show the events of a trace, their statistics or a timeline") {
    text("FILE", input_, "FILE", "Trace (.sbt)", Complete::kFile).required();
    choice("-f,--format", format_, "FORMAT", {"text", "json", "csv"},
           "Output format (default: text)");
    flag("--json", json_, "Same as -f json");
    flag("--stats", stats_,
         "Show statistics instead of events: count, total, mean, percentiles and extremes of each "
         "name");
    flag("--timeline", timeline_,
         "Draw streams as rows instead of listing events; can be combined with --stats");
    flag("--interactive", interactive_,
         "With --timeline, on a terminal: move, zoom, search and select with keys; ? lists them");
    flag("--full-names", full_names_,
         "Show full names of kernels in the text of --stats, not short ones");
    flag("--stacks", stacks_, "Show the host call stack of each event (profile --stacks)");
    flag("--all-frames", all_frames_, "Show frames of the interpreter, libffi and the loader too");
    choices("-t,--type", types_, "TYPE", tableChoices(), "Only events of this type");
    counts("--stream", streams_, "N", "Only stream N, numbered as in the program and the timeline");
    const Option rank = count("--rank", rank_, "N", "Only rank N of a merged trace");
    text("--ranks", ranks_, "LIST", "Only these ranks of a merged trace, for example 0-3,7")
        .excludes(rank);
    text("--name", name_, "REGEX",
         "Only events whose name contains a match of REGEX (POSIX extended)");
    time("--from", from_ns_, "Leave out events that end before this time (from the trace's start)");
    time("--to", to_ns_, "Leave out events that start at or after this time");
    count("-n,--limit", limit_, "N",
          "Show at most N events, or N names of each kind with --stats; 0: all (default: 50 as "
          "text, else all)");
    describe("Times are relative to the first event of the trace.");
    example("tracesmith view trace.sbt", "Show the first 50 events, in time order");
    example("tracesmith view --stats trace.sbt", "Show the time of each kernel, copy and call");
    example("tracesmith view --timeline --from 1s --to 1.2s trace.sbt", "Draw 200 ms");
    example("tracesmith view --timeline --interactive trace.sbt", "Look around in the timeline");
    example("tracesmith view -f csv -t kernel --name gemm -n 0 trace.sbt",
            "Print CSV for a spreadsheet");
  }

  int run(Session& session) override {
    const ListFormat format = json_ || format_ == "json" ? ListFormat::kJson
                              : format_ == "csv"         ? ListFormat::kCsv
                                                         : ListFormat::kText;
    if (const Status sense = checkOptions(format, session.terminal); !sense) {
      return failWith(sense.error());
    }
    const size_t limit = limitFor(format);
    uint64_t not_read = 0;
    Result<TraceFile> file = from_ns_ || to_ns_
                                 ? readTraceWindow(input_, from_ns_, to_ns_)
                                 : readTraceFile(input_, [&](const TraceReader& reader) {
                                     return whatToRead(reader, limit, not_read);
                                   });
    if (!file) return failWith(file.error());
    if (const Status kept = keepRanks(*file, ranks_); !kept) return failWith(kept.error());
    if (const Status chosen = chooseOrAlignRanks(*file, rank_); !chosen) {
      return failWith(chosen.error());
    }
    const Result<EventFilter> filter = filterOf(file->trace);
    if (!filter) return failWith(filter.error());
    const Result<EventMatcher> matches = EventMatcher::of(file->trace, *filter);
    if (!matches) return failWith(matches.error());
    const TerminalStyle style{.width = session.terminal.width,
                              .colour = session.terminal.colour,
                              .utf8 = session.terminal.utf8};
    if (!all_frames_) file->trace.call_path = withoutRuntimeFrames(file->trace);
    if (interactive_) {
      const int code = browseTimeline(file->trace, *matches, input_, session.terminal);
      return code == kExitOk ? reportLosses(file->reader, input_, kExitOk) : code;
    }
    Output out = standardOutput();
    if (timeline_) {
      drawTimeline(file->trace, *filter, *matches, format, style, out);
      if (stats_) out.put('\n');
    }
    if (stats_) showStats(file->trace, *matches, limit, format, full_names_, style, out);
    uint64_t beyond = 0;
    if (!stats_ && !timeline_) {
      beyond = listEvents(file->trace, *matches, limit, format, stacks_, style, out);
      if (not_read != 0) beyond = not_read - limit;
    }
    const int code = finishOutput(out, reportLosses(file->reader, input_, kExitOk));
    if (beyond > 0) say(fmt::format("{} more events; -n 0 shows all", formatCount(beyond)));
    return code;
  }

 private:
  size_t limitFor(ListFormat format) const {
    if (!limit_) return format == ListFormat::kText ? kTextLines : SIZE_MAX;
    return *limit_ == 0 ? SIZE_MAX : static_cast<size_t>(*limit_);
  }

  /// Fails with kInvalidArgument if options exclude each other.
  Status checkOptions(ListFormat format, const Terminal& terminal) const {
    if (interactive_) {
      const std::string problem = whyNotInteractive(terminal, format);
      if (!problem.empty()) return fail(ErrorCode::kInvalidArgument, problem, "--interactive");
    }
    if (format == ListFormat::kCsv && timeline_) {
      return fail(ErrorCode::kInvalidArgument, "a timeline is text or JSON", "-f csv");
    }
    if (stats_ && timeline_ && format != ListFormat::kText) {
      return fail(ErrorCode::kInvalidArgument, "only text output can combine them",
                  "--stats --timeline");
    }
    return {};
  }

  /// "" if it can be.
  std::string whyNotInteractive(const Terminal& terminal, ListFormat format) const {
    if (!timeline_) return "only a timeline is interactive; add --timeline";
    if (stats_ || format != ListFormat::kText)
      return "cannot be combined with --stats, -f or --json";
    if (!terminal.out_is_terminal || isatty(STDIN_FILENO) == 0) {
      return "needs a terminal as input and output; leave it out to get the timeline as text";
    }
    return {};
  }

  Result<EventFilter> filterOf(const Trace& trace) const {
    TS_TRY(const TimeWindow window, windowOf(trace, from_ns_, to_ns_));
    TS_TRY(std::vector<StreamId> streams, streamsOf(trace, streams_));
    EventFilter filter{.streams = std::move(streams),
                       .name_regex = name_,
                       .from_ns = window.from_ns,
                       .to_ns = window.to_ns};
    for (const auto& [name, table] : listableTables()) {
      for (const std::string& type : types_) {
        if (type == name) filter.tables.push_back(table);
      }
    }
    return filter;
  }

  /// For a large trace, reads only what can be shown. Sets `total` to the number of events in the
  /// file if not all of them are read.
  ReadOptions whatToRead(const TraceReader& reader, size_t limit, uint64_t& total) const {
    constexpr uint64_t kLarge = 1'000'000;
    ReadOptions options;
    if (stats_ || timeline_ || stacks_ || !streams_.empty() || !name_.empty() ||
        reader.rows(TableId::kRank) > 0) {
      return options;
    }
    uint64_t rows = 0;
    for (const auto& [name, table] : listableTables()) {
      if (!types_.empty() && std::find(types_.begin(), types_.end(), name) == types_.end())
        continue;
      options.tables.push_back(table);
      rows += reader.rows(table);
    }
    if (rows < kLarge || limit >= rows / 2) return {};
    options.first_events = limit;
    total = rows;
    return options;
  }

  static void drawTimeline(const Trace& trace, const EventFilter& filter,
                           const EventMatcher& matches, ListFormat format,
                           const TerminalStyle& style, Output& out) {
    std::vector<StreamTimeline> timelines = deviceTimelines(trace);
    for (StreamTimeline& timeline : timelines) {
      std::erase_if(timeline.spans,
                    [&](const DeviceSpan& span) { return !matches(span.table, span.row); });
    }
    const PictureOptions options{.from_ns = filter.from_ns,
                                 .to_ns = filter.to_ns,
                                 .cells = timelineCells(style.width),
                                 .max_streams = kTimelineStreams};
    const TimelinePicture picture = pictureOf(timelines, options);
    const TimelineNames names = namesOf(trace);
    if (format == ListFormat::kJson) {
      writeTimelineJson(picture, names, out);
    } else {
      out.write(timelineText(picture, names, style));
    }
  }

  std::string input_;
  std::string format_;
  bool json_ = false;
  bool stats_ = false;
  bool full_names_ = false;
  bool stacks_ = false;
  bool all_frames_ = false;
  bool timeline_ = false;
  bool interactive_ = false;
  std::vector<std::string> types_;
  std::vector<uint64_t> streams_;
  std::string name_;
  std::optional<uint64_t> rank_;
  std::string ranks_;
  std::optional<int64_t> from_ns_;
  std::optional<int64_t> to_ns_;
  std::optional<uint64_t> limit_;
};

}  // namespace

std::unique_ptr<Command> makeViewCommand() { return std::make_unique<ViewCommand>(); }

}  // namespace tracesmith::cli
