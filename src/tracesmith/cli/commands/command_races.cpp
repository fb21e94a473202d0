// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/progress_line.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/export/text/race_report.hpp"
#include "tracesmith/recording/recording_file.hpp"
#include "tracesmith/replay/check/race_trial.hpp"

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
    Result<RecordingReader> reader = RecordingReader::open(input_);
    if (reader && reader->path() != input_) {
      if (const Status same = checkSameSession(*reader, input_); !same) {
        return failWith(same.error());
      }
    }
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
    std::vector<ProcessRaces> found;
    bool damaged = false;
    for (const recording::Process& process : reader->processes()) {
      const Result<Bytes> commands = reader->commands(process.number);
      if (!commands) return failWith(commands.error());
      ProcessRaces& of = found.emplace_back();
      of.pid = process.pid;
      of.command_line = process.command_line;
      of.recorded = races::programOfRecording(
          *commands, [&](const recording::Payload& payload) { return reader->content(payload); });
      of.report = races::findRaces(of.recorded.program,
                                   all_ ? races::Grade::kPossible : races::Grade::kLikely);
      damaged |= of.recorded.damaged;
      if (confirm_ && !of.report.groups.empty()) {
        if (const Status ok = confirm(session, *reader, *commands, of); !ok) {
          return failWith(ok.error());
        }
      }
    }
    const bool to_file = !output_.empty() && output_ != "-";
    const TerminalStyle style{.width = to_file ? 0 : session.terminal.width,
                              .colour = !to_file && session.terminal.colour,
                              .utf8 = to_file || session.terminal.utf8};
    const int code = exitCode(*reader, found, damaged);
    if (!to_file) {
      Output out = standardOutput();
      write(found, style, out);
      return finishOutput(out, code);
    }
    Result<Output> out = Output::toFile(output_);
    if (!out) return failWith(out.error());
    write(found, style, *out);
    if (const Status written = out->finish(); !written) return failWith(written.error());
    return code;
  }

 private:
  /// Confirms the groups that are shown.
  Status confirm(Session& session, RecordingReader& reader, const Bytes& commands,
                 ProcessRaces& of) const {
    TS_TRY(const ReplayPlan plan, ReplayPlan::make(commands));
    RaceTrialOptions options;
    options.executor.device = device_;
    options.most_replays =
        static_cast<uint32_t>(std::min<uint64_t>(replays_.value_or(50), 1'000'000));
    if (time_limit_s_) options.step_limit_s = static_cast<double>(*time_limit_s_);
    ProgressLine line(session.terminal.err_is_terminal);
    options.progress = [&](uint32_t replay, double share) {
      line.show(fmt::format("replay {} of at most {}: {:3.0f} %", replay, options.most_replays,
                            100 * share));
    };
    std::span<const races::RaceGroup> shown = of.report.groups;
    const uint64_t limit = json_ ? 0 : limit_.value_or(kShownGroups);
    if (limit != 0 && limit < shown.size()) shown = shown.first(static_cast<size_t>(limit));
    RaceTrials trials = tryRaces(plan, reader, of.recorded, shown, options);
    of.verdicts = std::move(trials.verdicts);
    of.replays = trials.replays;
    of.device = std::move(trials.device);
    return {};
  }

  int exitCode(const RecordingReader& reader, const std::vector<ProcessRaces>& found,
               bool damaged) const {
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
