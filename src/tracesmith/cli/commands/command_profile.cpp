// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "tracesmith/base/clock.hpp"
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
    text("-o,--output", output_, "FILE",
         "Where the trace goes; a name that ends in .json, .perfetto, .perfetto-trace or .pftrace "
         "is "
         "exported to, and the trace lies beside it as .sbt (default: trace.sbt)",
         Complete::kFile);
    flag("--perfetto", perfetto_, "Also export for ui.perfetto.dev, as .pftrace beside the trace");
    // What concerns our own agents, and means nothing to another tool.
    const std::array of_agents = {
        size("-b,--buffer", buffer_, "Ring of each thread of the program (default: 4M)"),
        choice("--overflow", overflow_, "POLICY", {"block", "drop"},
               "A full ring makes the program wait, or drops and counts (default: block)"),
        choice("--inject", inject_, "HOW", {"auto", "layer", "preload"},
               "How the agent enters the program (default: auto)"),
        choice("--wait", wait_, "WHOM", {"all", "primary"},
               "Go on until every recorded process has ended, or only until the program itself has "
               "(default: all)"),
        flagWithChoice("--stacks", stacks_, "both", {"native", "python", "both"},
                       "Record the host call stack of every call: --stacks, or --stacks=native, "
                       "--stacks=python, --stacks=both for a part"),
        count("--max-depth", max_depth_, "N",
              "Frames of a stack that are kept, from the innermost on (default 128, at most 512)"),
        flag("--xray", xray_,
             "Record each call of the program's own functions, where clang built it with "
             "-fxray-instrument"),
        time("--xray-min", xray_min_, "Leave out calls of functions that are shorter, as 10us"),
        flag(
            "--unified-memory", unified_memory_,
            "Record page faults and migrations of managed memory (CUDA; slows such programs down)"),
        flag("--cuda-calls", cuda_calls_,
             "Record all calls of CUDA's runtime and driver, not only those that launch, copy, "
             "set, allocate or wait"),
        flag("--cuda-latency", cuda_latency_,
             "Record when CUDA's kernels were queued and submitted (makes each launch dearer)"),
        choice(
            "--cuda-graphs", cuda_graphs_, "HOW", {"node", "graph"},
            "Record each kernel of a CUDA graph, or each launch of a graph as one piece of work, "
            "which costs the program less (default: node)"),
        flag("--progress", progress_, "Show live figures when standard error is a terminal"),
    };
    const Option record =
        flag("--record", record_,
             "Also record what 'tracesmith replay' needs, beside the trace as .sbr (OpenCL)");
    const std::array of_recording = {
        text("--range", range_, "RANGE",
             "Record a part: time:1.2s-1.5s, launch:100-200, kernel:REGEX, step:3 or trigger"),
        flag("--keep-outputs", keep_outputs_,
             "Keep the bytes that the program reads back, not their hashes alone"),
        flag("--launch-hashes", launch_hashes_,
             "Hash the memory that a kernel was given after each launch (slow: it waits for each)"),
        size("--record-buffer", record_buffer_,
             "Ring between a process and its recording (default: 64M)"),
    };
    for (const Option option : of_recording) option.needs(record);
    flag("--force", force_,
         "Let a trace without events replace one that has events, or a file that is no trace; "
         "without it both are kept, and the new one is called OUTPUT-2.sbt");
    flag("-q,--quiet", quiet_, "No summary at the end; only warnings and errors");
    const Option nsys =
        flag("--nsys", nsys_,
             "Record with NVIDIA Nsight Systems, which must be on PATH, and import what it wrote");
    for (const Option option : of_agents) nsys.excludes(option);
    nsys.excludes(record);
    text("--nsys-args", nsys_args_, "ARGS",
         "More options for 'nsys profile', as one word that is split as a shell does")
        .needs(nsys);
    const Option xctrace =
        flag("--xctrace", xctrace_,
             "Record with Apple's Instruments, and import what it wrote (experimental)");
    text("--xctrace-template", xctrace_template_, "NAME",
         "Template of Instruments (default: Metal System Trace)")
        .needs(xctrace);
    time("--xctrace-time-limit", xctrace_limit_, "Let Instruments end the recording after so long")
        .needs(xctrace);
    const Option mctracer =
        flag("--mctracer", mctracer_, "Record with MetaX's mcTracer, and import it (experimental)");
    const Option msprof =
        flag("--msprof", msprof_, "Record with Ascend's msprof, and import it (experimental)");
    for (const Option tool : {xctrace, mctracer, msprof}) {
      for (const Option option : of_agents) tool.excludes(option);
      tool.excludes(nsys).excludes(record);
    }
    mctracer.excludes(xctrace);
    msprof.excludes(xctrace).excludes(mctracer);
    flag("--keep-trace,--keep-nsys", keep_trace_,
         "Keep what the other tool wrote, beside the trace");
    takeProgram(true);
    setUsageExitCode(kExitNotStarted);
    describe(
        "The program runs as if it had been started directly: its standard streams, working "
        "directory, signals and exit code are its own. Ctrl-C stops it and leaves a complete "
        "trace. "
        "When the program cannot be started the exit code is 127 (not found), 126 (not "
        "executable) "
        "or 125 (anything else, errors in the options included).");
    describe(
        "If this command itself is killed, the records are still in the directory beside the "
        "output "
        "(trace.sbt.session); 'tracesmith recover' finishes the trace.");
    describe(
        "A trace that has events, and a file that is no trace, is only replaced by a complete "
        "trace that has events. Otherwise it stays, and the new trace is called trace-2.sbt (or "
        "the next free number); --force replaces it all the same. The recording (.sbr) of a trace "
        "that is replaced gives its place to a new recording that holds commands. Without one it "
        "is called trace.old.sbr.");
    example("tracesmith profile -- ./my_gpu_program --size 512", "Record a program into trace.sbt");
    example("tracesmith profile -o run1.sbt --perfetto -- python3 train.py",
            "Choose the file, and also make one for ui.perfetto.dev");
    example("tracesmith profile --nsys --nsys-args '--trace=cuda,nvtx' -- python3 train.py",
            "Record CUDA with Nsight Systems");
    example("tracesmith profile --record --range launch:100-200 -- ./my_gpu_program",
            "Record 101 launches and the memory they begin with, to replay them");
    example("tracesmith profile -o run1.json -- ./my_gpu_program", "Export to JSON straight away");
  }

  int run(Session& session) override {
    if (session.program.empty()) {
      say("profile: which program? for example: tracesmith profile -- ./my_gpu_program");
      return kExitNotStarted;
    }
    if (keep_trace_ && !nsys_ && !xctrace_ && !mctracer_ && !msprof_) {
      say("profile: --keep-trace needs another tool: --nsys, --xctrace, --mctracer or --msprof");
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
    request.outputs = recordingOutputs(output_, perfetto_);
    request.quiet = quiet_;
    request.progress = progress_;
    ProfileOptions& profile = request.profile;
    if (buffer_) profile.ring_bytes = *buffer_;
    profile.overflow = overflow_ == "drop" ? OverflowPolicy::DropNewest : OverflowPolicy::Block;
    if (inject_ == "layer") profile.injection = Injection::kLayer;
    if (inject_ == "preload") profile.injection = Injection::kPreload;
    profile.wait_for_descendants = wait_ != "primary";
    if (max_depth_ && stacks_.empty()) {
      say("profile: --max-depth is about --stacks, which is not given");
      return kExitNotStarted;
    }
    if (!stacks_.empty()) {
      StackOptions& stacks = profile.stacks.emplace();
      stacks.frames = stacks_;
      if (max_depth_) {
        if (*max_depth_ < 1 || *max_depth_ > StackOptions::kMostDepth) {
          say(fmt::format("profile: --max-depth is 1 to {}", StackOptions::kMostDepth));
          return kExitNotStarted;
        }
        stacks.max_depth = static_cast<uint32_t>(*max_depth_);
      }
    }
    if (xray_min_ && !xray_) {
      say("profile: --xray-min is about --xray, which is not given");
      return kExitNotStarted;
    }
    profile.force = force_;
    profile.unified_memory = unified_memory_;
    profile.cuda_calls = cuda_calls_;
    profile.cuda_latency = cuda_latency_;
    profile.whole_cuda_graphs = cuda_graphs_ == "graph";
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
  std::string output_;
  bool perfetto_ = false;
  bool xray_ = false;
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
