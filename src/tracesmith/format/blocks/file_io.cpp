// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/blocks/file_io.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tracesmith::sbt {
namespace {

// The kernel transfers at most about this much per call.
constexpr size_t kMaxTransfer = size_t{1} << 30;

tl::unexpected<Error> notRegular(const char* what, const std::string& path) {
  return fail(ErrorCode::kInvalidArgument,
              std::string("this is ") + what + ", a trace must be a regular file", path);
}

Status checkRegular(int fd, const std::string& path) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return failErrno(errno, "cannot examine the file", path);
  if (S_ISREG(info.st_mode)) return {};
  const char* what = S_ISDIR(info.st_mode)    ? "a directory"
                     : S_ISFIFO(info.st_mode) ? "a pipe"
                                              : "a device or socket";
  return notRegular(what, path);
}

}  // namespace

FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
    remote_ = std::move(other.remote_);
  }
  return *this;
}

void FileHandle::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  remote_.reset();
}

void FileHandle::unlock() { (void)flock(fd_, LOCK_UN); }

Result<FileHandle> openForReading(const std::string& path) {
  if (isRemote(path)) {
    TS_TRY(std::unique_ptr<RemoteReader> remote, RemoteReader::open(path));
    return FileHandle(std::move(remote));
  }
  // O_NONBLOCK: opening a pipe without a writer must not hang before it can be rejected.
  FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  // Windows opens no directory.
  if (file.fd() < 0 && errno == EISDIR) return notRegular("a directory", path);
  if (file.fd() < 0) return failErrno(errno, "cannot open the trace", path);
  TS_CHECK_OK(checkRegular(file.fd(), path));
  return file;
}

Result<FileHandle> openForWriting(const std::string& path, bool create) {
  const int flags = O_RDWR | O_CLOEXEC | O_NONBLOCK | (create ? O_CREAT : 0);
  FileHandle file(::open(path.c_str(), flags, 0666));
  if (file.fd() < 0) {
    if (errno == EISDIR) return fail(ErrorCode::kInvalidArgument, "this is a directory", path);
    return failErrno(errno, create ? "cannot create the trace" : "cannot open the trace", path);
  }
  TS_CHECK_OK(checkRegular(file.fd(), path));
  // The lock ends with the process and its forked children (see closeInChild()), so a crash leaves
  // no lock behind. Some network file systems do not support locks; there the writer does without.
  if (flock(file.fd(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return fail(ErrorCode::kPermission, "another process is writing this trace", path);
  }
  return file;
}

Result<uint64_t> fileSize(const FileHandle& file, const std::string& path) {
  if (file.remote() != nullptr) return file.remote()->size();
  struct stat info {};
  if (fstat(file.fd(), &info) != 0) return failErrno(errno, "cannot examine the file", path);
  return static_cast<uint64_t>(info.st_size);
}

Result<size_t> readAt(const FileHandle& file, uint64_t offset, std::span<uint8_t> out,
                      const std::string& path) {
  if (file.remote() != nullptr) return file.remote()->readAt(offset, out);
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = pread(file.fd(), out.data() + done, std::min(out.size() - done, kMaxTransfer),
                            static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failErrno(errno, "cannot read the trace", path);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

Status writeAt(const FileHandle& file, uint64_t offset, ByteView bytes, const std::string& path) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n =
        pwrite(file.fd(), bytes.data() + done, std::min(bytes.size() - done, kMaxTransfer),
               static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failErrno(n == 0 ? ENOSPC : errno, "cannot write the trace", path);
    done += static_cast<size_t>(n);
  }
  return {};
}

Status truncateTo(const FileHandle& file, uint64_t bytes, const std::string& path) {
  while (ftruncate(file.fd(), static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) return failErrno(errno, "cannot truncate the trace", path);
  }
  return {};
}

Status syncToDevice(const FileHandle& file, const std::string& path) {
  while (fsync(file.fd()) != 0) {
    // EINVAL, EROFS: the file system does not need flushing, or does not support it.
    if (errno == EINVAL || errno == EROFS) return {};
    if (errno != EINTR) return failErrno(errno, "cannot flush the trace to the disk", path);
  }
  return {};
}

}  // namespace tracesmith::sbt
