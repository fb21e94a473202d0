// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/session_directory/session_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tracesmith/base/files/file_identity.hpp"
#include "tracesmith/base/files/free_name.hpp"
#include "tracesmith/base/files/output_place.hpp"
#include "tracesmith/base/files/target_file.hpp"
#include "tracesmith/format/blocks/file_io.hpp"
#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith {
namespace {

namespace fs = std::filesystem;

Status copyInto(const std::string& from, const std::string& to) {
  TS_TRY(TargetFile target, TargetFile::open(to));
  std::error_code ec;
  fs::copy_file(from, target.place(), fs::copy_options::overwrite_existing, ec);
  if (ec) return fail(ErrorCode::kIo, "cannot copy it (" + ec.message() + ")", to);
  TS_CHECK_OK(target.finish());
  (void)unlink(from.c_str());
  return {};
}

/// Moves a file over an existing one, and keeps the old file's mode if that was ours.
Status moveOver(const std::string& from, const std::string& to) {
  if (sameFile(from, to)) {
    (void)unlink(from.c_str());  // rename() does nothing for two links to one file
    return {};
  }
  struct stat s {};
  if (stat(to.c_str(), &s) == 0 && s.st_uid == geteuid()) {
    (void)chmod(from.c_str(), s.st_mode & 0777);
  }
  if (rename(from.c_str(), to.c_str()) == 0) return {};
  if (errno == EXDEV) return copyInto(from, to);
  if (errno == EBUSY) {  // a mount point cannot be replaced
    TS_CHECK_OK(copyInPlace(from, to));
    (void)unlink(from.c_str());
    return {};
  }
  return failErrno(errno, "cannot put the finished file in its place", to);
}

/// Moves a file to an unused name. ErrorCode::kInvalidArgument: a file exists there now.
Status moveToNothing(const std::string& from, const std::string& to) {
  const Status moved = moveToFreeName(from, to);
  if (moved || moved.error().code == ErrorCode::kInvalidArgument) return moved;
  return moveOver(from, to);  // another file system
}

Status publishRecording(const SessionDir& dir, Published& published) {
  const std::string from = dir.recordingPath();
  const std::string to = recording::recordingPathFor(published.trace);
  const ExistingFile made = inspectFile(from);
  const ExistingFile old = inspectFile(to);
  const bool has_new = made.kind != ExistingFile::Kind::kNothing;
  const bool stays = has_new && made.identity == old.identity && !old.identity.empty();
  if (old.kind == ExistingFile::Kind::kNothing || stays) {
    if (has_new) TS_CHECK_OK(moveOver(from, to));
  } else {
    const SessionInfo& info = dir.info();
    const bool better = made.has_events && (made.complete || info.force);
    const bool may_replace = better || !old.has_events;
    const bool known = !info.replaces_recording.empty() && old.identity == info.replaces_recording;
    // not a recording of this session, and no new one replaces it
    if (!known && !has_new) return {};
    if (!known || !may_replace) TS_CHECK_OK(keepOldRecording(to, published));
    if (has_new) {
      TS_CHECK_OK(moveOver(from, to));
    } else if (known && may_replace) {
      (void)unlink(to.c_str());
    }
  }
  if (has_new) published.recording = to;
  return {};
}

std::string reasonForSideOutput(const ExistingFile& made, const ExistingFile& old, bool known,
                                bool complete) {
  if (!known) return "holds " + old.text + ", which was put there during the recording";
  const std::string what =
      old.kind == ExistingFile::Kind::kOther ? "is " + old.text : std::string("holds events");
  if (!complete) return what + ", and the new trace is not complete";
  return made.has_events ? "cannot be replaced" : what + ", and the new trace holds no events";
}

/// publish() without the handling of failures.
Result<Published> moveToOutputs(const SessionDir& dir, bool complete) {
  const SessionInfo& info = dir.info();
  Published published;
  TS_TRY(const std::string target, checkedTarget(info.output));
  const ExistingFile made = inspectFile(dir.tracePath());
  const ExistingFile recorded = inspectFile(dir.recordingPath());
  const ExistingFile old = inspectFile(target);
  const bool ours = sameFile(dir.tracePath(), target) ||
                    (isOfSession(dir, made, old) && !isFinishedElsewhere(made, old));
  const bool nothing =
      old.kind == ExistingFile::Kind::kNothing || old.kind == ExistingFile::Kind::kEmpty;
  const bool other = old.kind == ExistingFile::Kind::kOther;
  const bool known =
      other ? info.replaces == kNoTrace : !info.replaces.empty() && old.identity == info.replaces;
  const bool better = complete && (made.has_events || recorded.has_events);
  const bool may_replace = known && (info.force || better || (!old.has_events && !other));
  const auto beside = recorded.kind == ExistingFile::Kind::kNothing
                          ? Result<OutputPlace>()
                          : findOutputPlace(recording::recordingPathFor(info.output));
  std::string why = reasonForSideOutput(made, old, known, complete);
  if (beside && (ours || nothing || may_replace)) {
    const Status moved = old.kind == ExistingFile::Kind::kNothing
                             ? moveToNothing(dir.tracePath(), target)
                             : moveOver(dir.tracePath(), target);
    if (moved) {
      published.trace = info.output;
      TS_CHECK_OK(publishRecording(dir, published));
      return published;
    }
    if (moved.error().code != ErrorCode::kInvalidArgument) {
      return tl::unexpected<Error>(moved.error());
    }
    why = reasonForSideOutput(made, inspectFile(target), false, complete);
  }
  unlinkUnfinishedTrace(dir);  // the trace gets another name than its output
  for (int i = 2; i < kMostNumberedNames; ++i) {
    const std::string to = numberedName(info.output, i);
    if (isThere(recording::recordingPathFor(to))) continue;
    const Status moved = moveToFreeName(dir.tracePath(), to);
    if (!moved && moved.error().code == ErrorCode::kInvalidArgument) continue;
    if (!moved) return tl::unexpected<Error>(moved.error());
    published.trace = to;
    TS_CHECK_OK(publishRecording(dir, published));
    published.note = beside
                         ? fmt::format("{} {}: it stays as it was, and the new trace is {}{}",
                                       info.output, why, to, known ? " (--force replaces it)" : "")
                         : fmt::format("{}: the new trace is {}, with its recording",
                                       beside.error().toString(), to);
    return published;
  }
  return fail(ErrorCode::kIo, "no name is free for the new trace", info.output);
}

}  // namespace

Result<std::string> checkedTarget(const std::string& output) {
  if (output == "-") {
    return fail(ErrorCode::kUnsupported,
                "a trace needs a file, it cannot be piped (a file of this name is ./-)", output);
  }
  TS_TRY(const OutputPlace place, findOutputPlace(output));
  if (place.exists && S_ISDIR(place.entry.st_mode)) {
    return fail(ErrorCode::kInvalidArgument, "this is a directory", output);
  }
  if (place.exists && !S_ISREG(place.entry.st_mode)) {
    return fail(ErrorCode::kInvalidArgument,
                std::string("this is ") +
                    (S_ISFIFO(place.entry.st_mode) ? "a pipe" : "a device or socket") +
                    ", a trace must be a regular file",
                output);
  }
  if (place.in_system) {
    return fail(ErrorCode::kInvalidArgument,
                "leads into /proc, /sys or /dev, and a trace must be a regular file; choose "
                "another name for the output",
                output);
  }
  if (place.exists && access(place.path.c_str(), W_OK) != 0) {
    return failErrno(errno, "cannot overwrite it", output);
  }
  const std::string folder = parentFolderOf(place.path);
  if (folder != parentFolderOf(output) && access(folder.c_str(), W_OK | X_OK) != 0) {
    return failErrno(errno, "cannot write into the folder that it leads to, " + folder, output);
  }
  return place.path;
}

bool isOfSession(const SessionDir& dir, const ExistingFile& made, const ExistingFile& found) {
  if (found.kind != ExistingFile::Kind::kTrace) return false;
  const bool same_id = !dir.info().id.empty() && found.session_id == dir.info().id;
  return same_id || found.identity == made.identity;
}

bool isFinishedElsewhere(const ExistingFile& made, const ExistingFile& found) {
  return found.complete && !(made.complete && made.identity == found.identity);
}

void linkUnfinishedTrace(const SessionDir& dir) {
  if (!isThere(dir.info().output)) {
    (void)link(dir.tracePath().c_str(), dir.info().output.c_str());
  }
}

void unlinkUnfinishedTrace(const SessionDir& dir) {
  if (sameFile(dir.tracePath(), dir.info().output)) (void)unlink(dir.info().output.c_str());
}

Result<Published> publish(const SessionDir& dir, bool complete) {
  auto published = moveToOutputs(dir, complete);
  if (published) return published;
  // If the trace is gone from the session directory, the recording could not be moved.
  const bool has_trace = isThere(dir.tracePath());
  published.error().message += fmt::format(
      "; {} is in the session directory: once the output can be written, finish it with "
      "`tracesmith recover {}`",
      has_trace ? "the trace" : "the trace is at " + dir.info().output + ", and its recording",
      dir.path());
  return published;
}

Result<SideOutput> openSideOutput(const std::string& output) {
  TS_TRY([[maybe_unused]] const OutputPlace place, findOutputPlace(output));
  const ExistingFile old = inspectFile(output);
  if (!old.has_events) return SideOutput{};
  TS_TRY(const sbt::FileHandle free, sbt::openForWriting(output, false));
  for (int i = 2; i < kMostNumberedNames; ++i) {
    std::string path = numberedName(output, i);
    if (isThere(recording::recordingPathFor(path))) continue;
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) return failErrno(errno, "cannot create the trace", path);
    close(fd);
    return SideOutput{std::move(path), old.identity};
  }
  return fail(ErrorCode::kIo, "no name is free for the new trace", output);
}

Result<std::string> publishSideOutput(const SideOutput& made, const std::string& output) {
  const ExistingFile old = inspectFile(output);
  const bool as_it_was = old.identity == made.replaces || old.kind == ExistingFile::Kind::kNothing;
  if (!as_it_was || !inspectFile(made.path).has_events) return made.path;
  Published published;
  const std::string recording = recording::recordingPathFor(output);
  if (inspectFile(recording).kind == ExistingFile::Kind::kTrace) {
    TS_CHECK_OK(keepOldRecording(recording, published));
  }
  TS_TRY(const std::string target, checkedTarget(output));
  TS_CHECK_OK(moveOver(made.path, target));
  return output;
}

Result<Published> publishLateRecording(const SessionDir& dir, const std::string& trace) {
  Published published;
  published.trace = trace;
  TS_CHECK_OK(publishRecording(dir, published));
  return published;
}

std::string findPublished(const SessionDir& dir) {
  const SessionInfo& info = dir.info();
  const auto is = [&](const std::string& path) {
    const ExistingFile found = inspectFile(path);
    return found.kind == ExistingFile::Kind::kTrace && !info.id.empty() &&
           found.session_id == info.id;
  };
  if (is(info.output)) return info.output;
  for (int i = 2; i < kMostNumberedNames; ++i) {
    const std::string path = numberedName(info.output, i);
    if (!isThere(path)) return {};
    if (is(path)) return path;
  }
  return {};
}

}  // namespace tracesmith
