// SPDX-License-Identifier: Apache-2.0
// File access for the format: positioned reads that tolerate a file being truncated meanwhile, and
// appends that succeed completely or are undone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/format/blocks/remote_reader.hpp"

namespace tracesmith::sbt {

/// An owned file descriptor, or a remote file, which can only be read.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int fd) : fd_(fd) {}
  explicit FileHandle(std::unique_ptr<RemoteReader> remote) : remote_(std::move(remote)) {}
  FileHandle(FileHandle&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), remote_(std::move(other.remote_)) {}
  FileHandle& operator=(FileHandle&& other) noexcept;
  ~FileHandle() { close(); }
  int fd() const { return fd_; }
  RemoteReader* remote() const { return remote_.get(); }
  void close();
  /// Releases the lock taken by openForWriting(), also for copies held by forked children.
  void unlock();

 private:
  int fd_ = -1;
  std::unique_ptr<RemoteReader> remote_;
};

/// Opens a regular or remote file for reading; the error says if it is missing, a directory or a
/// pipe.
Result<FileHandle> openForReading(const std::string& path);
/// Opens (or creates) a regular file for writing and takes the lock that excludes a second writer.
/// Does not truncate. `create` false: the file must exist.
Result<FileHandle> openForWriting(const std::string& path, bool create);

Result<uint64_t> fileSize(const FileHandle& file, const std::string& path);

/// Reads up to out.size() bytes at `offset`; returns fewer only at the end of the file.
Result<size_t> readAt(const FileHandle& file, uint64_t offset, std::span<uint8_t> out,
                      const std::string& path);
/// Writes all of `bytes` at `offset`.
Status writeAt(const FileHandle& file, uint64_t offset, ByteView bytes, const std::string& path);
Status truncateTo(const FileHandle& file, uint64_t bytes, const std::string& path);
Status syncToDevice(const FileHandle& file, const std::string& path);

}  // namespace tracesmith::sbt
