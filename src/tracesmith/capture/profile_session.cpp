// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/profile_session.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/version.hpp"
#include "tracesmith/capture/collector.hpp"
#include "tracesmith/capture/descendants.hpp"
#include "tracesmith/capture/launcher.hpp"
#include "tracesmith/capture/process_facts.hpp"
#include "tracesmith/capture/process_log_layout.hpp"
#include "tracesmith/capture/program_reach.hpp"
#include "tracesmith/capture/recording_trigger.hpp"
#include "tracesmith/capture/session_dir.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {
namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kProgressIntervalNs = kSecondNs / 5;

/// Appends to a list in an environment variable that the user may have set already.
std::string appended(const char* variable, const std::string& item, char separator) {
  const char* before = std::getenv(variable);
  return before == nullptr || *before == 0 ? item : std::string(before) + separator + item;
}

std::string& variableOf(Environment& env, const char* name) {
  for (auto& [known, value] : env) {
    if (known == name) return value;
  }
  const char* const before = std::getenv(name);
  return env.emplace_back(name, before == nullptr ? "" : before).second;
}

/// Libraries, separated by colons, behind those that the user preloads.
void preload(Environment& env, const std::string& libraries) {
  std::string& all = variableOf(env, "LD_PRELOAD");
  if ((':' + all + ':').find(':' + libraries + ':') != std::string::npos) return;
  all += (all.empty() ? "" : ":") + libraries;
  // A program with AddressSanitizer in it ends at once when a library comes before the sanitizer's.
  std::string& asan = variableOf(env, "ASAN_OPTIONS");
  constexpr const char* kAnyOrder = "verify_asan_link_order=0";
  if (asan.find(kAnyOrder) == std::string::npos)
    asan += (asan.empty() ? "" : ":") + std::string(kAnyOrder);
}

/// What another tool has the CUDA driver, or NVTX, load; "" where that is our agent, as in a
/// program that we profile ourselves, or nothing.
std::string otherTool(const char* variable) {
  const char* const named = std::getenv(variable);
  if (named == nullptr || std::filesystem::path(named).filename() == kCudaAgent) return {};
  return named;
}

bool wants(const ProfileOptions& options, PlatformType platform) {
  return options.platform == PlatformType::Unknown || options.platform == platform;
}

/// The OpenCL agent, and with --record the one that records for replay.
Status addOpenCl(Environment& env, const ProfileOptions& options) {
  const bool layer = options.injection == Injection::kLayer ||
                     (options.injection == Injection::kAuto && icdLoaderHasLayers());
  const std::string kind = layer ? "" : "-preload";
  TS_TRY(std::string agents, findAgentLibrary("libtracesmith-opencl" + kind + ".so"));
  if (options.record) {
    TS_TRY(const std::string recorder,
           findAgentLibrary("libtracesmith-opencl-record" + kind + ".so"));
    // Nearest to the program: of layers the last, of preloaded libraries the first.
    agents = layer ? agents + ':' + recorder : recorder + ':' + agents;
    env.emplace_back(channel::kEnvBytes, std::to_string(options.record->ring_bytes));
    if (!options.record->range.empty()) {
      env.emplace_back(channel::kEnvRange, options.record->range);
    }
    if (options.record->keep_outputs) env.emplace_back(channel::kEnvKeep, "keep");
    if (options.record->launch_hashes) env.emplace_back(channel::kEnvHashes, "launch");
  }
  if (layer) {
    env.emplace_back("OPENCL_LAYERS", appended("OPENCL_LAYERS", agents, ':'));
  } else {
    preload(env, agents);
  }
  return {};
}

/// The driver and NVTX load what their variables name, in children, too. What the user has put
/// there stays.
Status addCuda(Environment& env) {
  for (const char* const variable : {kCudaInjection, kNvtxInjection}) {
    if (!otherTool(variable).empty()) continue;
    TS_TRY(const std::string agent, findAgentLibrary(kCudaAgent));
    env.emplace_back(variable, agent);
  }
  return {};
}

Result<Environment> environmentFor(const ProfileOptions& options, const SessionDir& dir) {
  Environment env = {
      {arena::kEnvSession, dir.path()},
      {arena::kEnvRingBytes, std::to_string(options.ring_bytes)},
      {arena::kEnvOverflow, options.overflow == OverflowPolicy::Block ? "block" : "drop"},
  };
  if (options.stacks) {
    env.emplace_back(arena::kEnvStacks, options.stacks->frames);
    env.emplace_back(arena::kEnvStackDepth, std::to_string(options.stacks->max_depth));
  }
  if (wants(options, PlatformType::OpenCL)) TS_CHECK_OK(addOpenCl(env, options));
  if (options.stacks) {
    TS_TRY(const std::string notice, findAgentLibrary("libtracesmith-process.so"));
    preload(env, notice);  // of libraries that are unloaded
  }
  if (wants(options, PlatformType::CUDA)) TS_CHECK_OK(addCuda(env));
  if (options.unified_memory) env.emplace_back(arena::kEnvUnifiedMemory, "1");
  if (options.functions) {
    TS_TRY(const std::string tracer, findAgentLibrary("libtracesmith-xray.so"));
    preload(env, tracer);
  }
  return env;
}

/// What could not be written is not in the trace, however much of it was seen.
void countWhatIsInTheFile(const std::string& path, ProfileOutcome& outcome) {
  const bool functions = outcome.function_calls > 0;
  outcome.kernels = outcome.copies = outcome.host_calls = outcome.function_calls = 0;
  outcome.annotations = 0;
  const auto reader = TraceReader::open(path);
  if (!reader) return;
  for (const BlockInfo& block : reader->blocks()) {
    if (block.table == TableId::kKernel) outcome.kernels += block.rows;
    if (block.table == TableId::kCopy) outcome.copies += block.rows;
    if (block.table == TableId::kHostCall) outcome.host_calls += block.rows;
    if (block.table == TableId::kRange) {
      (functions ? outcome.function_calls : outcome.annotations) += block.rows;
    }
  }
}

/// An arena that can not be made leaves a program unrecorded, so that is tried first.
Status checkRoomForArena(const SessionDir& dir, uint64_t ring_bytes) {
  const uint64_t bytes =
      arena::dataOffset(arena::kRingsPerArena) + arena::kRingsPerArena * std::bit_ceil(ring_bytes);
  const std::string probe = dir.path() + "/probe.new";
  const int fd = open(probe.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return failErrno(errno, "cannot write in the session directory", dir.path());
  const int error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  close(fd);
  unlink(probe.c_str());
  if (error == 0) return {};
  return failErrno(error,
                   "no room for the rings of a process (" + std::to_string(bytes >> 10) +
                       " KiB; smaller ones: -b BYTES)",
                   dir.path());
}

/// One warning for each reason, however many processes it stopped.
void warnOfUnrecorded(const SessionDir& dir, ProfileOutcome& outcome) {
  std::map<int, std::vector<uint32_t>> by_error;
  for (const SessionDir::Unrecorded& u : dir.unrecorded()) by_error[u.error].push_back(u.pid);
  for (const auto& [error, pids] : by_error) {
    const std::string more =
        pids.size() > 1 ? fmt::format(" and {} more", pids.size() - 1) : std::string();
    outcome.warnings.push_back(
        fmt::format("process {}{} could not make {} rings ({}), so nothing of {} was recorded; "
                    "smaller ones: -b BYTES",
                    pids.front(), more, pids.size() > 1 ? "their" : "its", std::strerror(error),
                    pids.size() > 1 ? "them" : "it"));
  }
}

void noteHost(Collector& collector, const std::string& command_line) {
  utsname u{};
  if (uname(&u) == 0) {
    collector.noteMetadata("hostname", u.nodename);
    collector.noteMetadata("os", std::string(u.sysname) + " " + u.release + " " + u.machine);
  }
  collector.noteMetadata("producer", "TraceSmith " + getVersionString());
  collector.noteMetadata("command_line", command_line);
  collector.noteMetadata("start_realtime_ns", std::to_string(clockNs(CLOCK_REALTIME)));
  collector.noteMetadata("start_monotonic_ns", std::to_string(monotonicNs()));
}

std::string joinCommand(const std::vector<std::string>& command) {
  std::string joined;
  for (const std::string& word : command) joined += word + '\0';
  return quoteCommandLine(joined);
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
    at_ns_ = now + (step_ == 0 ? 2 : 5) * kSecondNs;
    ++step_;
  }
  bool hit() const { return step_ > 0; }

 private:
  int64_t at_ns_;
  int step_ = 0;
};

/// Number of kernels in a trace that has its end marker; nothing for any other file.
std::optional<uint64_t> kernelsOfCompleteTrace(const std::string& path) {
  const auto reader = TraceReader::open(path);
  if (!reader || !reader->complete()) return std::nullopt;
  uint64_t kernels = 0;
  for (const BlockInfo& block : reader->blocks()) {
    if (block.table == TableId::kKernel) kernels += block.rows;
  }
  return kernels;
}

/// True for a recording whose processes have all ended, with their channels, before its collector
/// did.
bool recordingHasNoEnd(const std::string& output) {
  const auto reader = RecordingReader::open(recording::pathBeside(output));
  return reader && !reader->complete();
}

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
    dir.remove();
    return tl::unexpected<Error>(std::move(error));
  };
  const int64_t shortest_call_ns = options.functions ? options.functions->shortest_ns : 0;
  const SessionInfo info = {.output = options.output,
                            .command_line = command_line,
                            .keep_kernels = options.kernels,
                            .keep_memory = options.memory,
                            .shortest_call_ns = shortest_call_ns};
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

  Descendants descendants(dir, collector);
  if (descendants.needsPreload()) {
    env->emplace_back(process_log::kEnvLog, dir.processLog());
    preload(*env, descendants.preload());
  }
  auto started = Launcher::start(options.command, *env);
  if (!started) {
    unlink(dir.info().output.c_str());
    return giveUp(started.error());
  }
  Launcher& program = *started;
  relay.follow(program);
  ProfileOutcome outcome;
  if (recording) {
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
    if (trigger) trigger->poll(dir.path());
    if (!ended) {
      ended = program.poll();
      stops_at_end = relay.stops();
    }
    if (ended) {
      const bool stop_asked = relay.stops() > stops_at_end || limit.hit();
      if (!options.wait_for_descendants || stop_asked || !collector.agentsAlive()) break;
    } else {
      limit.poll(program, now);
    }
    if (options.progress && now >= next_progress) {
      next_progress = now + kProgressIntervalNs;
      const SharedRows& rows = collector.rows();
      options.progress({now - begin, rows.kernels, rows.events, collector.totals().dropped,
                        collector.fileBytes(), rows.processes});
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
  warnOfUnrecorded(dir, outcome);
  if (recording) {
    if (ended->signal != 0) {
      recording->noteEnd(static_cast<uint32_t>(program.pid()),
                         "signal " + std::to_string(ended->signal) + " ended the program");
    }
    outcome.recording_status = recording->finish();
    outcome.recording = recording->totals();
    for (const SessionDir::Unrecorded& u : dir.unchanneled()) {
      outcome.recording->ended.push_back(
          fmt::format("process {} could not make its channel ({}); a smaller one: "
                      "--record-buffer BYTES",
                      u.pid, std::strerror(u.error)));
    }
  }
  outcome.trace_status = collector.finish();
  const CollectorTotals totals = collector.totals();
  const SharedRows& rows = collector.rows();
  outcome.kernels = rows.kernels;
  outcome.copies = rows.copies;
  outcome.host_calls = rows.host_calls;
  outcome.function_calls = collector.functionCalls();
  outcome.annotations = collector.annotations();
  for (const std::string& problem : collector.agentProblems()) outcome.warnings.push_back(problem);
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
  if (totals.without_ring > 0) {
    outcome.warnings.push_back(fmt::format(
        "{} calls came from threads that could get no ring, for want of room in {} or because a "
        "process had more than {} threads at once; smaller rings: -b BYTES",
        totals.without_ring, dir.path(), arena::mostRings()));
  }
  outcome.dropped = totals.dropped;
  outcome.without_ring = totals.without_ring;
  outcome.unresolved = totals.unresolved;
  outcome.processes = rows.processes;
  outcome.gpu_processes = collector.agentProcesses();
  outcome.unobserved = descendants.unobserved();
  for (const std::string& warning : descendants.warnings()) outcome.warnings.push_back(warning);
  outcome.file_bytes = collector.fileBytes();
  if (!outcome.trace_status) countWhatIsInTheFile(dir.info().output, outcome);
  return outcome;
}

Result<RecoverOutcome> recoverSession(const std::string& session_dir) {
  const FileSizeSignalIgnored no_signal;
  TS_TRY(SessionDir dir, SessionDir::open(session_dir));
  RecoverOutcome outcome;
  outcome.output = dir.info().output;
  outcome.arenas = static_cast<uint32_t>(dir.arenas().size());
  outcome.channels = static_cast<uint32_t>(dir.channels().size());
  if (outcome.channels > 0 || (dir.begun() && recordingHasNoEnd(outcome.output))) {
    TS_TRY(const auto drain, RecordingDrain::resume(dir));
    TS_CHECK_OK(drain->finish());
    outcome.recording = drain->totals();
    for (const std::string& path : dir.channels()) unlink(path.c_str());
  }
  if (!dir.begun()) {
    outcome.output.clear();
    dir.remove();
    outcome.warnings.push_back("the recording was killed before it began; there was nothing in " +
                               session_dir);
    return outcome;
  }
  if (const auto kernels = kernelsOfCompleteTrace(outcome.output)) {
    // The collector died between its last two steps.
    outcome.kernels = *kernels;
    dir.remove();
    return outcome;
  }
  TS_TRY(std::unique_ptr<Collector> collector, Collector::resume(dir));
  const uint64_t kernels_before = collector->rows().kernels;
  if (kernels_before == 0) noteHost(*collector, dir.info().command_line);
  collector->noteMetadata("recovered", "true");
  TS_CHECK_OK(collector->finish());
  outcome.recovered_events = collector->rows().events;
  outcome.kernels = collector->rows().kernels;
  return outcome;
}

}  // namespace tracesmith
