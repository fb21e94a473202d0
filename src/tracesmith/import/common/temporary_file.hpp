// SPDX-License-Identifier: Apache-2.0
// A file in $TMPDIR that exists as long as this object. It has no name unless one is asked for, or
// the system knows no files without names.
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
  /// In memory where the system has such files, else as create().
  Status createInMemory();
  int fd() const { return fd_; }
  const std::string& folder() const { return folder_; }
  /// A path by which this process can open the file.
  std::string place() const;
  /// A path by which the file can be opened, beside which others may be created; removed with this
  /// object.
  Result<std::string> name();
  /// Appends all of `bytes`. `purpose` starts the message if that fails ("cannot unpack …").
  Status write(std::span<const uint8_t> bytes, std::string_view purpose);

 private:
  std::string nameOf(int number) const;

  int fd_ = -1;
  std::string folder_;
  std::string name_;
};

}  // namespace tracesmith::import
