// SPDX-License-Identifier: Apache-2.0
// Reads ranges of a remote file. A request takes long, so small reads fetch more than they need,
// and what was fetched last is kept.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "tracesmith/base/files/remote_files.hpp"

namespace tracesmith::sbt {

/// One thread at a time.
class RemoteReader {
 public:
  static Result<std::unique_ptr<RemoteReader>> open(const std::string& url);

  /// When it was opened.
  uint64_t size() const { return size_; }
  /// As sbt::readAt().
  Result<size_t> readAt(uint64_t offset, std::span<uint8_t> out);

 private:
  RemoteReader(std::shared_ptr<RemoteFiles> files, std::string url, uint64_t size)
      : files_(std::move(files)), url_(std::move(url)), size_(size) {}

  struct Part {
    uint64_t offset = 0;
    Bytes bytes;
  };
  std::shared_ptr<RemoteFiles> files_;
  std::string url_;
  uint64_t size_;
  std::array<Part, 2> parts_;  // the last used one first
};

}  // namespace tracesmith::sbt
