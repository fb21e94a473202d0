// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>

#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/replay_source.hpp"
#include "tracesmith/cli/runs/record_range.hpp"
#include "tracesmith/cli/runs/simulated_replay.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/progress_line.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/cli/terminal/values.hpp"
#include "tracesmith/cli/views/memory_dump.hpp"
#include "tracesmith/cli/views/memory_picture.hpp"
#include "tracesmith/export/text/report_text.hpp"
#include "tracesmith/replay/check/replay_report.hpp"
#include "tracesmith/replay/run/launch_range.hpp"

namespace tracesmith::cli {
namespace {

class ReplayCommand : public Command {
 public:
  ReplayCommand() : Command("replay", "Execute a recording again and compare the results") {
    text("FILE", input_, "FILE", "Recording (.sbr), or the trace (.sbt) it belongs to",
         Complete::kFile)
        .required();
    choice(
        "--mode", mode_, "MODE", {"full", "partial", "stream", "dry-run"},
        "full (default), partial (with --range), stream (with --stream), dry-run: say what would "
        "be executed");
    text("--range", range_, "RANGE",
         "Only launch:100-200, kernel:REGEX, step:3 or time:1.2s-1.5s, with their dependencies");
    count("--stream", stream_, "N",
          "Only stream N (numbered as in the timeline), with its dependencies");
    text("--device", device_, "D",
         "Device number or part of its name (default: the recorded one); simulated: execute "
         "nothing, schedule the recorded durations on a virtual clock");
    choice(
        "--order", order_, "ORDER", {"recorded", "serial", "concurrent", "timing", "random"},
        "recorded (default); serial: one command at a time; concurrent: the device waits where the "
        "host waited; timing: no call before its recorded time; random: a random legal order");
    count("--seed", seed_, "N", "Seed for random orders (default: drawn and printed)");
    text("--speed", speed_, "X", "With --order timing: replay X times as fast");
    count("--runs", runs_, "N", "Replay N times");
    count("--until", until_, "LAUNCH", "Stop after this launch");
    texts("--dump", dumps_, "BUFFER@LAUNCH",
          "Show the content of buffer number BUFFER after a launch, before it "
          "(BUFFER@before:LAUNCH), or at the end (BUFFER@end)")
        .oneEach();
    choice("--dump-as", dump_as_, "FORM",
           {"hex", "stats", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong",
            "half", "float", "double", "raw", "png"},
           "Format of --dump (default hex); raw: bytes only; png: a picture; both need -o");
    text("--picture", picture_, "WIDTH[:TYPE]",
         "With --dump-as png: values per row and their type (default uchar)");
    text("-o,--output", output_, "FILE", "Write the output of --dump to FILE", Complete::kFile);
    flag("--verify,--validate", verify_,
         "Also compare the output of each launch (recordings made with --launch-hashes); exit with "
         "4 also when something could not be compared or executed");
    count("--time-limit", limit_, "S", "Give up on a command that takes longer (default 60 s)");
    text("--build-options", build_options_, "OPTIONS",
         "Add these to the build options of every program");
    count("--process", process_, "PID", "Process to use (default: the one with most launches)");
    flag("--json", json_, "Print JSON");
    describe(
        "Executes the kernels of the recorded program with their data, on a real device, in a "
        "separate process. Replay only recordings that you trust as you trust the program "
        "(docs/security.md). Everything that the program read back is compared with the recorded "
        "data; the exit code is 4 when something differs, 3 when nothing differs but a part of the "
        "recording is missing. See docs/replay.md.");
    example("tracesmith replay out.sbt", "Compare with the recording");
    example("tracesmith replay out.sbt --until 12 --dump 3@12 --dump-as float",
            "Show buffer 3 after the twelfth launch");
    example("tracesmith replay out.sbt --order random --runs 20", "Try 20 other legal orders");
    example("tracesmith replay trace.json.gz --device simulated",
            "Simulate on a virtual clock; works for any trace");
  }

  int run(Session& session) override {
    const bool simulated = device_ == "simulated";
    if (simulated) {
      if (const Status ok = checkSimulated(); !ok) return failWith(ok.error());
    }
    const TerminalStyle style{.width = session.terminal.width,
                              .colour = session.terminal.colour,
                              .utf8 = session.terminal.utf8};
    // A trace without a recording cannot be executed, so its dry run is the simulation.
    if (simulated ? !RecordingReader::isThere(input_)
                  : mode_ == "dry-run" && isTraceAlone(input_)) {
      return simulateTraceAlone(style);
    }
    Result<ReplaySource> source = openReplaySource(input_, process_);
    if (!source) return failWith(withoutRecording(input_, source.error()));
    ChildSettings settings;
    if (const Status ok = fillSettings(source->plan, settings); !ok) return failWith(ok.error());
    if (mode_ == "dry-run") {
      Output out = standardOutput();
      const std::vector<bool> chosen = stepsChosen(source->plan, settings.run);
      write(planReport(source->plan, source->reader, chosen), style, out);
      return finishOutput(out, source->whole() ? kExitOk : kExitPartlyRead);
    }
    int code = source->whole() ? kExitOk : kExitPartlyRead;
    if (simulated) {
      const auto report = simulateRecording(input_, *source, settings.run, code);
      return show(report, code, style);
    }
    std::vector<std::vector<ReportTable>> reports;
    std::vector<Dump> dumps;
    {
      ProgressLine line(session.terminal.err_is_terminal);
      const uint64_t runs = std::max<uint64_t>(1, runs_.value_or(1));
      for (uint64_t i = 0; i < runs; ++i) {
        settings.progress = [&](const RunProgress& progress) {
          line.show(fmt::format("replay {} of {}: {} of {} commands", i + 1, runs,
                                progress.steps_done.load(), source->plan.steps().size()));
        };
        const ChildOutcome outcome = runInChild(source->plan, source->reader, settings);
        line.clear();
        if (outcome.end == ChildEnd::kFailed) return failWith(outcome.error);
        if (outcome.end != ChildEnd::kDone) return sayEnd(*source, settings, outcome);
        reports.push_back(replayReport(source->plan, outcome.result));
        if (i == 0 && !output_.empty() && dump_as_ == "raw") {
          reports.back().push_back(dumpsTable(source->plan, outcome.result.dumps));
        }
        if (settings.run.order == ReplayOrder::kRandom) {
          reports.back().front().title += fmt::format(", legal order {}", settings.run.seed);
        }
        code = std::max(code, exitCodeOf(outcome.result));
        if (i == 0) dumps = outcome.result.dumps;
        ++settings.run.seed;
      }
    }
    Output out = standardOutput();
    for (const auto& report : reports) write(report, style, out);
    if (const Status shown = showDumps(source->plan, dumps, out); !shown) {
      sayError(shown.error());
      code = kExitFailed;
    }
    return finishOutput(out, code);
  }

 private:
  /// Rejects options that need an execution.
  Status checkSimulated() const {
    const std::pair<bool, const char*> refused[] = {{verify_, "--verify"},
                                                    {!dumps_.empty(), "--dump"},
                                                    {!output_.empty(), "--output"},
                                                    {!build_options_.empty(), "--build-options"},
                                                    {runs_ && *runs_ > 1, "--runs"}};
    for (const auto& [given, option] : refused) {
      if (!given) continue;
      return fail(ErrorCode::kInvalidArgument,
                  "cannot be used with --device simulated, which executes nothing: there are no "
                  "results to verify, show or compare",
                  option);
    }
    return {};
  }

  int simulateTraceAlone(const TerminalStyle& style) const {
    const std::pair<bool, const char*> refused[] = {
        {!range_.empty(), "--range"},    {stream_.has_value(), "--stream"},
        {until_.has_value(), "--until"}, {process_.has_value(), "--process"},
        {!speed_.empty(), "--speed"},    {mode_ != "full" && mode_ != "dry-run", "--mode"}};
    for (const auto& [given, option] : refused) {
      if (!given) continue;
      return failWith(Error{ErrorCode::kInvalidArgument,
                            "needs a recording, and " + input_ +
                                " has none; to use a part of a trace, "
                                "write it with `tracesmith export -f sbt`",
                            option});
    }
    if (order_ != "recorded" && order_ != "serial") {
      return failWith(Error{ErrorCode::kInvalidArgument,
                            "a trace without a recording is simulated in the orders recorded and "
                            "serial",
                            "--order"});
    }
    int code = kExitOk;
    const auto report = simulateTraceFile(
        input_, order_ == "serial" ? ReplayOrder::kSerial : ReplayOrder::kRecorded, code);
    return show(report, code, style);
  }

  int show(const Result<std::vector<ReportTable>>& report, int code,
           const TerminalStyle& style) const {
    if (!report) return failWith(report.error());
    Output out = standardOutput();
    write(*report, style, out);
    return finishOutput(out, code);
  }

  Status fillSettings(const ReplayPlan& plan, ChildSettings& settings) {
    if (mode_ == "partial" && range_.empty()) {
      return fail(ErrorCode::kInvalidArgument, "needs --range", "--mode partial");
    }
    if (mode_ == "stream" && !stream_) {
      return fail(ErrorCode::kInvalidArgument, "needs --stream", "--mode stream");
    }
    settings.executor.device = device_;
    settings.executor.build_options = build_options_;
    if (limit_) settings.step_limit_s = static_cast<double>(*limit_);
    RunSettings& run = settings.run;
    if (order_ == "serial") run.order = ReplayOrder::kSerial;
    if (order_ == "concurrent") run.order = ReplayOrder::kConcurrent;
    if (order_ == "timing") run.order = ReplayOrder::kTiming;
    if (order_ == "random") run.order = ReplayOrder::kRandom;
    run.seed = seed_.value_or(static_cast<uint64_t>(getpid()));
    run.compare_launches = verify_;
    if (!speed_.empty()) {
      char* end = nullptr;
      run.speed = std::strtod(speed_.c_str(), &end);
      if (*end != 0 || !(run.speed > 0)) {
        return fail(ErrorCode::kInvalidArgument, "is not a number above 0", "--speed");
      }
    }
    if (stream_) run.queue = static_cast<uint32_t>(std::min<uint64_t>(*stream_, UINT32_MAX));
    if (until_) run.until_launch = static_cast<uint32_t>(std::min<uint64_t>(*until_, UINT32_MAX));
    if (!range_.empty()) {
      const int64_t begin = plan.steps().empty() ? 0 : plan.step(0).header.start_ns;
      TS_TRY(const std::string range, parseRecordRange(range_, begin));
      TS_TRY(run.ranges, launchRanges(plan, range));
    }
    if (dump_as_ == "png" && (output_.empty() || dumps_.size() != 1)) {
      return fail(ErrorCode::kInvalidArgument, "needs one --dump, and -o FILE", "--dump-as png");
    }
    if (!picture_.empty() && !parsePictureShape(picture_)) {
      return fail(ErrorCode::kInvalidArgument, "is not WIDTH or WIDTH:TYPE, as in 512:float",
                  "--picture " + picture_);
    }
    for (const std::string& text : dumps_) {
      TS_TRY(const DumpRequest request, parseDump(plan, text));
      run.dumps.push_back(request);
      if (run.order == ReplayOrder::kRandom && request.launch != 0) {
        return fail(ErrorCode::kInvalidArgument,
                    "cannot be used with --order random; use @end or --order serial", text);
      }
    }
    if (run.order == ReplayOrder::kRandom && until_) {
      return fail(ErrorCode::kInvalidArgument, "cannot be used with --order random", "--until");
    }
    return {};
  }

  static Result<DumpRequest> parseDump(const ReplayPlan& plan, const std::string& text) {
    const size_t at = text.find('@');
    const auto buffer = parseCount(std::string_view(text).substr(0, at), UINT32_MAX);
    DumpRequest request;
    constexpr std::string_view kBefore = "before:";
    std::string_view when = at == std::string::npos ? "end" : std::string_view(text).substr(at + 1);
    request.before = when.starts_with(kBefore);
    if (request.before) when.remove_prefix(kBefore.size());
    const bool at_end = when == "end" && !request.before;
    const auto launch = at_end ? Result<uint64_t>(0) : parseCount(when, UINT32_MAX);
    if (!buffer || !launch || (*launch == 0 && request.before)) {
      return fail(ErrorCode::kInvalidArgument,
                  "is not BUFFER@LAUNCH, as in 3@12, 3@before:12 or 3@end", text);
    }
    request.memory = static_cast<uint32_t>(*buffer);
    request.launch = static_cast<uint32_t>(*launch);
    const bool known =
        std::any_of(plan.objects().begin(), plan.objects().end(), [&](const PlannedObject& o) {
          return o.object_class == recording::ObjectClass::kMemory && o.ordinal == *buffer;
        });
    if (!known) return fail(ErrorCode::kNotFound, "there is no buffer with this number", text);
    if (request.launch > plan.launches()) {
      return fail(ErrorCode::kNotFound, fmt::format("there are {} launches", plan.launches()),
                  text);
    }
    return request;
  }

  int exitCodeOf(const RunResult& result) const {
    if (result.shown != result.shown_equal) return kExitReplayDiffers;
    if (result.launches_compared != result.launches_equal) return kExitReplayDiffers;
    if (verify_ && result.shown == 0 && result.launches_compared == 0) {
      say("nothing was compared: the replayed commands read nothing back. To compare the output of "
          "each launch, record with `tracesmith profile --record --launch-hashes`");
      return kExitReplayDiffers;
    }
    if (verify_ && (result.problem_count != 0 || result.not_comparable != 0)) {
      return kExitReplayDiffers;
    }
    return kExitOk;
  }

  /// Reports a replay that did not finish. Finds the launch at fault by running one command at a
  /// time.
  int sayEnd(ReplaySource& source, ChildSettings settings, const ChildOutcome& outcome) {
    StepIndex at = outcome.step;
    std::string how = describeEnd(outcome);
    const ReplayOrder order = settings.run.order;
    if (order != ReplayOrder::kSerial && order != ReplayOrder::kRandom) {
      settings.run.order = ReplayOrder::kSerial;
      settings.progress = nullptr;
      const ChildOutcome serial = runInChild(source.plan, source.reader, settings);
      if (serial.end == ChildEnd::kHung || serial.end == ChildEnd::kDied) {
        at = serial.step;
        how = describeEnd(serial);
      } else {
        how += "; one command at a time, it runs to its end";
      }
    }
    say(fmt::format("the replay {} {}", how, stepPlace(source.plan, at)));
    return kExitFailed;
  }

  void write(const std::vector<ReportTable>& report, const TerminalStyle& style,
             Output& out) const {
    if (json_) {
      writeReportJson(report, out);
    } else {
      writeReportText(report, style, out);
    }
  }

  Status showPicture(const ReplayPlan& plan, const Dump& dump) const {
    TS_TRY(Output file, Output::toFile(output_));
    std::string scale;
    TS_CHECK_OK(writePicture(plan, dump, parsePictureShape(picture_), file, scale));
    TS_CHECK_OK(file.finish());
    say(fmt::format("{}: {}, {}", output_, plan.objectName(dump.memory), scale));
    return {};
  }

  Status showDumps(const ReplayPlan& plan, const std::vector<Dump>& dumps, Output& out) const {
    if (dump_as_ == "png") return dumps.empty() ? Status() : showPicture(plan, dumps.front());
    if (output_.empty()) {
      for (const Dump& dump : dumps) writeMemoryDump(plan, dump, dump_as_, out);
      return {};
    }
    TS_TRY(Output file, Output::toFile(output_));
    for (const Dump& dump : dumps) writeMemoryDump(plan, dump, dump_as_, file);
    return file.finish();
  }

  std::string input_, mode_ = "full", range_, device_, order_ = "recorded", speed_,
                      dump_as_ = "hex", output_, build_options_, picture_;
  std::vector<std::string> dumps_;
  std::optional<uint64_t> stream_, seed_, runs_, until_, limit_, process_;
  bool verify_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeReplayCommand() { return std::make_unique<ReplayCommand>(); }

}  // namespace tracesmith::cli
