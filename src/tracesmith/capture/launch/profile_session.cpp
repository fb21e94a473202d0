// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/launch/profile_session.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/collect/collector.hpp"
#include "tracesmith/capture/collect/session_processes.hpp"
#include "tracesmith/capture/launch/agent_environment.hpp"
#include "tracesmith/capture/launch/program_eligibility.hpp"
#include "tracesmith/capture/launch/recording_trigger.hpp"
#include "tracesmith/capture/launch/session_report.hpp"
#include "tracesmith/capture/processes/launcher.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/capture/protocol/process_log_layout.hpp"
#include "tracesmith/capture/session_directory/session_directory.hpp"
#include "tracesmith/capture/session_directory/unrecorded_messages.hpp"

namespace tracesmith {
namespace {

constexpr int64_t kProgressIntervalNs = 200'000'000;

std::string joinCommand(const std::vector<std::string>& command) {
  std::string joined;
  for (const std::string& word : command) joined += word + '\0';
  return quoteCommandLine(joined);
}

/// Why its recording ended; empty: it left by itself.
std::string reasonOf(const ExitStatus& ended) {
  if (ended.signal == 0) return {};
  return "signal " + std::to_string(ended.signal) + " ended the program";
}

/// Stops a program that has run its time: asks, asks firmly, and ends it.
class TimeLimit {
 public:
  TimeLimit(double seconds, int64_t begin_ns)
      : at_ns_(seconds > 0 ? begin_ns + static_cast<int64_t>(seconds * 1e9) : INT64_MAX) {}
  void poll(const Launcher& program, int64_t now) {
    if (now < at_ns_) return;
    constexpr int kSteps[] = {SIGINT, SIGTERM, SIGKILL};
    program.send(kSteps[std::min(step_, 2)]);
    at_ns_ = now + (step_ == 0 ? 2'000'000'000 : 5'000'000'000);
    ++step_;
  }
  bool hit() const { return step_ > 0; }

 private:
  int64_t at_ns_;
  int step_ = 0;
};

}  // namespace

Result<ProfileOutcome> runProfile(const ProfileOptions& options) {
  if (options.command.empty()) return fail(ErrorCode::kInvalidArgument, "no command to run");
  const ProgramReach reach = reachOf(options.command[0]);
  if (reach.reach == Reach::kPrivileged) {
    return fail(ErrorCode::kUnsupported,
                "nothing of it could be recorded: it is " + reach.why +
                    ", so the system lets no library of ours into it; record as that user",
                reach.path);
  }
  const FileSizeSignalIgnored no_signal;
  SignalRelay relay;
  std::optional<TriggerSignal> trigger;
  if (options.record && options.record->range == "trigger") trigger.emplace();
  TS_TRY(SessionDir dir, SessionDir::create(options.output));
  const std::string command_line = joinCommand(options.command);
  // From here on a failure must not leave the directory behind.
  auto giveUp = [&](Error error) -> tl::unexpected<Error> {
    hideAgain(dir);
    dir.remove();
    return tl::unexpected<Error>(std::move(error));
  };
  const int64_t shortest_call_ns = options.functions ? options.functions->shortest_ns : 0;
  const SessionInfo info = {.output = options.output,
                            .command_line = command_line,
                            .keep_kernels = options.kernels,
                            .keep_memory = options.memory,
                            .shortest_call_ns = shortest_call_ns,
                            .force = options.force};
  if (auto ok = dir.writeInfo(info); !ok) return giveUp(ok.error());
  if (auto ok = checkRoomForArena(dir, options.ring_bytes); !ok) return giveUp(ok.error());
  auto env = environmentFor(options, dir);
  if (!env) return giveUp(env.error());
  auto made = Collector::create(dir, {.keep_kernels = options.kernels,
                                      .keep_memory = options.memory,
                                      .shortest_call_ns = shortest_call_ns});
  if (!made) return giveUp(made.error());
  Collector& collector = **made;
  noteHost(collector, command_line);
  std::unique_ptr<RecordingDrain> recording;
  if (options.record) {
    auto drain = RecordingDrain::create(dir);
    if (!drain) return giveUp(drain.error());
    recording = std::move(*drain);
  }

  ProfileOutcome outcome;
  Descendants descendants(dir, collector);
  if (descendants.needsPreload()) {
    env->emplace_back(process_log::kEnvLog, dir.processLog());
    if (auto ok = preload(*env, descendants.preload()); !ok) {
      outcome.warnings.push_back("short-lived processes may be missed: " + ok.error().toString());
    }
  }
  UnrecordedMessages unrecorded(dir);
  auto started = Launcher::start(options.command, *env);
  if (!started) return giveUp(started.error());
  Launcher& program = *started;
  relay.follow(program);
  const auto pid = static_cast<uint32_t>(program.pid());
  if (recording) {
    recording->expectEnd(pid);
    if (auto ok = recording->start(); !ok) outcome.warnings.push_back(ok.error().toString());
  }
  descendants.started(program.pid(), command_line);

  const int64_t begin = monotonicNs();
  TimeLimit limit(options.duration_s, begin);
  int64_t next_progress = begin + kProgressIntervalNs;
  int64_t pause_ns = 1'000'000;
  std::optional<ExitStatus> ended;
  int stops_at_end = 0;
  for (;;) {
    const uint64_t met = collector.poll();
    const int64_t now = monotonicNs();
    descendants.poll(now);
    unrecorded.poll();
    if (trigger) trigger->poll(dir.path());
    if (!ended) {
      ended = program.poll();
      stops_at_end = relay.stops();
      if (ended && recording) recording->noteEnd(pid, reasonOf(*ended));
    }
    if (ended) {
      const bool stop_asked = relay.stops() > stops_at_end || limit.hit();
      if (!options.wait_for_descendants || stop_asked || !collector.agentsAlive()) break;
    } else {
      limit.poll(program, now);
    }
    if (options.progress && now >= next_progress) {
      next_progress = now + kProgressIntervalNs;
      options.progress(progressOf(collector, now - begin));
    }
    // Sleeping costs the program nothing; the rings hold far more than arrives in a pause.
    pause_ns = met > 0 ? 1'000'000 : std::min<int64_t>(pause_ns * 2, 5'000'000);
    const timespec pause{0, pause_ns};
    nanosleep(&pause, nullptr);
  }

  outcome.exit_code = ended->exit_code;
  outcome.signal = ended->signal;
  outcome.stopped_by_duration = limit.hit();
  descendants.finish(*ended, monotonicNs());
  unrecorded.keep(dir, [&](uint32_t sender) { return descendants.has(sender); });
  warnOfUnrecorded(dir, outcome);
  collector.poll();  // what the last process had made is known now
  const std::vector<std::string> silent = descendants.reportSilent(dir);
  outcome.warnings.insert(outcome.warnings.end(), silent.begin(), silent.end());
  if (recording) {
    outcome.recording_status = recording->finish();
    outcome.recording = recording->totals();
    noteUnchanneled(dir, *outcome.recording);
  }
  outcome.trace_status = collector.finish();
  takeTotals(collector, dir, outcome);
  for (const auto& [what, variable] :
       {std::pair("CUDA was", kCudaInjection), std::pair("NVTX's ranges were", kNvtxInjection)}) {
    const std::string other = otherTool(variable);
    if (!wants(options, PlatformType::CUDA) || other.empty()) continue;
    outcome.warnings.push_back(
        fmt::format("{} not captured: {} names {} already", what, variable, other));
  }
  if (options.functions && !collector.sawTraceableProgram()) {
    outcome.warnings.emplace_back(
        "--xray: no program that ran was built with clang's -fxray-instrument");
  }
  outcome.unobserved = descendants.unobserved();
  for (const std::string& warning : descendants.warnings()) outcome.warnings.push_back(warning);
  takePublished(collector, outcome);
  return outcome;
}

}  // namespace tracesmith
