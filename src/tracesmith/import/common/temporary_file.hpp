// SPDX-License-Identifier: Apache-2.0
// A file in $TMPDIR that exists as long as this object. It has no name unless one is asked for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tracesmith/base/result.hpp"

namespace tracesmith::import {

class TemporaryFile {
 public:
  TemporaryFile() = default;
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  Status create();
  int fd() const { return fd_; }
  const std::string& folder() const { return folder_; }
  /// A path to open the file by; removed with this object.
  Result<std::string> name();
  /// Appends all of `bytes`. `purpose` starts the message if that fails ("cannot unpack …").
  Status write(std::span<const uint8_t> bytes, std::string_view purpose);

 private:
  Status createNamed();

  int fd_ = -1;
  std::string folder_;
  std::string name_;
};

}  // namespace tracesmith::import
