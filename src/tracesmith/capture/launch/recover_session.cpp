// SPDX-License-Identifier: Apache-2.0
// Implements `tracesmith recover`.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <thread>
#include <utility>

#include "tracesmith/base/files/file_identity.hpp"
#include "tracesmith/base/files/output_place.hpp"
#include "tracesmith/capture/collect/collector.hpp"
#include "tracesmith/capture/launch/profile_session.hpp"
#include "tracesmith/capture/launch/session_report.hpp"
#include "tracesmith/capture/processes/launcher.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/capture/session_directory/session_directory.hpp"
#include "tracesmith/capture/session_directory/session_output.hpp"
#include "tracesmith/capture/session_directory/unread_records.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {
namespace {

using Kind = ExistingFile::Kind;

bool isNothing(const ExistingFile& o) { return o.kind == Kind::kNothing || o.kind == Kind::kEmpty; }

tl::unexpected<Error> notOurs(const SessionDir& dir, const std::string& path,
                              const ExistingFile& found) {
  const std::string id =
      dir.info().id.empty() ? "(from an older version, without an id)" : dir.info().id;
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("is {}, and not of session {}, so it is left alone. Move it away, or rename "
                  "{} to another name and .session, and run `tracesmith recover` again",
                  found.text, id, dir.path()),
      path);
}

uint64_t kernelsIn(const std::string& path) {
  const auto reader = TraceReader::open(path);
  return reader ? reader->rows(TableId::kKernel) : 0;
}

/// Links a file outside the session directory into it, or copies it there.
Status adopt(const SessionDir& dir, const std::string& from, const std::string& to) {
  dir.files().removeFile(std::filesystem::path(to).filename().string());
  if (link(from.c_str(), to.c_str()) == 0) return {};
  std::error_code ec;
  std::filesystem::copy_file(from, to, ec);
  if (!ec) return {};
  return fail(ErrorCode::kIo, "cannot copy it into the session directory: " + ec.message(), from);
}

/// For older versions, whose traces have no id. True when the processes of all arenas are in the
/// trace and something identifies it as this session's.
bool matchesArenas(const SessionDir& dir, const std::string& path) {
  auto reader = TraceReader::open(path);
  if (!reader) return false;
  const auto trace = reader->read({.tables = {TableId::kProcess}});
  if (!trace) return false;
  std::set<std::pair<uint32_t, uint64_t>> known;
  for (size_t i = 0; i < trace->process.size(); ++i) {
    known.emplace(trace->process.pid[i], trace->process.start_ticks[i]);
  }
  size_t matched = 0;
  for (const std::string& arena_path : dir.arenas()) {
    const auto file = ArenaFile::open(arena_path, dir.files().fd());
    if (!file) continue;
    const arena::ArenaHeader& h = file->header();
    const uint32_t seen = h.seen_pid.load(std::memory_order_relaxed);
    const bool is = known.count({seen != 0 ? seen : h.pid, h.start_ticks}) > 0;
    bool committed = false;
    for (uint32_t i = 0; i < file->ringCount(); ++i) {
      committed = committed || file->ring(i).tail.load(std::memory_order_acquire) != 0;
    }
    if (committed && !is) return false;
    matched += is ? 1 : 0;
  }
  return matched > 0 || (!dir.info().command_line.empty() &&
                         trace->metadataValue("command_line") == dir.info().command_line);
}

/// The same for a recording: the processes of all channels that were read are in it.
bool matchesChannels(const SessionDir& dir, const std::string& path) {
  const auto reader = RecordingReader::open(path);
  if (!reader) return false;
  std::set<std::pair<uint32_t, uint64_t>> known;
  for (const recording::Process& p : reader->processes()) known.emplace(p.pid, p.start_ticks);
  size_t matched = 0;
  for (const std::string& channel_path : dir.channels()) {
    const auto file = ChannelFile::open(channel_path, dir.files().fd());
    if (!file) continue;
    const bool is = known.count({file->header().pid, file->header().start_ticks}) > 0;
    if (!is && file->header().tail.load() != 0) return false;
    matched += is ? 1 : 0;
  }
  return matched > 0;
}

bool hasReadChannels(const SessionDir& dir) {
  for (const std::string& path : dir.channels()) {
    const auto file = ChannelFile::open(path, dir.files().fd());
    if (file && file->header().tail.load() != 0) return true;
  }
  return false;
}

tl::unexpected<Error> traceIsGone(const SessionDir& dir, const std::string& path) {
  return fail(ErrorCode::kNotFound,
              "rows of this session were written there, and they are not there any more. Put the "
              "file back beside the session directory, and run `tracesmith recover " +
                  dir.path() + "` again; the session is kept",
              path);
}

/// Takes over the trace of an older version, which wrote to the output itself.
Status adoptOlderTrace(const SessionDir& dir) {
  const std::string& output = dir.info().output;
  const ExistingFile at_output = inspectFile(output);
  if (isNothing(at_output)) {
    if (hasCommittedRows(dir) || (dir.arenas().empty() && dir.channels().empty())) {
      return traceIsGone(dir, output);
    }
    return {};
  }
  if (at_output.kind != Kind::kTrace || !at_output.session_id.empty() ||
      !matchesArenas(dir, output)) {
    return notOurs(dir, output, at_output);
  }
  return adopt(dir, output, dir.tracePath());
}

Status adoptOlderRecording(const SessionDir& dir) {
  const std::string path = recording::recordingPathFor(dir.info().output);
  const ExistingFile found = inspectFile(path);
  if (isNothing(found)) {
    if (hasReadChannels(dir)) return traceIsGone(dir, path);
    return {};
  }
  if (matchesChannels(dir, path)) return adopt(dir, path, dir.recordingPath());
  // Without channels the owner is unknown, but nothing is written to the file either.
  return dir.channels().empty() ? Status{} : Status{notOurs(dir, path, found)};
}

/// Prevents that a finished trace of this session at the output is replaced by a partial one.
Status checkNotFinished(const SessionDir& dir, const std::string& target) {
  const ExistingFile own = inspectFile(dir.tracePath());
  const ExistingFile found = inspectFile(target);
  if (isNothing(own) || sameFile(dir.tracePath(), target) || !isOfSession(dir, own, found) ||
      !isFinishedElsewhere(own, found)) {
    return {};
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("is a finished trace of this session already, and {} is another one, "
                          "which may have fewer rows. Remove the session directory if you have all "
                          "you need, or move this trace away and run `tracesmith recover` again",
                          dir.tracePath()),
              target);
}

/// Fails when a file that is not of this session, and that it must not replace, exists at one of
/// its outputs.
Status checkOutputPaths(const SessionDir& dir) {
  const SessionInfo& info = dir.info();
  TS_TRY(const std::string target, checkedTarget(info.output));
  const auto check = [&](const std::string& path, const std::string& mine,
                         const std::string& replaced) -> Status {
    const ExistingFile found = inspectFile(path);
    const bool is_mine =
        found.kind == Kind::kTrace && ((!info.id.empty() && found.session_id == info.id) ||
                                       found.identity == inspectFile(mine).identity);
    const bool is_replaced = found.kind == Kind::kTrace && found.identity == replaced;
    if (isNothing(found) || is_mine || is_replaced) return {};
    return notOurs(dir, path, found);
  };
  TS_CHECK_OK(check(target, dir.tracePath(), info.replaces));
  TS_CHECK_OK(checkNotFinished(dir, target));
  const bool records =
      !dir.channels().empty() || inspectFile(dir.recordingPath()).kind != Kind::kNothing;
  if (!records) return {};
  const std::string beside = recording::recordingPathFor(info.output);
  TS_CHECK_OK(findOutputPlace(beside));
  return check(beside, dir.recordingPath(), info.replaces_recording);
}

/// Checks that the trace in the session directory has the committed rows.
Status checkTraceOf(const SessionDir& dir) {
  const ExistingFile own = inspectFile(dir.tracePath());
  if (own.kind == Kind::kOther) return notOurs(dir, dir.tracePath(), own);
  if (own.kind == Kind::kTrace && !own.session_id.empty() && own.session_id != dir.info().id) {
    return notOurs(dir, dir.tracePath(), own);
  }
  const ExistingFile out = inspectFile(dir.info().output);
  if (isNothing(own) && out.kind == Kind::kTrace && out.session_id == dir.info().id) {
    return adopt(dir, dir.info().output, dir.tracePath());  // keeps the file at the output, too
  }
  if (isNothing(own) && hasCommittedRows(dir)) return traceIsGone(dir, dir.tracePath());
  const bool no_recording = inspectFile(dir.recordingPath()).kind == Kind::kNothing;
  if (no_recording && hasReadChannels(dir)) return traceIsGone(dir, dir.recordingPath());
  return {};
}

/// The processes of this session that still write to it.
std::vector<uint32_t> findRunning(const SessionDir& dir) {
  std::set<uint32_t> running;
  if (dir.info().attached) return {};  // such processes stopped when the recorder died
  const auto look = [&](uint32_t pid, uint64_t start_ticks) {
    const auto stat = readProcessStat(pid);
    if (stat && stat->start_ticks == start_ticks && stat->runs()) running.insert(pid);
  };
  for (const std::string& path : dir.arenas()) {
    if (const auto file = ArenaFile::open(path, dir.files().fd())) {
      const uint32_t seen = file->header().seen_pid.load(std::memory_order_relaxed);
      look(seen != 0 ? seen : file->header().pid, file->header().start_ticks);
    }
  }
  for (const std::string& path : dir.channels()) {
    if (const auto file = ChannelFile::open(path, dir.files().fd())) {
      look(file->header().pid, file->header().start_ticks);
    }
  }
  return {running.begin(), running.end()};
}

/// The processes that still run after a while: a process killed just now takes some time to end.
std::vector<uint32_t> awaitRunning(const SessionDir& dir) {
  constexpr auto kPatience = std::chrono::seconds(2);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  std::vector<uint32_t> running = findRunning(dir);
  while (!running.empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    running = findRunning(dir);
  }
  return running;
}

tl::unexpected<Error> stillRuns(const SessionDir& dir, const std::vector<uint32_t>& running) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("process {} of this recording still runs, and what it does from now on "
                          "would be lost. Run `tracesmith recover {}` when it has ended, or take "
                          "what there is with --force",
                          fmt::join(running, ", "), dir.path()),
              dir.path());
}

RecoverOutcome nothingIn(SessionDir& dir, RecoverOutcome outcome) {
  unlinkUnfinishedTrace(dir);
  dir.remove();
  outcome.output.clear();
  outcome.warnings.push_back("the recording was killed before it began; there was nothing in " +
                             dir.path());
  return outcome;
}

}  // namespace

Result<RecoverOutcome> recoverSession(const std::string& session_dir, bool force) {
  const FileSizeSignalIgnored no_signal;
  TS_TRY(SessionDir dir, SessionDir::open(session_dir));
  const std::vector<uint32_t> running = force ? findRunning(dir) : awaitRunning(dir);
  if (!running.empty() && !force) return stillRuns(dir, running);
  RecoverOutcome outcome;
  outcome.output = dir.info().output;
  outcome.arenas = static_cast<uint32_t>(dir.arenas().size());
  outcome.channels = static_cast<uint32_t>(dir.channels().size());
  if (!dir.begun()) return nothingIn(dir, std::move(outcome));

  const auto takePaths = [&](const Published& published) {
    outcome.output = published.trace;
    if (outcome.recording) outcome.recording->path = published.recording;
    if (!published.note.empty()) outcome.warnings.push_back(published.note);
    outcome.kernels = kernelsIn(published.trace);
  };
  if (const std::string before = findPublished(dir);
      !before.empty() && inspectFile(dir.tracePath()).kind == Kind::kNothing &&
      inspectFile(before).complete) {
    // The collector died between its last steps.
    TS_CHECK_OK(checkFinished(before));
    TS_CHECK_OK(checkAllRead(dir, before));
    TS_TRY(const Published published, publishLateRecording(dir, before));
    takePaths(published);
    dir.remove();
    return outcome;
  }
  if (dir.info().id.empty() && inspectFile(dir.tracePath()).kind == Kind::kNothing) {
    TS_CHECK_OK(adoptOlderTrace(dir));
    TS_CHECK_OK(adoptOlderRecording(dir));
  }
  TS_CHECK_OK(checkOutputPaths(dir));
  if (!dir.info().id.empty()) {
    TS_CHECK_OK(checkTraceOf(dir));
    if (inspectFile(dir.tracePath()).kind == Kind::kNothing && outcome.arenas == 0 &&
        outcome.channels == 0 && inspectFile(dir.recordingPath()).kind == Kind::kNothing) {
      return nothingIn(dir, std::move(outcome));
    }
  }

  const ExistingFile recorded = inspectFile(dir.recordingPath());
  if (outcome.channels > 0 || (recorded.kind != Kind::kNothing && !recorded.complete)) {
    TS_TRY(const auto drain, RecordingDrain::resume(dir));
    TS_CHECK_OK(drain->finish());
    outcome.recording = drain->totals();
    noteUnchanneled(dir, *outcome.recording);
  }
  if (inspectFile(dir.recordingPath()).kind != Kind::kNothing) {
    TS_CHECK_OK(checkFinished(dir.recordingPath()));
  }
  if (inspectFile(dir.tracePath()).complete) {
    TS_CHECK_OK(checkFinished(dir.tracePath()));
    TS_CHECK_OK(checkAllRead(dir, dir.tracePath()));
    TS_TRY(const Published published, publish(dir, true));
    takePaths(published);
    dir.remove();
    return outcome;
  }
  TS_TRY(std::unique_ptr<Collector> collector, Collector::resume(dir));
  if (collector->rows().kernels == 0) noteHost(*collector, dir.info().command_line);
  collector->noteMetadata("recovered", "true");
  for (const uint32_t pid : running) {
    collector->noteLoss("process " + std::to_string(pid), 0, 0,
                        "still ran when its recording was recovered; what it did after that is "
                        "not in the trace");
    outcome.warnings.push_back(
        fmt::format("process {} still runs; what it does from now on is not recorded", pid));
  }
  TS_CHECK_OK(collector->finish());
  takePaths(collector->published());
  outcome.recovered_events = collector->rows().events;
  return outcome;
}

}  // namespace tracesmith
