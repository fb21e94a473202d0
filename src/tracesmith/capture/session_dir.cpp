// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/session_dir.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "tracesmith/capture/arena_layout.hpp"
#include "tracesmith/capture/channel_layout.hpp"
#include "tracesmith/capture/cuda_layout.hpp"

namespace tracesmith {
namespace {

constexpr const char* kInfoName = "/session.txt";
constexpr std::string_view kSessionSuffix = ".session";

/// What a session puts into its directory. Nothing else is ever removed from there, so that a wrong
/// argument costs nobody a file.
bool isOurs(std::string_view name) {
  return name.ends_with(arena::kArenaSuffix) || name.ends_with(arena::kUnrecordedSuffix) ||
         name.ends_with(cuda_file::kSuffix) || name.ends_with(channel::kSuffix) ||
         name.ends_with(channel::kUnrecordedSuffix) || name.ends_with(".new") ||
         name == "session.txt" || name == "processes.log";
}

std::string absolutePath(const std::string& path) {
  std::error_code ec;
  const auto absolute = std::filesystem::absolute(path, ec);
  return ec ? path : absolute.lexically_normal().string();
}

void takeLine(std::string_view key, const std::string& value, SessionInfo& info) {
  if (key == "output") info.output = value;
  if (key == "command_line") info.command_line = value;
  if (key == "root_pid") {
    info.root_pid = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
  }
  if (key == "keep_kernels") info.keep_kernels = value != "0";
  if (key == "keep_memory") info.keep_memory = value != "0";
  if (key == "shortest_call_ns") {
    info.shortest_call_ns = std::strtoll(value.c_str(), nullptr, 10);
  }
}

template <class F>
void forEachName(const std::string& path, F&& f) {
  DIR* d = opendir(path.c_str());
  if (d == nullptr) return;
  while (const dirent* e = readdir(d)) f(std::string_view(e->d_name));
  closedir(d);
}

}  // namespace

/// The kernel gives it back when the process ends, in whatever way.
class SessionDir::Lock {
 public:
  explicit Lock(int fd) : fd_(fd) {}
  ~Lock() { close(fd_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int fd_;
};

Status SessionDir::lock() {
  const int fd = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return failErrno(errno, "cannot open the session directory", path_);
  // Where the file system has no locks we go on without.
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(fd);
    return fail(ErrorCode::kInvalidArgument,
                "belongs to a recording that is still running (or is being recovered)", path_);
  }
  lock_ = std::make_shared<const Lock>(fd);
  return {};
}

Result<SessionDir> SessionDir::create(const std::string& output) {
  SessionDir dir;
  dir.info_.output = absolutePath(output);
  dir.path_ = dir.info_.output + std::string(kSessionSuffix);
  const bool made = mkdir(dir.path_.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) {
    return failErrno(errno, "cannot make the session directory", dir.path_);
  }
  TS_CHECK_OK(dir.lock());
  if (!made && !(dir.arenas().empty() && dir.channels().empty())) {
    return fail(ErrorCode::kInvalidArgument,
                "holds an unfinished recording; finish it with `tracesmith recover " + dir.path_ +
                    "`, or remove it",
                dir.path_);
  }
  // A leftover without arenas is in nobody's way, but its log would be taken for ours.
  if (!made) dir.removeFiles();
  return dir;
}

Result<SessionDir> SessionDir::open(const std::string& path) {
  SessionDir dir;
  dir.path_ = absolutePath(path);
  while (dir.path_.size() > 1 && dir.path_.back() == '/') dir.path_.pop_back();
  struct stat s {};
  if (stat(dir.path_.c_str(), &s) != 0) return failErrno(errno, "cannot open", path);
  if (!S_ISDIR(s.st_mode)) {
    return fail(ErrorCode::kInvalidArgument,
                "is not a directory; give the session directory that `profile` keeps beside its "
                "output (OUTPUT.session)",
                path);
  }
  std::ifstream in(dir.path_ + kInfoName);
  std::string line;
  while (std::getline(in, line)) {
    const size_t eq = line.find('=');
    if (eq == std::string::npos) continue;
    takeLine(line.substr(0, eq), line.substr(eq + 1), dir.info_);
  }
  if (dir.info_.output.empty()) {
    // A collector that was killed at once has not written it yet. The name says as much, provided
    // that there is nothing of anybody else in the directory.
    bool others = false;
    forEachName(dir.path_, [&](std::string_view name) {
      others = others || (name != "." && name != ".." && !isOurs(name));
    });
    if (others || !dir.path_.ends_with(kSessionSuffix)) {
      return fail(ErrorCode::kInvalidArgument,
                  "is not a session directory of tracesmith (it has no readable session.txt)",
                  path);
    }
    dir.info_.output = dir.path_.substr(0, dir.path_.size() - kSessionSuffix.size());
    dir.begun_ = !(dir.arenas().empty() && dir.channels().empty());
  }
  TS_CHECK_OK(dir.lock());
  return dir;
}

Status SessionDir::writeInfo(const SessionInfo& info) {
  info_ = info;
  info_.output = absolutePath(info.output);
  std::string command = info.command_line;
  for (char& c : command) {
    if (c == '\n') c = ' ';
  }
  const std::string text = "output=" + info_.output + "\ncommand_line=" + command +
                           "\nroot_pid=" + std::to_string(info.root_pid) +
                           "\nkeep_kernels=" + (info.keep_kernels ? "1" : "0") +
                           "\nkeep_memory=" + (info.keep_memory ? "1" : "0") +
                           "\nshortest_call_ns=" + std::to_string(info.shortest_call_ns) + "\n";
  // Written aside and renamed: a reader sees all of it or nothing.
  const std::string path = path_ + kInfoName;
  const std::string temporary = path + ".new";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return failErrno(errno, "cannot write", temporary);
  const ssize_t n = write(fd, text.data(), text.size());
  const int write_errno = errno;
  close(fd);
  if (n != static_cast<ssize_t>(text.size())) {
    return failErrno(n < 0 ? write_errno : ENOSPC, "cannot write", temporary);
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    return failErrno(errno, "cannot write", path);
  }
  return {};
}

std::vector<std::string> SessionDir::withSuffix(const char* suffix) const {
  std::vector<std::string> out;
  forEachName(path_, [&](std::string_view name) {
    if (name.ends_with(suffix)) out.push_back(path_ + "/" + std::string(name));
  });
  return out;
}

std::vector<std::string> SessionDir::arenas() const { return withSuffix(arena::kArenaSuffix); }
std::vector<std::string> SessionDir::cudaFiles() const { return withSuffix(cuda_file::kSuffix); }
std::vector<std::string> SessionDir::channels() const { return withSuffix(channel::kSuffix); }

std::vector<SessionDir::Unrecorded> SessionDir::unrecorded() const {
  return reported(arena::kUnrecordedSuffix);
}
std::vector<SessionDir::Unrecorded> SessionDir::unchanneled() const {
  return reported(channel::kUnrecordedSuffix);
}

std::vector<SessionDir::Unrecorded> SessionDir::reported(const char* suffix) const {
  std::vector<Unrecorded> out;
  forEachName(path_, [&](std::string_view name) {
    if (!name.ends_with(suffix)) return;
    Unrecorded u;
    if (std::sscanf(std::string(name).c_str(), "%" SCNu32 ".%d", &u.pid, &u.error) == 2) {
      out.push_back(u);
    }
  });
  return out;
}

void SessionDir::removeFiles() const {
  std::vector<std::string> ours;
  forEachName(path_, [&](std::string_view name) {
    if (isOurs(name)) ours.push_back(path_ + "/" + std::string(name));
  });
  for (const std::string& path : ours) unlink(path.c_str());
}

void SessionDir::remove() {
  removeFiles();
  rmdir(path_.c_str());
}

}  // namespace tracesmith
