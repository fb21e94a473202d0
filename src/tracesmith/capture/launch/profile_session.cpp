// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/launch/profile_session.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/collect/collector.hpp"
#include "tracesmith/capture/collect/session_processes.hpp"
#include "tracesmith/capture/launch/agent_environment.hpp"
#include "tracesmith/capture/launch/drain_pause.hpp"
#include "tracesmith/capture/launch/host_ranks.hpp"
#include "tracesmith/capture/launch/program_eligibility.hpp"
#include "tracesmith/capture/launch/recording_trigger.hpp"
#include "tracesmith/capture/launch/session_report.hpp"
#include "tracesmith/capture/launch/window_triggers.hpp"
#include "tracesmith/capture/processes/launcher.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/capture/protocol/process_log_layout.hpp"
#include "tracesmith/capture/session_directory/session_directory.hpp"
#include "tracesmith/capture/session_directory/unrecorded_messages.hpp"
#include "tracesmith/capture/system/perf_events.hpp"
#include "tracesmith/capture/system/system_recorder.hpp"

namespace tracesmith {
namespace {

constexpr int64_t kProgressIntervalNs = 200'000'000;
/// Processes that still run this long after the program are not just ending with it.
constexpr int64_t kOthersGoOnNs = 1'000'000'000;

std::string joinCommand(const std::vector<std::string>& command) {
  std::string joined;
  for (const std::string& word : command) joined += word + '\0';
  return quoteCommandLine(joined);
}

/// Why the program's recording ended; empty: it exited normally.
std::string reasonOf(const ExitStatus& ended) {
  if (ended.signal == 0) return {};
  return "signal " + std::to_string(ended.signal) + " ended the program";
}

/// The same, also of a program that reports an error.
std::string failureOf(const ExitStatus& ended) {
  if (ended.signal != 0 || ended.exit_code == 0) return reasonOf(ended);
  return fmt::format("the program ended with exit code {}", ended.exit_code);
}

/// Stops a program after its time limit: with SIGINT, then SIGTERM, then SIGKILL.
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

/// Fails when the system would keep the agents out of the program.
Status requireEligible(const std::string& program) {
  const ProgramEligibility eligibility = checkEligibility(program);
  if (eligibility.eligibility != Eligibility::kPrivileged) return {};
  return fail(ErrorCode::kUnsupported,
              "nothing of it could be recorded: it is " + eligibility.why +
                  ", so the system lets no library of ours into it; record as that user",
              eligibility.path);
}

/// Signal handling during a session.
struct SessionSignals {
  explicit SessionSignals(const ProfileOptions& options) {
    if (options.record && options.record->range == "trigger") trigger.emplace();
  }
  FileSizeSignalIgnored no_signal;
  SignalRelay relay;
  std::optional<TriggerSignal> trigger;
};

/// The session of one program. Call prepare(), start(), watch() and finish() in this order; if
/// prepare() or start() fails, nothing was started.
class ProgramSession {
 public:
  /// `rank`: others of this host are recorded with it.
  ProgramSession(const ProfileOptions& options, SessionSignals& signals, SessionDir& dir,
                 const std::optional<HostRank>& rank)
      : options_(options),
        signals_(signals),
        dir_(dir),
        rank_(rank),
        command_line_(joinCommand(options.command)) {}
  Status prepare();
  Status start();
  void watch();
  ProfileOutcome finish();

 private:
  Status recordSystem(pid_t pid);
  bool isContinued(const TimeLimit& limit, int64_t now_ns);
  void addWarningsOfOptions();

  const ProfileOptions& options_;
  SessionSignals& signals_;
  SessionDir& dir_;
  const std::optional<HostRank>& rank_;
  const std::string command_line_;
  Environment env_;
  std::unique_ptr<PeerClocks> peers_;
  std::unique_ptr<SystemRecorder> system_;
  std::unique_ptr<Collector> collector_;
  std::unique_ptr<RecordingDrain> recording_;
  ProfileOutcome outcome_;
  std::optional<Descendants> descendants_;
  std::optional<UnrecordedMessages> unrecorded_;
  std::optional<HostRanks> host_ranks_;
  std::optional<WindowTriggers> window_triggers_;
  std::optional<Launcher> program_;
  std::optional<ExitStatus> ended_;
  int64_t ended_ns_ = 0;
  bool failure_seen_ = false;  // of the program, while others go on
  int stops_at_end_ = 0;       // stop signals received before the program ended
};

Status ProgramSession::prepare() {
  const FlightOptions flight = options_.flight.value_or(FlightOptions{});
  const int64_t shortest_call_ns = options_.functions ? options_.functions->shortest_ns : 0;
  TS_CHECK_OK(dir_.writeInfo({.output = options_.output,
                              .command_line = command_line_,
                              .keep_kernels = options_.kernels,
                              .keep_memory = options_.memory,
                              .shortest_call_ns = shortest_call_ns,
                              .flight_window_ns = flight.window_ns,
                              .force = options_.force}));
  TS_CHECK_OK(checkRoomForArena(dir_, options_.ring_bytes));
  TS_TRY(env_, environmentFor(options_, dir_.path()));
  TS_TRY(collector_, Collector::create(dir_, {.keep_kernels = options_.kernels,
                                              .keep_memory = options_.memory,
                                              .shortest_call_ns = shortest_call_ns,
                                              .flight = flight}));
  if (options_.flight) window_triggers_.emplace(dir_.path());
  noteHost(*collector_, command_line_);
  TS_TRY(peers_, PeerClocks::start(options_.sync_with));
  if (peers_ != nullptr) collector_->followPeers(*peers_);
  if (options_.record) {
    TS_TRY(recording_, RecordingDrain::create(dir_));
  }
  return {};
}

Status ProgramSession::start() {
  descendants_.emplace(dir_, *collector_);
  if (descendants_->needsPreload()) {
    env_.emplace_back(process_log::kEnvLog, dir_.processLog());
    if (auto ok = preload(env_, descendants_->preload()); !ok) {
      outcome_.warnings.push_back("short-lived processes may be missed: " + ok.error().toString());
    }
  }
  unrecorded_.emplace(dir_);
  TS_TRY(Launcher program, Launcher::start(options_.command, env_, [this](pid_t pid) {
           return options_.system ? recordSystem(pid) : Status();
         }));
  program_.emplace(std::move(program));
  signals_.relay.follow(*program_);
  if (recording_) {
    recording_->expectEnd(static_cast<uint32_t>(program_->pid()));
    if (auto ok = recording_->start(); !ok) outcome_.warnings.push_back(ok.error().toString());
  }
  collector_->noteRoot(static_cast<uint32_t>(program_->pid()));
  descendants_->started(program_->pid(), command_line_);
  if (rank_) {
    const std::string log = descendants_->needsPreload() ? dir_.processLog() : "";
    auto opened = HostRanks::open(dir_, *rank_, log, descendants_->preload());
    if (opened) {
      host_ranks_.emplace(std::move(*opened));
    } else {
      outcome_.warnings.push_back("no other rank is recorded: " + opened.error().toString());
    }
  }
  collector_->readTopology();
  return {};
}

Status ProgramSession::recordSystem(pid_t pid) {
  TS_TRY(system_, SystemRecorder::start(pid, *options_.system));
  collector_->followSystem(*system_);
  noteSystem(*collector_, *system_, *options_.system);
  return {};
}

/// Drains until the program and all processes that are waited for have ended.
void ProgramSession::watch() {
  const int64_t begin = monotonicNs();
  TimeLimit limit(options_.duration_s, begin);
  int64_t next_progress = begin + kProgressIntervalNs;
  DrainPause drain_pause(options_.ring_bytes);
  for (;;) {
    const uint64_t met = collector_->poll();
    const int64_t now = monotonicNs();
    descendants_->poll(now);
    unrecorded_->poll();
    if (signals_.trigger) signals_.trigger->poll(dir_.path());
    if (window_triggers_) window_triggers_->poll(*collector_, now);
    if (host_ranks_) {
      for (const uint32_t pid : host_ranks_->takeJoined(now)) descendants_->joined(pid);
    }
    if (!ended_) {
      ended_ = program_->poll();
      ended_ns_ = now;
      stops_at_end_ = signals_.relay.stops();
      if (ended_ && recording_) {
        recording_->noteEnd(static_cast<uint32_t>(program_->pid()), reasonOf(*ended_));
      }
    }
    if (!ended_) {
      limit.poll(*program_, now);
    } else if (!isContinued(limit, now)) {
      if (!host_ranks_ || host_ranks_->isClosed()) break;
      host_ranks_->close();  // and looks once more
    } else if (!failure_seen_ && now - ended_ns_ > kOthersGoOnNs) {
      failure_seen_ = true;
      const bool asked = ended_->signal != 0 && !isCrash(ended_->signal);
      const std::string why = asked ? std::string() : failureOf(*ended_);
      if (!why.empty()) collector_->wantWindow(why);
    }
    if (options_.progress && now >= next_progress) {
      next_progress = now + kProgressIntervalNs;
      options_.progress(progressOf(*collector_, now - begin));
    }
    // Sleeping costs the program nothing; the rings hold far more than arrives during a pause.
    drain_pause.sleep(met);
  }
  outcome_.exit_code = ended_->exit_code;
  outcome_.signal = ended_->signal;
  outcome_.stopped_by_duration = limit.hit();
}

/// After the program's end: whether to wait for other ranks, and other processes with an agent.
bool ProgramSession::isContinued(const TimeLimit& limit, int64_t now_ns) {
  const bool stop_asked = signals_.relay.stops() > stops_at_end_ || limit.hit();
  if (stop_asked) return false;
  // mpirun ends the other ranks when it sees one fail, and what it sees is this process. Nor do
  // ranks go on that it has told to stop.
  const bool has_failed = ended_->exit_code != 0 || signals_.relay.stops() > 0;
  if (host_ranks_ && has_failed) return false;
  if (host_ranks_ && host_ranks_->areExpected(now_ns, ended_ns_)) return true;
  return options_.wait_for_descendants && collector_->agentsAlive();
}

ProfileOutcome ProgramSession::finish() {
  descendants_->finish(*ended_, monotonicNs());
  unrecorded_->keep(dir_, [&](uint32_t sender) { return descendants_->has(sender); });
  warnOfUnrecorded(dir_, outcome_);
  collector_->poll();  // takes the arenas that the last process created
  const std::vector<std::string> silent = descendants_->reportAgentless(dir_);
  outcome_.warnings.insert(outcome_.warnings.end(), silent.begin(), silent.end());
  if (recording_) {
    outcome_.recording_status = recording_->finish();
    outcome_.recording = recording_->totals();
    noteUnchanneled(dir_, *outcome_.recording);
  }
  if (const std::string why = failureOf(*ended_); !why.empty()) collector_->endWindow(why);
  outcome_.trace_status = collector_->finish();
  takeTotals(*collector_, dir_, outcome_);
  addWarningsOfOptions();
  warnOfPeers(peers_.get(), outcome_);
  outcome_.unobserved = descendants_->unobserved();
  for (const std::string& warning : descendants_->warnings()) outcome_.warnings.push_back(warning);
  takePublished(*collector_, outcome_);
  return std::move(outcome_);
}

/// Adds warnings about requested captures that were not possible.
void ProgramSession::addWarningsOfOptions() {
  if (host_ranks_ && host_ranks_->missing() > 0) {
    outcome_.warnings.push_back(fmt::format("{} of the {} ranks of this host did not join",
                                            host_ranks_->missing(), rank_->count));
  }
  for (const auto& [what, variable] :
       {std::pair("CUDA was", kCudaInjection), std::pair("NVTX's ranges were", kNvtxInjection)}) {
    const std::string other = otherTool(variable);
    if (!wantsAgent(options_, PlatformType::CUDA) || other.empty()) continue;
    outcome_.warnings.push_back(
        fmt::format("{} not captured: {} names {} already", what, variable, other));
  }
  if (options_.functions && !collector_->sawTraceableProgram()) {
    outcome_.warnings.emplace_back(
        "--xray: no program that ran was built with clang's -fxray-instrument");
  }
}

}  // namespace

Result<ProfileOutcome> runProfile(const ProfileOptions& options) {
  if (options.command.empty()) return fail(ErrorCode::kInvalidArgument, "no command to run");
  TS_CHECK_OK(requireEligible(options.command[0]));
  std::optional<HostRank> rank;
  if (options.per_host) {
    TS_TRY(rank, hostRank());
    if (rank->number > 0) return tl::unexpected<Error>(joinHostRanks(options, *rank));
  }
  SessionSignals signals(options);
  TS_TRY(SessionDir dir, SessionDir::create(options.output));
  ProgramSession session(options, signals, dir, rank);
  Status started = session.prepare();
  if (started) started = session.start();
  if (!started) {  // do not leave the directory behind
    unlinkUnfinishedTrace(dir);
    dir.remove();
    return tl::unexpected<Error>(std::move(started.error()));
  }
  session.watch();
  return session.finish();
}

}  // namespace tracesmith
