// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/stream_input.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <span>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/base/files/temporary_folder.hpp"

namespace tracesmith::import {
namespace {

constexpr size_t kPieceBytes = 1u << 20;

bool isStream(const struct stat& info) { return S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode); }

Status copyAll(int from, TemporaryFile& to, const std::string& name) {
  Bytes piece(kPieceBytes);
  for (;;) {
    TS_CHECK_OK(checkCancelled());
    const ssize_t n = ::read(from, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failErrno(errno, "cannot read", name);
    if (n == 0) return {};
    TS_CHECK_OK(to.write(std::span<const uint8_t>(piece).first(static_cast<size_t>(n)),
                         std::string("cannot store the input (set ") + kTemporaryFolderVariable +
                             " to a larger disk)"));
  }
}

}  // namespace

Result<StreamInput> StreamInput::open(const std::string& path) {
  StreamInput input;
  input.name_ = input.place_ = path;
  const bool standard = path == "-";
  struct stat info {};
  if (standard) {
    input.name_ = "standard input";
    if (::fstat(STDIN_FILENO, &info) != 0) return failErrno(errno, "cannot read", input.name_);
#ifdef __linux__
    input.place_ = "/proc/self/fd/0";
    if (S_ISREG(info.st_mode)) return input;
#endif
  } else if (::stat(path.c_str(), &info) != 0 || !isStream(info)) {
    return input;
  }
  const int fd = standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failErrno(errno, "cannot open", path);
  input.copy_ = std::make_unique<TemporaryFile>();
  Status copied = input.copy_->create();
  if (copied) copied = copyAll(fd, *input.copy_, input.name_);
  if (!standard) ::close(fd);
  if (!copied) return tl::unexpected<Error>(std::move(copied.error()));
  input.place_ = input.copy_->place();
  return input;
}

Error StreamInput::named(Error error) const {
  if (error.where == place_) error.where = name_;
  return error;
}

}  // namespace tracesmith::import
