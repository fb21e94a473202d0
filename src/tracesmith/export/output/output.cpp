// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/output/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/base/files/target_file.hpp"

namespace tracesmith {
namespace {

constexpr size_t kBlockBytes = 1 << 20;

}  // namespace

Result<Output> Output::toFile(const std::string& path) {
  if (path == "-") return toDescriptor(STDOUT_FILENO, "standard output");
  Output out;
  out.name_ = path;
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    out.fd_ = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (out.fd_ < 0) return failErrno(errno, "cannot open it for writing", path);
    out.owns_fd_ = true;
    return out;
  }
  TS_TRY(TargetFile target, TargetFile::open(path));
  out.fd_ = target.fd();
  out.target_ = std::make_unique<TargetFile>(std::move(target));
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
      target_(std::move(other.target_)) {}

Output::~Output() {
  if (owns_fd_ && fd_ >= 0) close(fd_);
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
  status_ = checkCancelled();
  if (status_) status_ = sink_ ? sink_(bytes) : writeDescriptor(bytes);
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
  if (target_ && !failed()) status_ = target_->finish();
  target_.reset();
  if (owns_fd_ && fd_ >= 0 && close(fd_) != 0 && !failed()) {
    status_ = failErrno(errno, "cannot write", name_);
  }
  fd_ = -1;
  return status_;
}

}  // namespace tracesmith
