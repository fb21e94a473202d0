// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/launch/session_report.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <map>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/linux/clock_identity.hpp"
#include "tracesmith/base/version.hpp"
#include "tracesmith/capture/system/system_recorder.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {

Status checkRoomForArena(const SessionDir& dir, uint64_t ring_bytes) {
  const uint64_t bytes =
      arena::dataOffset(arena::kRingsPerArena) + arena::kRingsPerArena * std::bit_ceil(ring_bytes);
  constexpr const char* kProbe = "probe.new";
  TS_TRY(const int fd, dir.files().createFile(kProbe));
  const int error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  close(fd);
  dir.files().removeFile(kProbe);
  if (error == 0) return {};
  return failErrno(error,
                   "no space for the rings of a process (" + std::to_string(bytes >> 10) +
                       " KiB; smaller rings: -b BYTES)",
                   dir.path());
}

void noteHost(Collector& collector, const std::string& command_line) {
  utsname u{};
  if (uname(&u) == 0) {
    collector.noteMetadata("hostname", u.nodename);
    collector.noteMetadata("os", std::string(u.sysname) + " " + u.release + " " + u.machine);
  }
  collector.noteMetadata("clock_id", ownClock().text());
  collector.noteMetadata("producer", "TraceSmith " + getVersionString());
  collector.noteMetadata("command_line", command_line);
  collector.noteMetadata("start_realtime_ns", std::to_string(clockNs(CLOCK_REALTIME)));
  collector.noteMetadata("start_monotonic_ns", std::to_string(monotonicNs()));
  collector.noteMetadata("start_boottime_ns", std::to_string(clockNs(CLOCK_BOOTTIME)));
}

void noteSystem(Collector& collector, const SystemRecorder& system, const SystemOptions& options) {
  const auto recordedOr = [](const std::string& why_not) {
    return why_not.empty() ? std::string("recorded") : why_not;
  };
  const bool has_kernel = perfRights() == PerfRights::kUserAndKernel;
  std::string counters;
  for (const PerfCounter& counter : system.counters()) {
    counters += (counters.empty() ? "" : ", ") + std::string(counter.name);
  }
  collector.noteMetadata("system_rights", has_kernel ? "user and kernel" : "user");
  collector.noteMetadata("samples_per_second", std::to_string(options.samples_per_second));
  collector.noteMetadata("system_calls", recordedOr(system.whyNoCalls()));
  collector.noteMetadata("system_python", recordedOr(system.whyNoPython()));
  collector.noteMetadata("system_counters", counters.empty() ? "none" : counters);
}

void warnOfPeers(const PeerClocks* peers, ProfileOutcome& outcome) {
  if (peers == nullptr) return;
  for (std::string& problem : peers->problems()) outcome.warnings.push_back(std::move(problem));
}

CaptureProgress progressOf(const Collector& collector, int64_t elapsed_ns) {
  const SharedRows& rows = collector.rows();
  return {
      elapsed_ns,    rows.kernels, rows.events, collector.totals().dropped, collector.fileBytes(),
      rows.processes};
}

void warnOfUnrecorded(const SessionDir& dir, ProfileOutcome& outcome) {
  std::map<std::pair<arena::ArmStep, int>, std::vector<uint32_t>> by_error;
  for (const SessionDir::Unrecorded& u : dir.unrecorded()) {
    by_error[{u.step, u.error}].push_back(u.pid);
  }
  for (const auto& [failure, pids] : by_error) {
    const auto& [step, error] = failure;
    const std::string more =
        pids.size() > 1 ? fmt::format(" and {} more", pids.size() - 1) : std::string();
    const bool of_directory = step == arena::ArmStep::kDirectory || step == arena::ArmStep::kFile;
    outcome.warnings.push_back(
        fmt::format("process {}{} could not {}{} ({}), so {}; {}", pids.front(), more,
                    arena::failureOf(step), of_directory ? " " + dir.path() : std::string(),
                    std::strerror(error), arena::consequenceOf(step), arena::adviceOn(step)));
  }
}

void noteUnchanneled(const SessionDir& dir, RecordingTotals& totals) {
  for (const SessionDir::Unrecorded& u : dir.unchanneled()) {
    const bool is_out_of_space =
        u.step == arena::ArmStep::kUnknown || u.step == arena::ArmStep::kRoom;
    totals.ended.push_back(fmt::format(
        "process {} could not {} ({}); {}", u.pid,
        is_out_of_space ? "make its channel" : arena::failureOf(u.step), std::strerror(u.error),
        u.step == arena::ArmStep::kDamaged ? arena::adviceOn(u.step)
                                           : "a smaller channel: --record-buffer BYTES"));
  }
}

void takeTotals(const Collector& collector, const SessionDir& dir, ProfileOutcome& outcome) {
  const CollectorTotals totals = collector.totals();
  const SharedRows& rows = collector.rows();
  outcome.kernels = rows.kernels;
  outcome.copies = rows.copies;
  outcome.host_calls = rows.host_calls;
  outcome.function_calls = collector.functionCalls();
  outcome.annotations = collector.annotations();
  outcome.cpu_samples = collector.cpuSamples();
  for (const std::string& problem : collector.agentProblems()) outcome.warnings.push_back(problem);
  if (totals.without_ring > 0) {
    outcome.warnings.push_back(
        fmt::format("{} calls came from threads that could get no ring: {} had no space, or a "
                    "process had more than {} threads at once; smaller rings: -b BYTES",
                    totals.without_ring, dir.path(), arena::mostRings()));
  }
  if (totals.command_buffers > 0) {
    outcome.warnings.push_back(
        fmt::format("{} command buffers were enqueued (cl_khr_command_buffer), whose commands are "
                    "not recorded: their kernels are missing in the trace",
                    totals.command_buffers));
  }
  if (collector.systemLost() > 0) {
    outcome.warnings.push_back(fmt::format(
        "{} records of processors were lost: they came faster than they could be read; fewer "
        "samples: --sample-rate N",
        collector.systemLost()));
  }
  if (const FlightWindow* window = collector.window()) {
    outcome.saved_windows = window->saved();
    outcome.unsaved_windows = window->ignoredReasons();
    if (!window->problem().empty()) outcome.warnings.push_back(window->problem());
  }
  outcome.dropped = totals.dropped;
  outcome.without_ring = totals.without_ring;
  outcome.unresolved = totals.unresolved;
  outcome.processes = rows.processes;
  outcome.gpu_processes = collector.agentProcesses();
  outcome.file_bytes = collector.fileBytes();
}

namespace {

void countFileContents(const std::string& path, ProfileOutcome& outcome) {
  const bool functions = outcome.function_calls > 0;
  outcome.kernels = outcome.copies = outcome.host_calls = outcome.function_calls = 0;
  outcome.annotations = outcome.cpu_samples = 0;
  const auto reader = TraceReader::open(path);
  if (!reader) return;
  for (const BlockInfo& block : reader->blocks()) {
    if (block.table == TableId::kKernel) outcome.kernels += block.rows;
    if (block.table == TableId::kCopy) outcome.copies += block.rows;
    if (block.table == TableId::kHostCall) outcome.host_calls += block.rows;
    if (block.table == TableId::kCpuSample) outcome.cpu_samples += block.rows;
    if (block.table == TableId::kRange) {
      (functions ? outcome.function_calls : outcome.annotations) += block.rows;
    }
  }
}

}  // namespace

void takePublished(const Collector& collector, ProfileOutcome& outcome) {
  const Published& published = collector.published();
  outcome.trace = published.trace.empty() ? collector.tracePath() : published.trace;
  if (!published.note.empty()) outcome.warnings.push_back(published.note);
  if (outcome.recording && !published.recording.empty()) {
    outcome.recording->path = published.recording;
  }
  if (!outcome.trace_status) countFileContents(outcome.trace, outcome);
}

}  // namespace tracesmith
