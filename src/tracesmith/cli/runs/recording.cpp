// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/runs/recording.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tracesmith/api/flight_follower.hpp"
#include "tracesmith/base/files/free_name.hpp"
#include "tracesmith/base/files/target_file.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/capture/launch/attach_session.hpp"
#include "tracesmith/capture/launch/program_eligibility.hpp"
#include "tracesmith/capture/session_directory/session_output.hpp"
#include "tracesmith/cli/runs/studio_beside.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/progress_line.hpp"
#include "tracesmith/export/formats/export_format.hpp"
#include "tracesmith/stacks/symbols/symbolized_file.hpp"

namespace tracesmith::cli {
namespace {

std::string plural(uint64_t n, const char* one, const char* many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

std::string progressText(const CaptureProgress& progress) {
  return fmt::format("{:.1f} s: {}, {} events, {} lost, {} KiB",
                     static_cast<double>(progress.elapsed_ns) / 1e9,
                     plural(progress.kernels, "kernel", "kernels"), progress.events,
                     progress.dropped, progress.file_bytes >> 10);
}

void sayOutcome(const ProfileOutcome& outcome, const RecordingRequest& request) {
  const RecordingOutputs& outputs = request.outputs;
  say(recordingSummary(outcome));
  if (outcome.dropped > 0 || outcome.unresolved > 0) {
    const uint64_t larger = std::max<uint64_t>(request.profile.ring_bytes * 4, 64 << 10);
    say(fmt::format(
        "lost: {} dropped, {} whose end was not seen{}", outcome.dropped, outcome.unresolved,
        outcome.dropped == outcome.without_ring ? ""
        : larger % (1 << 20) == 0 ? fmt::format(" (larger rings: -b {}M)", larger >> 20)
                                  : fmt::format(" (larger rings: -b {}K)", larger >> 10)));
  }
  if (outcome.gpu_processes == 0 && outcome.unobserved == 0 && outcome.warnings.empty() &&
      !request.profile.system && outcome.trace_status) {
    say("nothing was recorded: no process called OpenCL or CUDA. Try: tracesmith devices (what can "
        "be recorded here), tracesmith info " +
        outputs.trace + " (lists the processes)");
  }
  const uint64_t rows = outcome.kernels + outcome.copies + outcome.host_calls +
                        outcome.function_calls + outcome.annotations;
  if (outcome.gpu_processes > 0 && rows == 0 && outcome.warnings.empty() && outcome.trace_status) {
    say("nothing was recorded: the agent was in " +
        plural(outcome.gpu_processes, "process", "processes") +
        ", but none made a call that it records");
  }
  if (outcome.unobserved > 0) {
    say(fmt::format("{} may have used a GPU unseen (static, or without TraceSmith's environment)",
                    plural(outcome.unobserved, "process", "processes")));
  }
  if (outcome.recording) say(recordingText(*outcome.recording));
  const auto& flight = request.profile.flight;
  // Statistics are those of GPUs.
  const bool has_samples_only = rows == 0 && outcome.cpu_samples > 0;
  const std::string next = has_samples_only
                               ? fmt::format("export {} --by cpu-time -o cpu.svg", outputs.trace)
                               : fmt::format("view {} --stats", outputs.trace);
  say(fmt::format("{} ({:.1f} KiB){}. Next: tracesmith {}", outputs.trace,
                  static_cast<double>(outcome.file_bytes) / 1024,
                  flight ? fmt::format(": the last {:g} s", flight->window_ns / 1e9) : "", next));
}

bool hasStacks(const ProfileOptions& profile) {
  return profile.stacks.has_value() || profile.system.has_value();
}

/// Adds function names to the trace. Done now, because the program no longer waits for it.
void nameStacks(const std::string& trace) {
  if (!Symbolizer::isAvailable()) return;
  const Result<SymbolizedFile> named = symbolizeFile(trace, "", {});
  if (!named) sayWarning("the call stacks have no names: " + named.error().toString());
}

/// Warnings, and what could not be written.
void sayProblems(const ProfileOutcome& outcome) {
  for (const std::string& warning : outcome.warnings) sayWarning(warning);
  if (!outcome.trace_status) {
    Error error = outcome.trace_status.error();
    error.message = "the trace is not complete: " + error.message;
    sayError(error);
  }
  if (!outcome.recording_status) {
    Error error = outcome.recording_status.error();
    error.message = "the recording is not complete: " + error.message;
    sayError(error);
  }
  if (outcome.recording) {
    for (const std::string& why : outcome.recording->ended) {
      sayWarning("the recording ended early: " + why);
    }
  }
}

/// Checks the options of a flight recorder. `slow_step`: 0 if no step is to be slow.
Status readFlight(RecordingRequest& request, double& slow_step) {
  const FlightRequest& flight = request.flight;
  if (!flight.window_ns) {
    if (!flight.most_saved && flight.slow_step.empty()) return {};
    return fail(ErrorCode::kInvalidArgument,
                "--trigger-step and --trigger-most need --flight-recorder");
  }
  constexpr int64_t kLeastNs = 100'000'000, kMostNs = int64_t{24} * 3600 * 1'000'000'000;
  if (*flight.window_ns < kLeastNs || *flight.window_ns > kMostNs) {
    return fail(ErrorCode::kInvalidArgument, "--flight-recorder must be 100ms to 24 hours (1440m)");
  }
  if (!flight.slow_step.empty()) {
    const char* const end = flight.slow_step.c_str() + flight.slow_step.size();
    char* read = nullptr;
    slow_step = std::strtod(flight.slow_step.c_str(), &read);
    if (read != end || !(slow_step > 1 && slow_step <= 1e6)) {
      return fail(ErrorCode::kInvalidArgument,
                  "--trigger-step must be a factor above 1, for example 3");
    }
  }
  constexpr uint64_t kMostSaved = 1'000'000;
  FlightOptions& options = request.profile.flight.emplace();
  options.window_ns = *flight.window_ns;
  if (flight.most_saved) {
    options.most_saved = static_cast<uint32_t>(std::min(*flight.most_saved, kMostSaved));
  }
  return {};
}

/// Writes the summary of all events, and says what was saved.
void finishFlight(const ProfileOutcome& outcome, const RecordingRequest& request,
                  FlightFollower& follower) {
  for (const SavedWindow& saved : outcome.saved_windows) {
    if (!saved.status) {
      sayWarning(fmt::format("the window was not saved ({}): {}", saved.reason,
                             saved.status.error().toString()));
      continue;
    }
    if (hasStacks(request.profile)) nameStacks(saved.path);
    if (!request.quiet) say(fmt::format("{}: saved ({})", saved.path, saved.reason));
  }
  if (outcome.unsaved_windows > 0) {
    sayWarning(fmt::format(
        "{} after the window had been saved {} times: not saved "
        "(--trigger-most)",
        plural(outcome.unsaved_windows, "reason", "reasons"), request.profile.flight->most_saved));
  }
  if (!outcome.trace_status) return;
  if (const Status written = follower.writeSummary(request.outputs.trace); !written) {
    sayWarning("there is no summary of all events: " + written.error().toString());
  } else if (follower.lostParts() > 0) {
    sayWarning(fmt::format(
        "{}.summary lacks events: {} could not be summarized in time, or read",
        request.outputs.trace,
        plural(follower.lostParts(), "part of the recording", "parts of the recording")));
  } else if (!request.quiet) {
    say(fmt::format("{}.summary: all events since the start. Show it: tracesmith fleet {}",
                    request.outputs.trace, request.outputs.trace));
  }
}

}  // namespace

void takeTraceName(const std::string& trace, RecordingOutputs& outputs) {
  const bool beside =
      std::filesystem::path(trace).filename() != std::filesystem::path(outputs.trace).filename();
  if (trace.empty() || !beside) return;
  outputs.trace = std::filesystem::path(outputs.trace)
                      .replace_filename(std::filesystem::path(trace).filename())
                      .string();
  if (std::error_code ec; !std::filesystem::exists(outputs.trace, ec)) outputs.trace = trace;
  for (std::string& path : outputs.exports) {
    const std::string same_number =
        withExtension(outputs.trace, std::filesystem::path(path).extension().string());
    path = isThere(same_number) ? freeName(path) : same_number;
  }
}

bool writeExports(const RecordingOutputs& outputs, bool force, bool quiet) {
  const bool may_replace = force || inspectFile(outputs.trace).has_events;
  bool all = true;
  for (const std::string& wanted : outputs.exports) {
    std::error_code ec;
    const bool has_content = std::filesystem::file_size(wanted, ec) > 0 && !ec;
    const std::string path = may_replace || !has_content ? wanted : freeName(wanted);
    if (path != wanted) {
      sayWarning(
          fmt::format("{} stays as it was, since the new trace holds no events; its export "
                      "is {} (--force replaces it)",
                      wanted, path));
    }
    if (const Status exported = exportTraceFile(outputs.trace, path); !exported) {
      sayError(exported.error());
      all = false;
    } else if (!quiet) {
      say(fmt::format("{}: open it at https://ui.perfetto.dev", path));
    }
  }
  return all;
}

RecordingOutputs recordingOutputs(const std::string& output, bool perfetto) {
  RecordingOutputs outputs;
  if (!output.empty()) {
    const std::optional<ExportFormat> format = exportFormatByPath(output);
    if (format && *format != ExportFormat::kSbt && *format != ExportFormat::kParquet) {
      outputs.trace = withExtension(output, ".sbt");
      outputs.exports.push_back(output);
    } else {
      outputs.trace = output;
    }
  }
  if (perfetto) {
    const std::string path = withExtension(outputs.trace, extensionOf(ExportFormat::kPerfetto));
    if (outputs.exports.empty() || outputs.exports[0] != path) outputs.exports.push_back(path);
  }
  return outputs;
}

Status checkOutputs(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) TS_CHECK_OK(TargetFile::open(path));
  return {};
}

std::string recordingSummary(const ProfileOutcome& outcome) {
  std::string calls = plural(outcome.host_calls, "host call", "host calls");
  if (outcome.function_calls > 0) {
    calls += ", " + plural(outcome.function_calls, "function call", "function calls");
  }
  if (outcome.annotations > 0) {
    calls += ", " + plural(outcome.annotations, "range or mark", "ranges and marks");
  }
  if (outcome.cpu_samples > 0) {
    calls += ", " + plural(outcome.cpu_samples, "processor sample", "processor samples");
  }
  return fmt::format("{}, {}, {} from {} of {}", plural(outcome.kernels, "kernel", "kernels"),
                     plural(outcome.copies, "copy", "copies"), calls, outcome.gpu_processes,
                     plural(outcome.processes, "process", "processes"));
}

std::string recordingText(const RecordingTotals& totals) {
  if (totals.processes == 0) return "nothing was recorded for replay: no process used OpenCL";
  // The program may also launch outside the recorded range.
  const std::string launches = totals.recorded_launches < totals.launches
                                   ? fmt::format("{} of {}", totals.recorded_launches,
                                                 plural(totals.launches, "launch", "launches"))
                                   : plural(totals.launches, "launch", "launches");
  std::string text = fmt::format(
      "recorded {} of {}: {}, {} of content ({} distinct) in {} ({})",
      plural(totals.commands, "command", "commands"),
      plural(totals.processes, "process", "processes"), launches, formatBytes(totals.payload_bytes),
      formatBytes(totals.distinct_bytes), totals.path, formatBytes(totals.file_bytes));
  if (totals.stall_ns > 0) {
    text += fmt::format("; the program waited {:.1f} ms for it",
                        static_cast<double>(totals.stall_ns) / 1e6);
  }
  return text;
}

int endBySignal(int signal) {
  // The program has written its own core file if one is wanted; a core file of this process would
  // hide it.
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_DUMPABLE, 0);  // a core_pattern with a pipe ignores the limit
  ::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  raise(signal);
  return 128 + signal;
}

void warnOfStaticProgram(const std::string& program) {
  if (const ProgramEligibility eligibility = checkEligibility(program);
      eligibility.eligibility == Eligibility::kStatic) {
    sayWarning(eligibility.path +
               " is linked statically: it cannot be recorded, only the programs that it "
               "starts");
  }
}

std::string SystemRequest::problem() const {
  if (samples_per_second.value_or(0) <= kMostSamplesPerSecond) return {};
  return fmt::format("--sample-rate must be at most {}", kMostSamplesPerSecond);
}

void SystemRequest::addTo(ProfileOptions& profile) const {
  if (!is_wanted) return;
  profile.system.emplace();
  if (samples_per_second) {
    profile.system->samples_per_second = static_cast<uint32_t>(*samples_per_second);
  }
}

int runRecording(RecordingRequest request, const Session& session) {
  if (const Status ok = checkOutputs(request.outputs.exports); !ok) {
    sayError(ok.error());
    return request.pid != 0 ? kExitFailed : kExitNotStarted;
  }
  double slow_step = 0;
  if (const Status ok = readFlight(request, slow_step); !ok) {
    sayError(ok.error());
    return request.pid != 0 ? kExitUsage : kExitNotStarted;
  }
  FlightFollower follower(slow_step);
  if (request.profile.flight) request.profile.flight->observer = &follower;
  request.profile.command = session.program;
  request.profile.output = request.outputs.trace;
  ProgressLine line(request.progress && session.terminal.err_is_terminal);
  if (request.progress) {
    request.profile.progress = [&line](const CaptureProgress& progress) {
      line.show(progressText(progress));
    };
  }
  std::optional<StudioBeside> studio;
  if (request.studio) studio.emplace(request.outputs.trace);
  if (request.pid == 0) warnOfStaticProgram(session.program[0]);
  const auto note = [&line](const std::string& text) {
    line.clear();
    say(text);
  };
  const Result<ProfileOutcome> outcome = request.pid == 0
                                             ? runProfile(request.profile)
                                             : runAttach(request.pid, request.profile, note);
  if (!outcome) {
    sayError(outcome.error());
    if (request.pid != 0) return kExitFailed;
    // A missing output directory is "not found" as well, but it is not the program.
    const bool is_the_program = outcome.error().where == session.program[0];
    return is_the_program ? startFailureExitCode(outcome.error().code) : kExitNotStarted;
  }
  // The program has ended. From here on a closed standard error must not hide its exit code.
  signal(SIGPIPE, SIG_IGN);
  line.clear();
  sayProblems(*outcome);
  takeTraceName(outcome->trace, request.outputs);
  if (hasStacks(request.profile) && outcome->trace_status) nameStacks(request.outputs.trace);
  if (request.profile.flight) finishFlight(*outcome, request, follower);
  if (!request.quiet) sayOutcome(*outcome, request);
  if (studio && request.outputs.trace == request.profile.output) studio->wait();
  studio.reset();
  const bool exported = writeExports(request.outputs, request.profile.force, request.quiet);
  // Pass on the program's exit code, even if recording failed.
  if (request.pid != 0) return outcome->trace_status && exported ? kExitOk : kExitFailed;
  if (outcome->stopped_by_duration) return exported ? kExitOk : kExitFailed;
  if (outcome->signal != 0) return endBySignal(outcome->signal);
  return outcome->exit_code;
}

}  // namespace tracesmith::cli
