// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tracesmith/cli/commands.hpp"
#include "tracesmith/cli/messages.hpp"
#include "tracesmith/cli/standard_output.hpp"
#include "tracesmith/export/race_report.hpp"
#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith::cli {
namespace {

class RacesCommand : public Command {
 public:
  RacesCommand() : Command("races", "Find commands that lack a wait for each other") {
    text("RECORDING", input_, "RECORDING",
         "A recording (.sbr), or the trace that it belongs to (profile --record)", Complete::kFile)
        .required();
    flag("--all", all_, "Races that are only possible as well");
    count("--limit", limit_, "N", "Groups of races to show (default 25, with --json all; 0: all)");
    flag("--json", json_, "As JSON: exact, one object for each process");
    text("-o,--output", output_, "FILE", "Where to write (default: standard output)",
         Complete::kFile);
    describe(
        "Two commands race when they use the same bytes, one of them writes, and neither queues, "
        "events nor waits of the host order them. The timing of the recorded run does not matter. "
        "A race is proven where the commands say which bytes they use (copies, fills, maps), "
        "likely where a kernel's source does, possible where nothing does (docs/races.md).");
    describe("Exit code: 0 when there is none, 4 when there are some.");
    example("tracesmith profile --record -- ./app", "Record first");
    example("tracesmith races app.sbt", "What lacks a wait?");
  }

  int run(Session& session) override {
    Result<RecordingReader> reader = RecordingReader::open(input_);
    if (!reader) return failWith(reader.error());
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
  int exitCode(const RecordingReader& reader, const std::vector<ProcessRaces>& found,
               bool damaged) const {
    for (const DataLoss& loss : reader.losses()) {
      sayWarning(fmt::format("{}: at offset {}: {}", reader.path(), loss.offset, loss.reason));
    }
    if (damaged) sayWarning(reader.path() + ": the commands of a process end in the middle of one");
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
      writeRacesText(found[i], static_cast<size_t>(limit_.value_or(25)), all_, style, out);
    }
  }

  std::string input_;
  std::string output_;
  std::optional<uint64_t> limit_;
  bool all_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeRacesCommand() { return std::make_unique<RacesCommand>(); }

}  // namespace tracesmith::cli
