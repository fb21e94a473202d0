// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/output.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace tracesmith {
namespace {

constexpr size_t kBlockBytes = 1 << 20;

std::string temporaryName(const std::string& target) {
  static std::atomic<unsigned> counter{0};
  return target + ".part-" + std::to_string(getpid()) + "-" + std::to_string(counter++);
}

/// `path` with its symbolic links followed, so that a link to the old file stays a link.
std::string resolved(const std::string& path) {
  char real[PATH_MAX];
  return realpath(path.c_str(), real) != nullptr ? std::string(real) : path;
}

}  // namespace

Result<Output> Output::toFile(const std::string& path) {
  if (path.empty()) return fail(ErrorCode::kInvalidArgument, "the output has no file name");
  if (path == "-") return toDescriptor(STDOUT_FILENO, "standard output");
  Output out;
  out.name_ = path;
  out.owns_fd_ = true;
  struct stat info {};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    return fail(ErrorCode::kInvalidArgument, "is a directory, not a file to write", path);
  }
  if (exists && !S_ISREG(info.st_mode)) {
    out.fd_ = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (out.fd_ < 0) return failErrno(errno, "cannot open it for writing", path);
    return out;
  }
  if (exists && access(path.c_str(), W_OK) != 0) {
    return failErrno(errno, "cannot overwrite it", path);
  }
  out.target_ = exists ? resolved(path) : path;
  out.temporary_ = temporaryName(out.target_);
  out.fd_ = open(out.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (out.fd_ < 0) {
    const int error = errno;
    out.temporary_.clear();
    return failErrno(error, "cannot create it", path);
  }
  if (exists) (void)fchmod(out.fd_, info.st_mode & 07777);
  return out;
}

Output Output::toDescriptor(int fd, std::string name) {
  Output out;
  out.fd_ = fd;
  out.name_ = std::move(name);
  return out;
}

Output Output::toString(std::string* text) {
  return toSink([text](std::string_view bytes) -> Status {
    text->append(bytes);
    return {};
  });
}

Output Output::toSink(Sink sink) {
  Output out;
  out.sink_ = std::move(sink);
  return out;
}

Output::Output(Output&& other) noexcept
    : buffer_(std::move(other.buffer_)),
      used_(std::exchange(other.used_, 0)),
      capacity_(std::exchange(other.capacity_, 0)),
      flushed_(other.flushed_),
      status_(std::move(other.status_)),
      sink_(std::move(other.sink_)),
      fd_(std::exchange(other.fd_, -1)),
      owns_fd_(std::exchange(other.owns_fd_, false)),
      name_(std::move(other.name_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})) {}

Output::~Output() {
  if (owns_fd_ && fd_ >= 0) close(fd_);
  removeTemporary();
}

void Output::removeTemporary() {
  if (!temporary_.empty()) (void)unlink(temporary_.c_str());
  temporary_.clear();
}

void Output::makeRoom(size_t n) {
  flushBuffer();
  if (n > capacity_) {
    capacity_ = std::max(n, kBlockBytes);
    buffer_.reset(new uint8_t[capacity_]);
  }
}

void Output::flushBuffer() {
  if (used_ == 0) return;
  const std::string_view bytes(reinterpret_cast<const char*>(buffer_.get()), used_);
  used_ = 0;
  flushed_ += bytes.size();
  if (failed()) return;
  status_ = sink_ ? sink_(bytes) : writeDescriptor(bytes);
}

Status Output::writeDescriptor(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failErrno(errno, "cannot write", name_);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Status Output::flush() {
  flushBuffer();
  return status_;
}

Status Output::finish() {
  flushBuffer();
  if (owns_fd_ && fd_ >= 0) {
    // A network file system may report a full disk only here.
    if (close(fd_) != 0 && !failed()) status_ = failErrno(errno, "cannot write", name_);
    fd_ = -1;
  }
  if (!failed() && !temporary_.empty()) {
    if (rename(temporary_.c_str(), target_.c_str()) == 0) {
      temporary_.clear();
    } else {
      status_ = failErrno(errno, "cannot put the finished file in its place", name_);
    }
  }
  if (failed()) removeTemporary();
  return status_;
}

}  // namespace tracesmith
