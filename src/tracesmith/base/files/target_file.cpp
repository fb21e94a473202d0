// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/files/target_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <utility>
#include <vector>

#include "tracesmith/base/files/output_place.hpp"

namespace tracesmith {
namespace {

namespace fs = std::filesystem;

/// Differs between machines and between PID namespaces, which may share a directory and in which
/// the same pid means different processes.
std::string machineMark() {
  char host[256] = {};
  (void)gethostname(host, sizeof host - 1);
  std::error_code error;
  const std::string all = host + fs::read_symlink("/proc/self/ns/pid", error).string();
  char mark[16];
  std::snprintf(mark, sizeof mark, "%08x", static_cast<unsigned>(std::hash<std::string>{}(all)));
  return mark;
}

std::string temporaryPrefix(const std::string& target) {
  static const std::string mark = machineMark();
  return target + ".part-" + mark + "-";
}

std::string temporaryName(const std::string& target) {
  static std::atomic<unsigned> counter{0};
  return temporaryPrefix(target) + std::to_string(getpid()) + "-" + std::to_string(counter++);
}

/// Removes files that killed processes left beside `target`.
void removeLeftovers(const std::string& target) {
  const std::string directory = parentFolderOf(target);
  const std::string prefix = fs::path(temporaryPrefix(target)).filename().string();
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    pid_t pid = 0;
    const char* const last = name.data() + name.size();
    const auto [at, bad] = std::from_chars(name.data() + prefix.size(), last, pid);
    if (bad != std::errc() || at == last || *at != '-' || pid <= 0) continue;
    if (kill(pid, 0) != 0 && errno == ESRCH) (void)unlink(it->path().string().c_str());
  }
}

/// Names of unfinished files, for the signal handler, which cannot obtain them otherwise.
struct Unfinished {
  std::atomic<bool> taken{false};
  std::atomic<bool> there{false};
  char path[4096];
};
Unfinished g_unfinished[8];  // files beyond this number are not removed by the handler

void remember(const std::string& path) {
  for (Unfinished& u : g_unfinished) {
    if (path.size() >= sizeof u.path || u.taken.exchange(true)) continue;
    std::memcpy(u.path, path.c_str(), path.size() + 1);
    u.there = true;
    return;
  }
}

void forget(const std::string& path) {
  for (Unfinished& u : g_unfinished) {
    if (!u.there || path != u.path) continue;
    u.there = false;
    u.taken = false;
  }
}

Status checkKind(const struct stat& info, const std::string& path) {
  if (S_ISREG(info.st_mode)) return {};
  if (S_ISDIR(info.st_mode)) {
    return fail(ErrorCode::kInvalidArgument, "is a directory, not a file to write", path);
  }
  return fail(ErrorCode::kInvalidArgument,
              std::string("is ") + (S_ISFIFO(info.st_mode) ? "a pipe" : "a device or socket") +
                  ", but the output must be a regular file; choose another name for the output",
              path);
}

/// Another name for an open file, which may have none (a link in /proc). Returns false with errno
/// set.
bool giveName(const std::string& place, const std::string& name) {
#ifdef __linux__
  return linkat(AT_FDCWD, place.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
#else
  return ::link(place.c_str(), name.c_str()) == 0;
#endif
}

void removeUnfinished(int number) {
  for (const Unfinished& u : g_unfinished) {
    if (u.there) (void)unlink(u.path);
  }
  (void)signal(number, SIG_DFL);
  (void)raise(number);  // delivered when this handler returns
}

}  // namespace

void removeUnfinishedAtSignals() {
#ifdef _WIN32
  for (const int number : {SIGINT, SIGTERM, SIGBREAK}) (void)signal(number, removeUnfinished);
#else
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) {
      (void)signal(number, removeUnfinished);
    }
  }
#endif
}

Result<TargetFile> TargetFile::open(const std::string& path, CreationMode way) {
  if (path.empty()) return fail(ErrorCode::kInvalidArgument, "the output has no file name");
  if (path == "-") {
    return fail(
        ErrorCode::kUnsupported,
        "the output must be a file, it cannot be piped (for a file with this name, use ./-)", path);
  }
  struct stat info {};
  // A link in /proc may have no path that could be followed.
  if (stat(path.c_str(), &info) == 0) TS_CHECK_OK(checkKind(info, path));
  TS_TRY(const OutputPlace place, findOutputPlace(path));
  TargetFile file;
  file.exists_ = place.exists;
  if (file.exists_) TS_CHECK_OK(checkKind(place.entry, path));
  if (file.exists_ && access(place.path.c_str(), W_OK) != 0) {
    return failErrno(errno, "cannot overwrite it", path);
  }
  file.name_ = path;
  file.target_ = place.path;
  if (way == CreationMode::kNamed || !file.openNameless(parentFolderOf(file.target_))) {
    TS_CHECK_OK(file.openNamed());
  }
  // The mode of another user's file was chosen by that user, so do not copy it.
  if (file.exists_ && place.entry.st_uid == geteuid()) {
    (void)fchmod(file.fd_, place.entry.st_mode & 07777);
  }
  return file;
}

/// False if the file system or the kernel does not support unnamed files.
bool TargetFile::openNameless([[maybe_unused]] const std::string& directory) {
#ifdef O_TMPFILE
  fd_ = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (fd_ < 0) return false;
  place_ = "/proc/self/fd/" + std::to_string(fd_);
  if (access(place_.c_str(), F_OK) == 0) return true;  // otherwise it could not be linked
  close(std::exchange(fd_, -1));
#endif
  return false;
}

Status TargetFile::openNamed() {
  removeLeftovers(target_);
  const std::string name = temporaryName(target_);
  fd_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) return failErrno(errno, "cannot create it", name_);
  place_ = temporary_ = name;
  remember(name);
  return {};
}

TargetFile::TargetFile(TargetFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      exists_(other.exists_),
      name_(std::move(other.name_)),
      target_(std::move(other.target_)),
      place_(std::move(other.place_)),
      temporary_(std::exchange(other.temporary_, {})) {}

TargetFile::~TargetFile() { discard(); }

void TargetFile::discard() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
  if (temporary_.empty()) return;
  (void)unlink(temporary_.c_str());
  forget(temporary_);
  temporary_.clear();
}

namespace {

/// Returns false with errno set.
bool copyAll(int in, int out) {
  std::vector<char> piece(1u << 20);
  for (;;) {
    const ssize_t got = read(in, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    for (ssize_t done = 0; done < got;) {
      const ssize_t n = write(out, piece.data() + done, static_cast<size_t>(got - done));
      if (n < 0 && errno != EINTR) return false;
      done += std::max<ssize_t>(n, 0);
    }
  }
}

}  // namespace

Status copyInPlace(const std::string& from, const std::string& to) {
  const int in = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  const int out = in < 0 ? -1 : ::open(to.c_str(), O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
  int error = out < 0 || !copyAll(in, out) ? errno : 0;
  if (in >= 0) close(in);
  // A network file system may report a full disk only here.
  if (out >= 0 && close(out) != 0 && error == 0) error = errno;
  if (error == 0) return {};
  return failErrno(error, "cannot write into the file", to);
}

Error TargetFile::named(Error error) const {
  if (error.where == place_) error.where = name_;
  return error;
}

/// Links the unnamed file to its target, or to a temporary name that is then renamed, because
/// linking does not replace an existing file.
Status TargetFile::link() {
  const auto linkTo = [&](const std::string& name) { return giveName(place_, name); };
  if (!exists_ && linkTo(target_)) return {};
  if (!exists_ && errno != EEXIST) return failErrno(errno, "cannot name the finished file", name_);
  const std::string name = temporaryName(target_);
  if (!linkTo(name)) return failErrno(errno, "cannot name the finished file", name_);
  temporary_ = name;
  return {};
}

Status TargetFile::finishAs(const std::string& path) {
  if (!giveName(place_, path)) {
    if (errno == EEXIST) return fail(ErrorCode::kInvalidArgument, "exists", path);
    return failErrno(errno, "cannot name the finished file", path);
  }
  const int closed = close(std::exchange(fd_, -1));
  const int error = errno;
  discard();
  if (closed != 0) return failErrno(error, "cannot write", path);
  return {};
}

Status TargetFile::finish() {
  Status status;
  if (temporary_.empty()) status = link();
  // A network file system may report a full disk only here.
  if (close(std::exchange(fd_, -1)) != 0 && status) {
    status = failErrno(errno, "cannot write", name_);
  }
  if (status && !temporary_.empty()) {
    std::error_code error;
    fs::rename(temporary_, target_, error);  // replaces a file on every system
    if (!error) {
      forget(temporary_);
      temporary_.clear();
    } else if (error == std::errc::device_or_resource_busy) {  // a mounted file cannot be replaced
      status = copyInPlace(temporary_, target_);
    } else {
      status = failErrno(error.default_error_condition().value(),
                         "cannot put the finished file in its place", name_);
    }
  }
  discard();
  return status;
}

}  // namespace tracesmith
