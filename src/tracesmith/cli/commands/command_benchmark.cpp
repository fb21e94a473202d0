// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "tracesmith/analysis/timing/launch_stack_check.hpp"
#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/capture/launch/profile_session.hpp"
#include "tracesmith/capture/processes/launcher.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/progress_line.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/stacks/symbols/symbolized_file.hpp"

namespace tracesmith::cli {
namespace {

constexpr size_t kRounds = 10;
constexpr size_t kRoundsForSpread = 3;  // fewer rounds tell nothing about noise
constexpr uint64_t kLaunches = 10'000;
constexpr uint64_t kFewestLaunches = 1;
constexpr uint64_t kMostLaunches = 10'000'000;
constexpr uint64_t kMostWork = 100'000'000;
constexpr const char* kProgram = "benchmark_10k_stacks";

/// The program's report of one run.
struct ProgramResult {
  double ns = 0;  ///< from the first launch to the end of the last kernel
  bool gpu = false;
  std::string api;
  std::string device;
};

constexpr int kNoDevice = 3;  // the program's exit code

/// Processor time of this process, which includes the collector but not its children.
int64_t ownProcessorNs() { return clockNs(CLOCK_PROCESS_CPUTIME_ID); }

struct Spread {
  double median = 0, least = 0, most = 0;
};

Result<ProgramResult> readResult(const std::string& path) {
  std::ifstream in(path);
  ProgramResult result;
  std::string word;
  if (!(in >> word >> result.ns >> word >> result.gpu >> word >> result.api >> word) ||
      !std::getline(in >> std::ws, result.device)) {
    return fail(ErrorCode::kInternal, "the program did not report its run time", path);
  }
  return result;
}

Spread spreadOf(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  const double middle = n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  return {.median = middle, .least = values.front(), .most = values.back()};
}

/// How the program runs.
enum class CreationMode : uint8_t { kAlone, kProfiled, kWithStacks };

class BenchmarkCommand : public Command {
 public:
  BenchmarkCommand()
      : Command("benchmark", "Measure the cost of recording, and check the call stacks") {
    count("-n,--count", launches_, "N", "Kernels to launch (default 10000)");
    flag("--no-stacks", no_stacks_, "Do not record call stacks");
    text("-o,--output", output_, "FILE", "Keep the last trace as FILE", Complete::kFile);
    flag("--real-gpu", real_gpu_, "Run only on an OpenCL or CUDA GPU, not on a CPU device");
    choice("--api", api_, "API", {"opencl", "cuda"},
           "API to use (default: an OpenCL GPU, else a CUDA GPU, else any OpenCL device)");
    count("--work", work_, "N",
          "Repetitions of each kernel's arithmetic (default 1: kernels that do nothing)");
    count("--seed", seed_, "N", "Seed for the call paths (default 1)");
    count("--rounds", rounds_, "N", "Rounds of each measurement, in turn (default 10)");
    describe(
        "Runs a test program that launches kernels on an OpenCL or CUDA GPU, or on another OpenCL "
        "device, through one of 64 call paths chosen by the seed. It runs alone, profiled, and "
        "profiled with call stacks, in turn. All frames of every recorded stack are compared with "
        "the real path. The kernels do nothing, so the ratios show the cost of profiling per "
        "launch: an upper bound for the slowdown of real programs, not a forecast. Figures are "
        "medians of rounds, with minimum and maximum.");
    example("tracesmith benchmark", "Measure 10,000 launches");
    example("tracesmith benchmark -n 100000 -o stacks.sbt",
            "Measure more launches and keep the trace");
  }

  int run(Session& session) override {
    if (const Status ok = prepare(); !ok) return failWith(ok.error());
    ProgressLine line(session.terminal.err_is_terminal);
    const size_t rounds = rounds_ ? static_cast<size_t>(std::max<uint64_t>(1, *rounds_)) : kRounds;
    int code = kExitOk;
    for (size_t round = 0; round < rounds && code == kExitOk; ++round) {
      line.show(fmt::format("round {} of {}", round + 1, rounds));
      if (const Status ran = runRound(); !ran) {
        line.clear();
        code = failWith(ran.error());
      }
    }
    line.clear();
    if (code == kExitOk) code = show(rounds, session);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    return code;
  }

 private:
  Status prepare() {
    if (launches_ && (*launches_ < kFewestLaunches || *launches_ > kMostLaunches)) {
      return fail(ErrorCode::kInvalidArgument, "is 1 to 10000000", "-n");
    }
    if (work_ && (*work_ < 1 || *work_ > kMostWork)) {
      return fail(ErrorCode::kInvalidArgument, "is 1 to 100000000", "--work");
    }
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return fail(ErrorCode::kIo, error.message(), "/proc/self/exe");
    const std::string beside = (self.parent_path() / kProgram).string();
    if (access(beside.c_str(), X_OK) != 0) {
      return fail(ErrorCode::kNotFound,
                  "the test program is missing. It is installed with the command: "
                  "install TraceSmith again, or build the target benchmark_10k_stacks. All other "
                  "commands work without it",
                  beside);
    }
    program_ = beside;
    std::string made = std::filesystem::temp_directory_path().string() + "/tracesmith.XXXXXX";
    if (mkdtemp(made.data()) == nullptr) return failErrno(errno, "cannot make a directory", made);
    folder_ = made;
    return {};
  }

  std::vector<std::string> commandLine() const {
    std::vector<std::string> words = {program_,
                                      "-n",
                                      std::to_string(launches_.value_or(kLaunches)),
                                      "--seed",
                                      std::to_string(seed_.value_or(1)),
                                      "--expect",
                                      folder_ + "/expected",
                                      "--result",
                                      folder_ + "/result"};
    if (work_) words.insert(words.end(), {"--work", std::to_string(*work_)});
    if (real_gpu_) words.emplace_back("--real-gpu");
    if (!api_.empty()) words.insert(words.end(), {"--api", api_});
    return words;
  }

  Status runRound() {
    TS_TRY(const double alone, runOnce(CreationMode::kAlone));
    TS_TRY(const double profiled, runOnce(CreationMode::kProfiled));
    alone_ns_.push_back(alone);
    profiled_more_ns_.push_back(profiled - alone);
    profiled_ratio_.push_back(profiled / alone);
    if (no_stacks_) {
      profiled_ns_.push_back(profiled);
      return {};
    }
    TS_TRY(const double stacked, runOnce(CreationMode::kWithStacks));
    profiled_ns_.push_back(stacked);
    stacked_more_ns_.push_back(stacked - alone);
    stacked_ratio_.push_back(stacked / alone);
    stack_cost_ratio_.push_back(stacked / profiled);
    return {};
  }

  Result<double> runOnce(CreationMode way) {
    const std::vector<std::string> words = commandLine();
    int exit_code = 0;
    if (way == CreationMode::kAlone) {
      TS_TRY(Launcher program, Launcher::start(words, {}));
      std::optional<ExitStatus> ended;
      while (!(ended = program.poll())) usleep(500);
      exit_code = ended->exit_code;
    } else {
      ProfileOptions options;
      options.command = words;
      options.output = tracePath();
      if (way == CreationMode::kWithStacks) options.stacks.emplace().frames = "native";
      const int64_t begin = monotonicNs();
      const int64_t used = ownProcessorNs();
      TS_TRY(const ProfileOutcome outcome, runProfile(options));
      if (way == CreationMode::kProfiled) {
        own_ns_.push_back(static_cast<double>(ownProcessorNs() - used));
        own_share_.push_back(own_ns_.back() / static_cast<double>(monotonicNs() - begin));
      }
      TS_CHECK_OK(outcome.trace_status);
      exit_code = outcome.exit_code;
      if (exit_code == 0 && outcome.kernels == 0) {
        return fail(ErrorCode::kNotFound,
                    "the program launched kernels, but none was recorded: " +
                        (outcome.warnings.empty() ? "nothing says why" : outcome.warnings.front()),
                    program_);
      }
    }
    if (exit_code == kNoDevice) {  // it has printed which devices it looked for
      return fail(ErrorCode::kNotFound,
                  real_gpu_ ? "there is no GPU to measure on; without --real-gpu any OpenCL device "
                              "will do"
                            : "there is no device to measure on");
    }
    if (exit_code != 0) {
      return fail(ErrorCode::kInternal, fmt::format("ended with {}", exit_code), program_);
    }
    TS_TRY(result_, readResult(folder_ + "/result"));
    const bool last =
        way == CreationMode::kWithStacks || (no_stacks_ && way == CreationMode::kProfiled);
    if (last) TS_CHECK_OK(lookAtTrace());
    return result_.ns;
  }

  /// A trace to be kept is written to its final path from the start.
  std::string tracePath() const { return output_.empty() ? folder_ + "/trace.sbt" : output_; }

  Status lookAtTrace() {
    if (!no_stacks_) {
      TS_TRY(const SymbolizedFile named, symbolizeFile(tracePath(), "", {}));
      static_cast<void>(named);
    }
    TS_TRY(const TraceFile file, readTraceFile(tracePath()));
    const Trace& t = file.trace;
    events_ = t.kernel.size() + t.copy.size() + t.fill.size();
    kernels_ = t.kernel.size();
    calls_with_stack_ = static_cast<uint64_t>(
        std::count_if(t.host_call.call_path_id.begin(), t.host_call.call_path_id.end(),
                      [](CallPathId id) { return id != CallPathId::kNone; }));
    host_calls_ = t.host_call.size();
    TS_TRY(const ExpectedStacks expected, readExpectedStacks(folder_ + "/expected"));
    const LaunchStackCheck check = checkLaunchStacks(t, expected);
    last_ = check;
    checked_ += check.launches;
    equal_ += check.equal;
    expected_ = expected.launches.size();
    missing_ += expected.launches.size() - check.launches;
    if (first_wrong_.empty()) first_wrong_ = check.first_wrong;
    return {};
  }

  int show(size_t rounds, const Session& session) {
    Output out = standardOutput();
    const auto row = [&](std::string_view what, const std::string& value) {
      out.write(fmt::format("  {:<28}{}\n", what, value));
    };
    const double ns = spreadOf(profiled_ns_).median;
    out.write(fmt::format("{} launches through 64 call paths (seed {}) on {} ({}){}\n\n",
                          formatCount(expected_), seed_.value_or(1), result_.device, result_.api,
                          result_.gpu ? "" : ", which is not a GPU"));
    row("kernels", formatCount(kernels_) + " (one before time is taken)");
    row("device events", formatCount(events_));
    if (!no_stacks_) {
      row("host call stacks",
          fmt::format("{} of {} calls", formatCount(calls_with_stack_), formatCount(host_calls_)));
      row("frames of a stack",
          fmt::format("{:.1f} on average", last_.launches == 0
                                               ? 0
                                               : static_cast<double>(last_.frames) /
                                                     static_cast<double>(last_.launches)));
      row("launches with stacks",
          fmt::format("{:.1f} %", 100.0 * static_cast<double>(last_.with_stack) /
                                      static_cast<double>(std::max<uint64_t>(1, expected_))));
    }
    row("total time",
        formatDuration(static_cast<int64_t>(ns), session.terminal.utf8 ? "µs" : "us"));
    row("kernels a second", formatCount(static_cast<uint64_t>(static_cast<double>(expected_) * 1e9 /
                                                              std::max(ns, 1.0))));
    showCosts(rounds, session, out);
    const bool right = no_stacks_ || (checked_ > 0 && equal_ == checked_ && missing_ == 0);
    if (!no_stacks_) {
      out.write(fmt::format(
          "\n  {}: {} of {} launch stacks, in {} traces, match the path of the launch in all "
          "frames\n",
          right ? "verified" : "WRONG", formatCount(equal_), formatCount(checked_ + missing_),
          rounds));
      if (!first_wrong_.empty()) out.write("  " + first_wrong_ + "\n");
    }
    if (!output_.empty()) out.write(fmt::format("\n  The last trace: {}\n", output_));
    return finishOutput(out, right ? kExitOk : kExitFailed);
  }

  /// Prints the cost of profiling, and how reliable the figures are.
  void showCosts(size_t rounds, const Session& session, Output& out) const {
    const char* const us = session.terminal.utf8 ? "µs" : "us";
    const auto duration = [&](double ns) { return formatDuration(static_cast<int64_t>(ns), us); };
    const auto launches = static_cast<double>(launches_.value_or(kLaunches));
    const auto row = [&](std::string_view what, const std::string& value) {
      out.write(fmt::format("  {:<28}{}\n", what, value));
    };
    bool is_noise = rounds < kRoundsForSpread;
    const auto cost = [&](std::string_view what, const std::vector<double>& ratios,
                          const std::vector<double>& more_ns) {
      const Spread ratio = spreadOf(ratios);
      const double more = spreadOf(more_ns).median / launches;
      is_noise = is_noise || (ratio.least < 1 && ratio.most > 1);
      row(what, fmt::format("{:.3f} times the time alone ({:.3f} to {:.3f}): {} {} a launch",
                            ratio.median, ratio.least, ratio.most, duration(std::abs(more)),
                            more < 0 ? "less" : "more"));
    };
    out.write(
        fmt::format("\n  First launch to end of last kernel, medians of {} {} (least to most):\n",
                    rounds, rounds == 1 ? "round" : "rounds"));
    const Spread alone = spreadOf(alone_ns_);
    row("alone",
        fmt::format("{} ({} to {}): {} a launch", duration(alone.median), duration(alone.least),
                    duration(alone.most), duration(alone.median / launches)));
    cost("profiled", profiled_ratio_, profiled_more_ns_);
    if (!no_stacks_) {
      cost("profiled with stacks", stacked_ratio_, stacked_more_ns_);
      const Spread ratio = spreadOf(stack_cost_ratio_);
      row("stacks alone", fmt::format("{:.3f} times the time profiled ({:.3f} to {:.3f})",
                                      ratio.median, ratio.least, ratio.most));
    }
    const Spread own = spreadOf(own_ns_);
    const Spread share = spreadOf(own_share_);
    row("tracesmith's own",
        fmt::format("{} of processor time, {:.2f} % of a run ({:.2f} to {:.2f})",
                    duration(own.median), 100 * share.median, 100 * share.least, 100 * share.most));
    out.write("\n");
    if (work_.value_or(1) == 1) {
      out.write(
          "  These kernels do nothing, so only launches are timed, and profiling costs each of "
          "them\n"
          "  the same. A program whose kernels take longer than a launch hides that cost behind "
          "the\n"
          "  work of the device (--work makes them longer).\n");
    }
    if (is_noise) {
      out.write(
          "  There are too few rounds, or they differ by more than the measured cost. Use more\n"
          "  --rounds, or reduce the load on this machine.\n");
    }
  }

  std::optional<uint64_t> launches_, seed_, rounds_, work_;
  bool no_stacks_ = false;
  bool real_gpu_ = false;
  std::string api_;
  std::string output_;
  std::string program_;
  std::string folder_;
  ProgramResult result_;
  LaunchStackCheck last_;
  std::string first_wrong_;
  uint64_t kernels_ = 0, events_ = 0, host_calls_ = 0, calls_with_stack_ = 0;
  uint64_t checked_ = 0, equal_ = 0, expected_ = 0, missing_ = 0;
  std::vector<double> alone_ns_, profiled_ns_, profiled_ratio_, stacked_ratio_, stack_cost_ratio_;
  std::vector<double> profiled_more_ns_, stacked_more_ns_, own_ns_, own_share_;
};

}  // namespace

std::unique_ptr<Command> makeBenchmarkCommand() { return std::make_unique<BenchmarkCommand>(); }

}  // namespace tracesmith::cli
