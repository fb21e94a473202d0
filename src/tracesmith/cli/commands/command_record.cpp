// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "tracesmith/capture/devices/devices.hpp"
#include "tracesmith/capture/in_process/synthetic_trace.hpp"
#include "tracesmith/capture/launch/armed_process.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/capture/session_directory/session_output.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/new_trace.hpp"
#include "tracesmith/cli/runs/recording.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/values.hpp"
#include "tracesmith/cli/views/devices_view.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith::cli {
namespace {

struct Platform {
  const char* name;
  PlatformType type;
};

constexpr Platform kPlatforms[] = {
    {"opencl", PlatformType::OpenCL}, {"simulation", PlatformType::Simulation},
    {"cuda", PlatformType::CUDA},     {"rocm", PlatformType::ROCm},
    {"metal", PlatformType::Metal},   {"maca", PlatformType::MACA},
    {"ascend", PlatformType::Ascend}, {"vulkan", PlatformType::Vulkan},
};

std::vector<std::string> platformNames() {
  std::vector<std::string> names = {"auto"};
  for (const Platform& platform : kPlatforms) names.emplace_back(platform.name);
  return names;
}

PlatformType platformByName(const std::string& name) {
  for (const Platform& platform : kPlatforms) {
    if (name == platform.name) return platform.type;
  }
  return PlatformType::Unknown;
}

class RecordCommand : public Command {
 public:
  RecordCommand()
      : Command("record", "Record a program for a given time, or create a synthetic trace") {
    text("-o,--output", output_, "FILE",
         "Output file; extensions as for profile (default: trace.sbt)", Complete::kFile);
    time("-d,--duration", duration_ns_, "Stop after this time (5, 1.5s, 300ms)");
    choice("-p,--platform", platform_, "PLATFORM", platformNames(),
           "What to record; simulation creates a synthetic trace (default: auto)");
    size("-b,--buffer", buffer_, "Ring buffer of each thread (default: 4M)");
    flag("-k,--kernels", kernels_, "Keep only kernels (without -k and -m everything is kept)");
    flag("-m,--memory", memory_, "Keep only copies, fills and memory events");
    flag("-s,--stacks", stacks_, "Record the host call stack of every call, native and Python");
    text(
        "--pid", pid_, "PID",
        "Record a running program and its children, which continue afterwards. For what it does "
        "on the GPU it must have been started with 'tracesmith arm'; --system needs nothing in it");
    const Option system =
        flag("--system", system_.is_wanted,
             "Also record what the processors do: samples of all threads with their stacks, and "
             "when threads ran and waited");
    count("--sample-rate", system_.samples_per_second, "N",
          "Of --system: samples of each thread in a second of its running (default: 1000; 0: none)")
        .needs(system);
    texts(
        "--sync-with", sync_with_, "HOST",
        "Compare this host's clock with that of HOST, where 'tracesmith clock serve' runs; can be "
        "repeated")
        .oneEach();
    time("--flight-recorder", flight_.window_ns,
         "Keep only the last seconds (30s, 5m) and a summary of all events, so that the "
         "recording can go on for days; see 'tracesmith help trigger'");
    text("--trigger-step", flight_.slow_step, "FACTOR",
         "Of a flight recorder: save the window when a step takes more than FACTOR times the "
         "median of the steps before it");
    count("--trigger-most", flight_.most_saved, "N",
          "Of a flight recorder: save at most N windows before the end (default: 10)");
    flag("--progress", progress_, "Show live counts when standard error is a terminal");
    flag("--force", force_,
         "Let a trace without events replace one with events; see 'tracesmith help profile'");
    flag("-q,--quiet", quiet_, "Print only warnings and errors");
    takeProgram(false);
    describe(
        "When the time is over, the program is stopped (SIGINT, then SIGTERM) and the exit code is "
        "0. If the program ends earlier, its exit code is returned. Without a program, --pid and "
        "-p simulation, the one program that was started with 'tracesmith arm' is recorded.");
    describe(
        "-p opencl and -p cuda load only that agent into the program; auto loads all agents. If "
        "the CUDA driver is missing, or older than that of CUDA 11.6, -p cuda reports it and "
        "starts nothing.");
    describe(
        "-p simulation measures nothing: it generates a plausible trace of the given length "
        "(default: 1 s), which is marked as synthetic in its metadata and on its device.");
    describe(
        "With --pid, the time counts from the first captured process (with --system, from the "
        "start); without -d, recording ends with Ctrl-C or when the processes have ended. The exit "
        "code is 0 when there is a trace.");
    example("tracesmith record -d 5 -- ./my_gpu_server", "Record five seconds of a program");
    example("tracesmith record --pid 4711 -d 5 -s",
            "Record five seconds of a program started with 'tracesmith arm'");
    example("tracesmith record --system --pid 4711 -d 5",
            "Record what the threads of any running program do for five seconds");
    example("tracesmith record -p simulation -d 2 -o made_up.sbt",
            "Create a synthetic trace to try the other commands");
  }

  int run(Session& session) override {
    const PlatformType type = platformByName(platform_);
    if (type == PlatformType::Simulation) return simulate(session);
    const bool has_agent =
        type == PlatformType::Unknown || type == PlatformType::OpenCL || type == PlatformType::CUDA;
    if (!has_agent) return missing(type);
    if (const std::string problem = systemProblem(); !problem.empty()) {
      say("record: " + problem);
      return kExitUsage;
    }
    if (!pid_.empty()) return recordRunning(session, type);
    if (session.program.empty()) return recordArmed(session, type);
    if (duration_ns_ && *duration_ns_ == 0) return refuseZero();
    if (type == PlatformType::CUDA) {
      if (const int code = missing(type); code != kExitOk) return code;
    }
    return runRecording(request(type), session);
  }

 private:
  RecordingRequest request(PlatformType type) const {
    RecordingRequest request;
    request.outputs = recordingOutputs(output_, false);
    request.quiet = quiet_;
    request.progress = progress_;
    request.flight = flight_;
    ProfileOptions& profile = request.profile;
    profile.platform = type;
    profile.force = force_;
    profile.sync_with = sync_with_;
    if (stacks_) profile.stacks.emplace();
    system_.addTo(profile);
    if (buffer_) profile.ring_bytes = *buffer_;
    if (duration_ns_) profile.duration_s = static_cast<double>(*duration_ns_) / 1e9;
    if (kernels_ != memory_) {
      profile.kernels = kernels_;
      profile.memory = memory_;
    }
    return request;
  }

  std::string systemProblem() const {
    if (system_.is_wanted && flight_.window_ns) {
      return "--flight-recorder and --system exclude each other in this version";
    }
    return system_.problem();
  }

  /// Records the armed program, if there is exactly one.
  int recordArmed(const Session& session, PlatformType type) const {
    const std::vector<uint32_t> armed =
        type == PlatformType::OpenCL ? std::vector<uint32_t>() : armedPrograms();
    if (armed.empty()) {
      say("record: nothing to record; use one of these:");
      say("  a program:          tracesmith record -d 5 -- ./my_gpu_program");
      say("  a running program:  tracesmith record -d 5 --pid PID   (see 'tracesmith help arm')");
      say("  a synthetic trace:  tracesmith record -p simulation -d 5");
      return kExitUsage;
    }
    if (armed.size() > 1) say("record: several programs are armed; which one? --pid PID:");
    for (const uint32_t pid : armed) {
      const auto facts = readProcessFacts(pid);
      const std::string command = facts ? facts->command_line : "";
      if (armed.size() > 1) say(fmt::format("  {:>8}  {}", pid, command));
      if (armed.size() == 1 && !quiet_) say(fmt::format("recording process {}: {}", pid, command));
    }
    return armed.size() == 1 ? attach(session, type, armed[0]) : int{kExitUsage};
  }

  /// Processes that are armed and waiting, except those with an ancestor among them.
  static std::vector<uint32_t> armedPrograms() {
    const Result<std::string> directory = controlDirectory();
    std::vector<uint32_t> waiting, programs;
    if (!directory) return programs;
    for (const ArmedProcessInfo& process : listArmed(*directory)) {
      if (!process.is_captured) waiting.push_back(process.pid);
    }
    for (const uint32_t pid : waiting) {
      bool is_child = false;
      auto stat = readProcessStat(pid);
      // A pid reused meanwhile could cause an endless loop.
      for (int i = 0; i < 1000 && !is_child && stat && stat->parent_pid > 1; ++i) {
        is_child = std::find(waiting.begin(), waiting.end(), stat->parent_pid) != waiting.end();
        stat = readProcessStat(stat->parent_pid);
      }
      if (!is_child) programs.push_back(pid);
    }
    std::sort(programs.begin(), programs.end());
    return programs;
  }

  int recordRunning(const Session& session, PlatformType type) const {
    if (!session.program.empty()) {
      say("record: --pid is for a running program; omit either --pid or the program");
      return kExitUsage;
    }
    if (type == PlatformType::OpenCL && !system_.is_wanted) {
      say("record: --pid captures CUDA and NVTX; to record OpenCL, start the program with "
          "'tracesmith record'");
      return kExitUsage;
    }
    const Result<uint64_t> pid = parseCount(pid_, INT32_MAX);
    if (!pid || *pid == 0) {
      say(fmt::format("record: --pid: '{}' is not a process id", pid_));
      return kExitUsage;
    }
    return attach(session, type, static_cast<uint32_t>(*pid));
  }

  int attach(const Session& session, PlatformType type, uint32_t pid) const {
    if (duration_ns_ && *duration_ns_ == 0) return refuseZero();
    RecordingRequest attached = request(type);
    attached.pid = pid;
    return runRecording(std::move(attached), session);
  }

  int refuseZero() const {
    say("record: -d: the duration must be longer than 0");
    return kExitUsage;
  }

  /// Prints what prevents a platform from being recorded; returns kExitOk if nothing does.
  static int missing(PlatformType type) {
    const BackendReport report = probeBackends({type}, {}).at(0);
    if (report.capture_supported && report.library_found) {
      // The program may see other devices than this process.
      if (!report.problem.empty())
        sayWarning(fmt::format("{}: {}", toString(type), report.problem));
      return kExitOk;
    }
    say(fmt::format("record: {} cannot be recorded: {}", toString(type),
                    report.capture_supported ? missingLibrary(report) : report.capture_problem));
    if (!report.capture_supported && !report.library_found) say("  " + missingLibrary(report));
    return kExitFailed;
  }

  int simulate(const Session& session) const {
    if (!session.program.empty()) {
      say("record: -p simulation runs no program; omit either -p simulation or the program");
      return kExitUsage;
    }
    if (stacks_) {
      say("record: -p simulation has no call stacks; omit -s");
      return kExitUsage;
    }
    if (duration_ns_ && *duration_ns_ == 0) return refuseZero();
    RecordingOutputs outputs = recordingOutputs(output_, false);
    SimulationOptions options;
    options.duration_s = duration_ns_ ? static_cast<double>(*duration_ns_) / 1e9 : 1.0;
    const Status written = writeSimulation(options, outputs);
    if (!written) {
      sayError(written.error());
      return kExitFailed;
    }
    if (!quiet_) {
      say(
          fmt::format("{}: a synthetic trace of {} s; nothing was measured. Next: tracesmith view "
                      "{} --stats",
                      outputs.trace, options.duration_s, outputs.trace));
    }
    return writeExports(outputs, force_, quiet_) ? kExitOk : kExitFailed;
  }

  /// Sets `outputs` to the names that were used.
  Status writeSimulation(const SimulationOptions& options, RecordingOutputs& outputs) const {
    Trace trace = simulateTrace(options);
    if (kernels_ != memory_) {
      if (!kernels_) trace.kernel.clear();
      if (!memory_) {
        trace.copy.clear();
        trace.fill.clear();
        trace.memory_event.clear();
      }
    }
    if (!trace.metadataValue("simulation_cut").empty()) {
      sayWarning(fmt::format("the simulation ended after {} kernels; it is shorter than requested",
                             options.max_kernels));
    }
    TS_TRY(NewTrace made, NewTrace::open(outputs.trace, force_));
    TS_TRY(TraceWriter writer, TraceWriter::create(made.place()));
    Status status = writer.write(trace);
    if (status) status = writer.finish();
    if (!status) return tl::unexpected<Error>(made.named(status.error()));
    TS_TRY(const std::string place, made.finish());
    takeTraceName(place, outputs);
    return {};
  }

  FlightRequest flight_;
  SystemRequest system_;
  std::string output_;
  std::vector<std::string> sync_with_;
  std::optional<int64_t> duration_ns_;
  std::string platform_ = "auto";
  std::string pid_;
  std::optional<uint64_t> buffer_;
  bool kernels_ = false;
  bool memory_ = false;
  bool stacks_ = false;
  bool progress_ = false;
  bool quiet_ = false;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Command> makeRecordCommand() { return std::make_unique<RecordCommand>(); }

}  // namespace tracesmith::cli
