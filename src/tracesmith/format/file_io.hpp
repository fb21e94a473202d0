// SPDX-License-Identifier: Apache-2.0
// Files as the format needs them: positioned reads that survive a file shrinking beneath them, and
// appends that are whole or undone.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/result.hpp"

namespace tracesmith::sbt {

/// An owned file descriptor.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int fd) : fd_(fd) {}
  FileHandle(FileHandle&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FileHandle& operator=(FileHandle&& other) noexcept;
  ~FileHandle() { close(); }
  int fd() const { return fd_; }
  void close();
  /// Gives back the lock of openForWriting(), also for the copies that forked children hold.
  void unlock();

 private:
  int fd_ = -1;
};

/// Opens a regular file for reading; says so plainly when it is missing, a directory or a pipe.
Result<FileHandle> openForReading(const std::string& path);
/// Opens (or makes) a regular file for writing and takes the lock that keeps a second writer out.
/// Nothing is truncated. `create` false: the file must be there.
Result<FileHandle> openForWriting(const std::string& path, bool create);

Result<uint64_t> fileSize(const FileHandle& file, const std::string& path);

/// Reads up to out.size() bytes at `offset`; fewer only at the end of the file.
Result<size_t> readAt(const FileHandle& file, uint64_t offset, std::span<uint8_t> out,
                      const std::string& path);
/// Writes all of `bytes` at `offset`.
Status writeAt(const FileHandle& file, uint64_t offset, ByteView bytes, const std::string& path);
Status truncateTo(const FileHandle& file, uint64_t bytes, const std::string& path);
Status syncToDevice(const FileHandle& file, const std::string& path);

}  // namespace tracesmith::sbt
