// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/progress_line.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/export/text/race_report.hpp"
#include "tracesmith/replay/check/race_search.hpp"

namespace tracesmith::cli {
namespace {

constexpr uint64_t kShownGroups = 25;

class RacesCommand : public Command {
 public:
  RacesCommand() : Command("races", "Find commands that race because a wait is missing") {
    text("RECORDING", input_, "RECORDING",
         "Recording (.sbr), or the trace it belongs to (profile --record)", Complete::kFile)
        .required();
    flag("--all", all_, "Show races that are only possible, too");
    count("--limit", limit_, "N", "Groups of races to show; 0: all (default 25; with --json all)");
    flag("--json", json_, "Print JSON, exact, with one object per process");
    const Option confirm =
        flag("--confirm", confirm_,
             "Replay the commands of each race in both orders and compare the results");
    count("--replays", replays_, "N",
          "With --confirm: make at most N replays (at least 6; default 50)")
        .needs(confirm);
    text("--device", device_, "D",
         "With --confirm: device number or part of its name (default: the recorded one)")
        .needs(confirm);
    count("--time-limit", time_limit_s_, "S",
          "With --confirm: give up on a command that takes longer (default 60 s)")
        .needs(confirm);
    text("-o,--output", output_, "FILE", "Output file (default: standard output)", Complete::kFile);
    describe(
        "Two commands race when they use the same bytes, at least one of them writes, and no "
        "queue, event or host wait orders them. The timing of the recorded run does not matter. A "
        "race is proven when the commands state their bytes (copies, fills, maps), likely when the "
        "kernel's source shows them, and possible when nothing does (docs/races.md).");
    describe("The exit code is 4 when there are races, else 0.");
    example("tracesmith profile --record -- ./app", "Record the commands first");
    describe(
        "--confirm executes the recording, as replay does: use it only for recordings that you "
        "trust as you trust the program (docs/security.md). It does not change the exit code.");
    example("tracesmith races app.sbt", "Find missing waits");
    example("tracesmith races app.sbt --confirm", "Find those that change results");
  }

  int run(Session& session) override {
    Result<RecordingReader> reader = openRecordingOf(input_);
    if (!reader) {
      sayError(reader.error());
      // Without a recording there is nothing to execute, so --confirm cannot work.
      const bool in_vain = confirm_ && reader.error().code == ErrorCode::kNotFound &&
                           std::filesystem::exists(input_);
      if (in_vain) {
        say("--confirm executes a recording; `tracesmith profile --record -- COMMAND` makes one");
      }
      return in_vain ? kExitUsage : exitCodeFor(reader.error());
    }
    if (replays_ && *replays_ < 6)
      return failWith({ErrorCode::kInvalidArgument, "is below 6", "--replays"});
    const auto found = [&] {
      ProgressLine line(session.terminal.err_is_terminal);
      return racesOf(*reader, searchFor(line));
    }();
    if (!found) return failWith(found.error());
    const bool to_file = !output_.empty() && output_ != "-";
    const TerminalStyle style{.width = to_file ? 0 : session.terminal.width,
                              .colour = !to_file && session.terminal.colour,
                              .utf8 = to_file || session.terminal.utf8};
    const int code = exitCode(*reader, *found);
    if (!to_file) {
      Output out = standardOutput();
      write(*found, style, out);
      return finishOutput(out, code);
    }
    Result<Output> out = Output::toFile(output_);
    if (!out) return failWith(out.error());
    write(*found, style, *out);
    if (const Status written = out->finish(); !written) return failWith(written.error());
    return code;
  }

 private:
  RaceSearch searchFor(ProgressLine& line) const {
    RaceSearch search;
    if (all_) search.least = races::Grade::kPossible;
    if (!confirm_) return search;
    RaceTrialOptions& options = search.confirm.emplace();
    options.executor.device = device_;
    options.most_replays =
        static_cast<uint32_t>(std::min<uint64_t>(replays_.value_or(50), 1'000'000));
    if (time_limit_s_) options.step_limit_s = static_cast<double>(*time_limit_s_);
    options.progress = [&line, most = options.most_replays](uint32_t replay, double share) {
      line.show(fmt::format("replay {} of at most {}: {:3.0f} %", replay, most, 100 * share));
    };
    // Those that are shown.
    if (!json_) search.most_confirmed = static_cast<size_t>(limit_.value_or(kShownGroups));
    return search;
  }

  int exitCode(const RecordingReader& reader, const std::vector<ProcessRaces>& found) const {
    const bool damaged = std::any_of(found.begin(), found.end(),
                                     [](const ProcessRaces& of) { return of.recorded.damaged; });
    for (const DataLoss& loss : reader.losses()) {
      sayWarning(fmt::format("{}: at offset {}: {}", reader.path(), loss.offset, loss.reason));
    }
    if (damaged) sayWarning(reader.path() + ": the last command of a process is incomplete");
    for (const ProcessRaces& of : found) {
      if (of.report.races > 0) return kExitRacesFound;
    }
    return damaged || !reader.losses().empty() ? kExitPartlyRead : kExitOk;
  }

  void write(const std::vector<ProcessRaces>& found, const TerminalStyle& style,
             Output& out) const {
    if (json_) {
      JsonWriter json(out, 2);
      json.beginObject().key("processes").beginArray();
      for (const ProcessRaces& of : found) writeRacesJson(of, json);
      json.endArray().endObject();
      out.put('\n');
      return;
    }
    for (size_t i = 0; i < found.size(); ++i) {
      if (i > 0) out.put('\n');
      writeRacesText(found[i], static_cast<size_t>(limit_.value_or(kShownGroups)), all_, style,
                     out);
    }
  }

  std::string input_;
  std::string output_;
  std::string device_;
  std::optional<uint64_t> limit_, replays_, time_limit_s_;
  bool confirm_ = false;
  bool all_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeRacesCommand() { return std::make_unique<RacesCommand>(); }

}  // namespace tracesmith::cli
