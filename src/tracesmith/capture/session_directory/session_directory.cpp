// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/session_directory/session_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "tracesmith/base/files/output_place.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"
#include "tracesmith/capture/protocol/channel_layout.hpp"
#include "tracesmith/capture/protocol/cuda_layout.hpp"
#include "tracesmith/capture/session_directory/session_files.hpp"
#include "tracesmith/capture/session_directory/session_output.hpp"
#include "tracesmith/format/blocks/file_io.hpp"
#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith {
namespace {

std::string absolutePath(const std::string& path) {
  std::error_code ec;
  const auto absolute = std::filesystem::absolute(path, ec);
  return ec ? path : absolute.lexically_normal().string();
}

/// Empty when there is no such file, or this user may not read it.
std::string contentOf(const PrivateDirectory& files, const char* name) {
  constexpr size_t kMostBytes = 16u << 20;
  const int fd = openWithin(files.fd(), name, O_RDONLY | O_NONBLOCK);
  std::string text;
  char part[4096];
  for (ssize_t n = 0;
       fd >= 0 && text.size() < kMostBytes && (n = read(fd, part, sizeof part)) > 0;) {
    text.append(part, static_cast<size_t>(n));
  }
  if (fd >= 0) close(fd);
  return text;
}

}  // namespace

/// Locks the directory. The kernel releases the lock when the process ends, however it ends. Read
/// nothing before: until the lock is taken, another process may finish the session and start one of
/// the same name.
Status SessionDir::lock() {
  // Continue without a lock where the file system has none.
  if (flock(files_.fd(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return fail(ErrorCode::kInvalidArgument,
                "belongs to a recording that is still running (or is being recovered)", path_);
  }
  if (!files_.isAtItsPath()) {
    return fail(ErrorCode::kInvalidArgument,
                "was removed by another process just now, which has finished its recording; try "
                "again",
                path_);
  }
  return {};
}

std::string SessionDir::pathFor(const std::string& output) {
  return absolutePath(output) + std::string(kSessionSuffix);
}

Result<SessionDir> SessionDir::create(const std::string& output) {
  SessionDir dir;
  dir.info_.output = absolutePath(output);
  dir.info_.id = makeSessionId();
  TS_TRY(const std::string target, checkedTarget(output == "-" ? output : dir.info_.output));
  TS_CHECK_OK(findOutputPlace(recording::recordingPathFor(dir.info_.output)));
  dir.path_ = pathFor(output);
  bool made = false;
  TS_TRY(dir.files_, PrivateDirectory::makeOrOpen(dir.path_, made));
  TS_CHECK_OK(dir.lock());
  // A leftover without arenas does no harm, but its log would be taken for this session's.
  if (!made) {
    TS_CHECK_OK(dir.checkLeftover());
    TS_CHECK_OK(dir.files_.closeToOthers());
    unlinkUnfinishedTrace(dir);
    dir.removeFiles();
  }
  const ExistingFile old = inspectFile(target);
  dir.info_.replaces = old.kind == ExistingFile::Kind::kOther ? kNoTrace : old.identity;
  dir.info_.replaces_recording =
      inspectFile(recording::recordingPathFor(dir.info_.output)).identity;
  if (old.kind == ExistingFile::Kind::kTrace) {
    if (auto free = sbt::openForWriting(target, false); !free) {
      if (made) dir.remove();
      return tl::unexpected<Error>(free.error());
    }
  }
  return dir;
}

Status SessionDir::checkLeftover() const {
  const std::vector<std::string> names = files_.names();
  const auto foreign = std::find_if_not(names.begin(), names.end(), isSessionFile);
  if (foreign != names.end()) {
    return fail(ErrorCode::kInvalidArgument,
                "holds \"" + *foreign +
                    "\", which no recording has made, so it is left alone; rename or remove the "
                    "directory, or choose another output",
                path_);
  }
  const std::string text = contentOf(files_, kSessionInfoName);
  if (!text.empty() && !isSessionInfo(text)) {
    return fail(ErrorCode::kInvalidArgument,
                "its session.txt was not written by tracesmith, so it is left alone; rename or "
                "remove the directory, or choose another output",
                path_);
  }
  for (const std::string& path : {tracePath(), recordingPath()}) {
    const ExistingFile found = inspectFile(path);
    if (found.kind != ExistingFile::Kind::kOther) continue;
    return fail(ErrorCode::kInvalidArgument,
                "is " + found.text +
                    ", so its session is left alone; rename or remove the directory, or choose "
                    "another output",
                path);
  }
  const bool has_parts = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with(kPartPrefix);
  });
  if (has_parts || !arenas().empty() || !channels().empty() ||
      inspectFile(tracePath()).has_events || inspectFile(recordingPath()).has_events) {
    return fail(ErrorCode::kInvalidArgument,
                "holds an unfinished recording; finish it with `tracesmith recover " + path_ +
                    "`, or remove it",
                path_);
  }
  return {};
}

Result<SessionDir> SessionDir::open(const std::string& path) {
  SessionDir dir;
  dir.path_ = absolutePath(path);
  while (dir.path_.size() > 1 && dir.path_.back() == '/') dir.path_.pop_back();
  struct stat s {};
  if (lstat(dir.path_.c_str(), &s) != 0) return failErrno(errno, "cannot open", path);
  if (!S_ISDIR(s.st_mode)) {
    return fail(ErrorCode::kInvalidArgument,
                "is not a directory; give the session directory that `profile` keeps beside its "
                "output (OUTPUT.session)",
                path);
  }
  const std::string_view name = std::string_view(dir.path_).substr(dir.path_.rfind('/') + 1);
  if (!name.ends_with(kSessionSuffix) || name.size() == kSessionSuffix.size()) {
    return fail(
        ErrorCode::kInvalidArgument,
        "is not named OUTPUT.session, so it does not say where its trace belongs; rename it "
        "to the name of the trace and .session, for example trace.sbt.session",
        path);
  }
  TS_TRY(dir.files_, PrivateDirectory::open(dir.path_));
  TS_CHECK_OK(dir.lock());
  const std::string text = contentOf(dir.files_, kSessionInfoName);
  dir.info_ = parseSessionInfo(text);
  if (dir.info_.output.empty()) {
    // A collector that was killed at once has not written it yet. The directory's name suffices
    // then, provided that all files in it are a session's.
    const std::vector<std::string> names = dir.files_.names();
    const bool foreign = !text.empty() && !isSessionInfo(text);
    if (foreign || !std::all_of(names.begin(), names.end(), isSessionFile)) {
      return fail(ErrorCode::kInvalidArgument,
                  "is not a session directory of tracesmith (it has no readable session.txt)",
                  path);
    }
    const ExistingFile trace = inspectFile(dir.tracePath());
    dir.info_.id = trace.session_id;
    dir.begun_ = !dir.arenas().empty() || !dir.channels().empty() ||
                 trace.kind > ExistingFile::Kind::kEmpty ||
                 inspectFile(dir.recordingPath()).kind > ExistingFile::Kind::kEmpty;
  }
  dir.info_.output = dir.path_.substr(0, dir.path_.size() - kSessionSuffix.size());
  TS_CHECK_OK(dir.files_.closeToOthers());
  return dir;
}

Status SessionDir::writeInfo(const SessionInfo& info) {
  SessionInfo known = std::move(info_);
  info_ = info;
  info_.output = std::move(known.output);
  info_.id = std::move(known.id);
  info_.replaces = std::move(known.replaces);
  info_.replaces_recording = std::move(known.replaces_recording);
  const std::string text = toText(info_);
  // Written to a temporary file and renamed, so that a reader sees all of it or nothing.
  const std::string temporary = std::string(kSessionInfoName) + ".new";
  TS_TRY(const int fd, files_.createFile(temporary));
  const ssize_t n = write(fd, text.data(), text.size());
  const int write_errno = errno;
  close(fd);
  if (n != static_cast<ssize_t>(text.size())) {
    return failErrno(n < 0 ? write_errno : ENOSPC, "cannot write", path_ + "/" + temporary);
  }
  if (renameat(files_.fd(), temporary.c_str(), files_.fd(), kSessionInfoName) != 0) {
    return failErrno(errno, "cannot write", path_ + "/" + kSessionInfoName);
  }
  return {};
}

std::vector<std::string> SessionDir::withSuffix(const char* suffix) const {
  std::vector<std::string> out;
  for (const std::string& name : files_.names()) {
    if (name.ends_with(suffix)) out.push_back(path_ + "/" + name);
  }
  return out;
}

std::vector<std::string> SessionDir::arenas() const { return withSuffix(arena::kArenaSuffix); }
std::vector<std::string> SessionDir::cudaFiles() const { return withSuffix(cuda_file::kSuffix); }
std::vector<std::string> SessionDir::channels() const { return withSuffix(channel::kSuffix); }

std::vector<SessionDir::Unrecorded> SessionDir::unrecorded() const {
  return reported(arena::kUnrecordedSuffix, arena::kArenaSuffix);
}
std::vector<SessionDir::Unrecorded> SessionDir::unchanneled() const {
  return reported(channel::kUnrecordedSuffix, channel::kSuffix);
}

std::vector<SessionDir::Unrecorded> SessionDir::reported(const char* suffix,
                                                         const char* file_suffix) const {
  std::vector<Unrecorded> out;
  for (const std::string& name : files_.names()) {
    Unrecorded u;
    unsigned step = 0;
    if (name.ends_with(file_suffix) && isGivenUp(name)) {
      u = {.error = EIO, .step = arena::ArmStep::kDamaged};
      if (std::sscanf(name.c_str(), "%" SCNu32, &u.pid) == 1) out.push_back(u);
      continue;
    }
    if (!name.ends_with(suffix) ||
        std::sscanf(name.c_str(), "%" SCNu32 ".%d.%u", &u.pid, &u.error, &step) < 2) {
      continue;
    }
    u.step = static_cast<arena::ArmStep>(step);
    out.push_back(u);
  }
  return out;
}

bool SessionDir::isGivenUp(const std::string& name) const {
  struct stat s {};
  return fstatat(files_.fd(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(s.st_mode) &&
         (s.st_mode & arena::kGivenUpMode) != 0;
}

void SessionDir::removeFiles() const {
  for (const std::string& name : files_.names()) {
    // Names with a dot are the file system's, which removes them when the last reader closes them.
    const bool ours = isSessionFile(name) && !name.starts_with('.');
    if (ours && name != kSessionInfoName) files_.removeFile(name);
  }
  // Removed last: `recover` needs its id to clean up after a kill at any moment.
  files_.removeFile(kSessionInfoName);
}

void SessionDir::remove() {
  removeFiles();
  rmdir(path_.c_str());
}

}  // namespace tracesmith
