// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/launch/host_ranks.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/runs/nsys_recording.hpp"
#include "tracesmith/cli/runs/profile_by_tool.hpp"
#include "tracesmith/cli/runs/record_range.hpp"
#include "tracesmith/cli/runs/recording.hpp"
#include "tracesmith/cli/terminal/messages.hpp"

namespace tracesmith::cli {
namespace {

class ProfileCommand : public Command {
 public:
  ProfileCommand() : Command("profile", "Run a program and record what it does on the GPU") {
    text(
        "-o,--output", output_, "FILE",
        "Output file (default: trace.sbt). With the extension .json, .perfetto, .perfetto-trace or "
        ".pftrace, the trace is exported to it and also written beside it as .sbt",
        Complete::kFile);
    flag("--perfetto", perfetto_, "Also export for ui.perfetto.dev, as .pftrace beside the trace");
    const Option system =
        flag("--system", system_.is_wanted,
             "Also record what the processors do: samples of all threads with their stacks, and "
             "when threads ran and waited");
    // Options for TraceSmith's own agents, which have no meaning for another tool.
    const std::array of_agents = {
        size("-b,--buffer", buffer_, "Ring buffer of each thread (default: 4M)"),
        choice("--overflow", overflow_, "POLICY", {"block", "drop"},
               "When a ring is full: make the program wait, or drop events and count them "
               "(default: block)"),
        choice("--inject", inject_, "HOW", {"auto", "layer", "preload"},
               "How to load the agent into the program (default: auto)"),
        choice("--wait", wait_, "WHOM", {"all", "primary"},
               "Wait for all recorded processes, or only for the program itself (default: all)"),
        flagWithChoice("--stacks", stacks_, "both", {"native", "python", "both"},
                       "Record the host call stack of every call; --stacks=native or "
                       "--stacks=python records one kind"),
        count("--max-depth", max_depth_, "N",
              "Keep the innermost N frames of a stack (default 128, at most 512)"),
        flag("--mpi", mpi_,
             "Record calls of MPI also where the command does not show that it uses MPI, as a "
             "script"),
        choice("--nccl", nccl_, "EVENTS", {"none", "light", "default", "full"},
               "What NCCL and RCCL report: nothing, calls (light), also when they ran on the GPU "
               "(default), or also what their threads send and wait for (full)"),
        flag("--per-host", per_host_,
             "Record all ranks on this host in one trace, OUTPUT-HOST.sbt; for ranks that each are "
             "'tracesmith profile', as mpirun or srun start them"),
        system,
        count("--sample-rate", system_.samples_per_second, "N",
              "Of --system: samples of each thread in a second of its running (default: 1000; 0: "
              "none)")
            .needs(system),
        flag("--xray", xray_,
             "Record calls of the program's own functions; needs a build with clang's "
             "-fxray-instrument"),
        time("--xray-min", xray_min_, "Leave out shorter function calls (for example 10us)"),
        flag("--unified-memory", unified_memory_,
             "Record page faults and migrations of managed memory (CUDA; slow)"),
        flag("--cuda-calls", cuda_calls_,
             "Record all CUDA runtime and driver calls, not only those that launch, copy, set, "
             "allocate or wait"),
        flag("--cuda-latency", cuda_latency_,
             "Record when CUDA kernels were queued and submitted (adds cost to each launch)"),
        choice("--cuda-graphs", cuda_graphs_, "HOW", {"node", "graph"},
               "Record each kernel of a CUDA graph, or each graph launch as a whole, which is "
               "cheaper (default: node)"),
        texts("--sync-with", sync_with_, "HOST",
              "Compare this host's clock with that of HOST, where 'tracesmith clock serve' runs, "
              "so that the traces of both can be merged on one time axis; can be repeated")
            .oneEach(),
        time("--flight-recorder", flight_.window_ns,
             "Keep only the last seconds (30s, 5m) and a summary of all events, so that the "
             "recording can go on for days; see 'tracesmith help trigger'"),
        text("--trigger-step", flight_.slow_step, "FACTOR",
             "Of a flight recorder: save the window when a step takes more than FACTOR times the "
             "median of the steps before it"),
        count("--trigger-most", flight_.most_saved, "N",
              "Of a flight recorder: save at most N windows before the end (default: 10)"),
        flag("--studio", studio_,
             "Show the trace in the browser while it is recorded, until Ctrl-C"),
        flag("--progress", progress_, "Show live counts when standard error is a terminal"),
    };
    const Option record =
        flag("--record", record_,
             "Also record what 'tracesmith replay' needs, as .sbr beside the trace (OpenCL)");
    const std::array of_recording = {
        text("--range", range_, "RANGE",
             "Record only a part: time:1.2s-1.5s, launch:100-200, kernel:REGEX, step:3 or trigger"),
        flag("--keep-outputs", keep_outputs_,
             "Keep the bytes that the program reads back, not only their hashes"),
        flag("--launch-hashes", launch_hashes_,
             "After each launch, hash the memory of its arguments (slow: waits for each launch)"),
        size("--record-buffer", record_buffer_,
             "Ring buffer between a process and its recording (default: 64M)"),
    };
    for (const Option option : of_recording) option.needs(record);
    flag("--force", force_,
         "Let a trace without events replace one with events, or a file that is not a trace; "
         "otherwise both are kept, and the new trace is OUTPUT-2.sbt");
    flag("-q,--quiet", quiet_, "Print only warnings and errors");
    const Option nsys =
        flag("--nsys", nsys_,
             "Record with NVIDIA Nsight Systems (must be on PATH) and import its report");
    for (const Option option : of_agents) nsys.excludes(option);
    nsys.excludes(record);
    text("--nsys-args", nsys_args_, "ARGS",
         "More options for 'nsys profile', as one argument that is split as a shell does")
        .needs(nsys);
    const Option xctrace =
        flag("--xctrace", xctrace_,
             "Record with Apple's Instruments and import its trace (experimental)");
    text("--xctrace-template", xctrace_template_, "NAME",
         "Instruments template (default: Metal System Trace)")
        .needs(xctrace);
    time("--xctrace-time-limit", xctrace_limit_, "Stop the Instruments recording after this time")
        .needs(xctrace);
    const Option mctracer =
        flag("--mctracer", mctracer_,
             "Record with MetaX's mcTracer and import its trace (experimental)");
    const Option msprof = flag("--msprof", msprof_,
                               "Record with Ascend's msprof and import its trace (experimental)");
    for (const Option tool : {xctrace, mctracer, msprof}) {
      for (const Option option : of_agents) tool.excludes(option);
      tool.excludes(nsys).excludes(record);
    }
    mctracer.excludes(xctrace);
    msprof.excludes(xctrace).excludes(mctracer);
    flag("--keep-trace,--keep-nsys", keep_trace_, "Keep the other tool's output beside the trace");
    takeProgram(true);
    setUsageExitCode(kExitNotStarted);
    describe(
        "The program runs as if started directly: it keeps its standard streams, working "
        "directory, signals and exit code. Ctrl-C stops it and leaves a complete trace. If the "
        "program cannot be started, the exit code is 127 (not found), 126 (not executable) or 125 "
        "(any other error, including wrong options).");
    describe(
        "If tracesmith itself is killed, the records remain in the directory beside the output "
        "(trace.sbt.session); 'tracesmith recover' finishes the trace.");
    describe(
        "With --flight-recorder, the trace has the last seconds before the end, however the "
        "program "
        "ended. The same seconds before another moment are saved beside it, as "
        "trace.trigger-1.sbt, "
        "by 'tracesmith trigger', by SIGUSR2 to this command, by a slow step, or when a signal "
        "such "
        "as SIGSEGV ends one of several recorded processes. trace.sbt.summary counts all events "
        "since the start, for 'tracesmith fleet'.");
    describe(
        "An existing trace with events, or a file that is not a trace, is replaced only by a "
        "complete trace with events. Otherwise it stays, and the new trace is called trace-2.sbt "
        "(or the next free number); --force replaces it anyway. The recording (.sbr) of a replaced "
        "trace is replaced by a new recording that holds commands; if there is none, it is renamed "
        "to trace.old.sbr.");
    example("tracesmith profile -- ./my_gpu_program --size 512", "Record into trace.sbt");
    example("tracesmith profile -o run1.sbt --perfetto -- python3 train.py",
            "Name the output, and export for ui.perfetto.dev too");
    example("tracesmith profile --nsys --nsys-args '--trace=cuda,nvtx' -- python3 train.py",
            "Record CUDA with Nsight Systems");
    example("tracesmith profile --record --range launch:100-200 -- ./my_gpu_program",
            "Record 101 launches for replay");
    example("tracesmith profile --flight-recorder 30s --trigger-step 3 -- python3 train.py",
            "Keep the last 30 seconds; save them when a step is three times slower than usual");
    example("mpirun -n 8 tracesmith profile --per-host -o job.sbt -- ./train",
            "Record the ranks of each host in one trace");
    example("tracesmith profile -o run1.json -- ./my_gpu_program", "Record and export to JSON");
  }

  int run(Session& session) override {
    if (session.program.empty()) {
      say("profile: which program? for example: tracesmith profile -- ./my_gpu_program");
      return kExitNotStarted;
    }
    if (const char* const problem = problemOfOptions(); problem != nullptr) {
      say(problem);
      return kExitNotStarted;
    }
    if (nsys_) {
      return runNsysRecording({.outputs = recordingOutputs(output_, perfetto_),
                               .arguments = nsys_args_,
                               .keep = keep_trace_,
                               .quiet = quiet_,
                               .force = force_},
                              session);
    }
    if (xctrace_ || mctracer_ || msprof_) {
      return runToolRecording({.tool = xctrace_    ? RecorderTool::kXctrace
                                       : mctracer_ ? RecorderTool::kMcTracer
                                                   : RecorderTool::kMsprof,
                               .outputs = recordingOutputs(output_, perfetto_),
                               .xctrace_template = xctrace_template_,
                               .xctrace_limit_ns = xctrace_limit_.value_or(0),
                               .keep = keep_trace_,
                               .quiet = quiet_,
                               .force = force_},
                              session);
    }
    RecordingRequest request;
    request.outputs = recordingOutputs(
        per_host_ ? withHostName(output_.empty() ? "trace.sbt" : output_) : output_, perfetto_);
    request.quiet = quiet_;
    request.progress = progress_;
    request.studio = studio_;
    request.flight = flight_;
    ProfileOptions& profile = request.profile;
    if (buffer_) profile.ring_bytes = *buffer_;
    profile.overflow = overflow_ == "drop" ? OverflowPolicy::DropNewest : OverflowPolicy::Block;
    if (inject_ == "layer") profile.injection = Injection::kLayer;
    if (inject_ == "preload") profile.injection = Injection::kPreload;
    profile.wait_for_descendants = wait_ != "primary";
    if (!addStacks(profile)) return kExitNotStarted;
    if (const std::string problem = system_.problem(); !problem.empty()) {
      say("profile: " + problem);
      return kExitNotStarted;
    }
    system_.addTo(profile);
    if (xray_min_ && !xray_) {
      say("profile: --xray-min needs --xray");
      return kExitNotStarted;
    }
    profile.force = force_;
    profile.sync_with = sync_with_;
    profile.unified_memory = unified_memory_;
    profile.cuda_calls = cuda_calls_;
    profile.cuda_latency = cuda_latency_;
    profile.whole_cuda_graphs = cuda_graphs_ == "graph";
    profile.mpi = mpi_;
    profile.per_host = per_host_;
    if (nccl_ == "none") profile.nccl = NcclEvents::kNone;
    if (nccl_ == "light") profile.nccl = NcclEvents::kLight;
    if (nccl_ == "full") profile.nccl = NcclEvents::kFull;
    if (xray_) profile.functions.emplace().shortest_ns = xray_min_.value_or(0);
    if (record_) {
      RecordOptions& recording = profile.record.emplace();
      if (record_buffer_) recording.ring_bytes = *record_buffer_;
      recording.keep_outputs = keep_outputs_;
      recording.launch_hashes = launch_hashes_;
      if (!range_.empty()) {
        auto range = parseRecordRange(range_, monotonicNs());
        if (!range) {
          sayError(range.error());
          return kExitNotStarted;
        }
        recording.range = *range;
      }
    }
    return runRecording(std::move(request), session);
  }

 private:
  /// Options that do not go together; nullptr: none.
  const char* problemOfOptions() const {
    if (keep_trace_ && !nsys_ && !xctrace_ && !mctracer_ && !msprof_) {
      return "profile: --keep-trace needs another tool: --nsys, --xctrace, --mctracer or --msprof";
    }
    if (per_host_ && studio_) return "profile: --per-host and --studio exclude each other";
    if (flight_.window_ns && studio_) {
      return "profile: --flight-recorder and --studio exclude each other";
    }
    if (flight_.window_ns && record_) {
      return "profile: --flight-recorder and --record exclude each other: a recording for replay "
             "needs all commands";
    }
    if (per_host_ && system_.is_wanted) {
      return "profile: --per-host and --system exclude each other: only the first rank's "
             "processors "
             "would be recorded; without --per-host, each rank has a trace of its own";
    }
    if (flight_.window_ns && system_.is_wanted) {
      return "profile: --flight-recorder and --system exclude each other in this version";
    }
    if (per_host_ && (output_ == "-" || output_.ends_with('/'))) {
      return "profile: --per-host needs the name of a file, to which it adds the host's";
    }
    return nullptr;
  }
  /// False: the options contradict each other, which was said.
  bool addStacks(ProfileOptions& profile) const {
    if (max_depth_ && stacks_.empty()) {
      say("profile: --max-depth needs --stacks");
      return false;
    }
    if (!stacks_.empty()) {
      StackOptions& stacks = profile.stacks.emplace();
      stacks.frames = stacks_;
      if (max_depth_) {
        if (*max_depth_ < 1 || *max_depth_ > StackOptions::kMostDepth) {
          say(fmt::format("profile: --max-depth must be 1 to {}", StackOptions::kMostDepth));
          return false;
        }
        stacks.max_depth = static_cast<uint32_t>(*max_depth_);
      }
    }
    return true;
  }

  std::string output_;
  std::vector<std::string> sync_with_;
  FlightRequest flight_;
  bool perfetto_ = false;
  bool studio_ = false;
  SystemRequest system_;
  bool xray_ = false;
  bool mpi_ = false;
  std::string nccl_;
  bool per_host_ = false;
  bool unified_memory_ = false;
  bool cuda_calls_ = false;
  bool cuda_latency_ = false;
  std::string cuda_graphs_ = "node";
  std::optional<int64_t> xray_min_;
  std::optional<uint64_t> buffer_;
  std::string overflow_ = "block";
  std::string inject_ = "auto";
  std::string wait_ = "all";
  bool progress_ = false;
  bool quiet_ = false;
  bool force_ = false;
  bool record_ = false;
  std::string range_;
  bool keep_outputs_ = false;
  std::string stacks_;
  std::optional<uint64_t> max_depth_;
  bool launch_hashes_ = false;
  std::optional<uint64_t> record_buffer_;
  bool nsys_ = false;
  std::string nsys_args_;
  bool xctrace_ = false;
  std::string xctrace_template_;
  std::optional<int64_t> xctrace_limit_;
  bool mctracer_ = false;
  bool msprof_ = false;
  bool keep_trace_ = false;
};

}  // namespace

std::unique_ptr<Command> makeProfileCommand() { return std::make_unique<ProfileCommand>(); }

}  // namespace tracesmith::cli
