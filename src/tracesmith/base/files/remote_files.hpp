// SPDX-License-Identifier: Apache-2.0
// Files of an object store or another server, named by URLs ("s3://bucket/run.sbt"). There is no
// client in here: a program with a library that has one makes it known.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// Called on several threads at once.
class RemoteFiles {
 public:
  virtual ~RemoteFiles() = default;
  /// Errors: kNotFound.
  virtual Result<uint64_t> size(const std::string& url) = 0;
  /// `bytes` bytes at `offset`; fewer at the end of the file.
  virtual Result<Bytes> read(const std::string& url, uint64_t offset, uint64_t bytes) = 0;
  /// Creates or replaces the file; no reader sees half of it.
  virtual Status write(const std::string& url, ByteView bytes) = 0;
  /// URLs of the files in a folder and those within. Errors: kNotFound.
  virtual Result<std::vector<std::string>> list(const std::string& url) = 0;
};

/// For the whole process; nullptr: none any more.
void setRemoteFiles(std::shared_ptr<RemoteFiles> files);

/// Whether a path is a URL: letters, then "://".
bool isRemote(std::string_view path);

/// Errors: kUnsupported if the program has made none known.
Result<std::shared_ptr<RemoteFiles>> remoteFilesFor(const std::string& url);

}  // namespace tracesmith
