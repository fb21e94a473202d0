// SPDX-License-Identifier: Apache-2.0
// Traces that are still being recorded.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <optional>
#include <string>

namespace tracesmith::cli {

/// What tells that a file has changed.
struct FileState {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = -1;
  timespec written = {};

  /// nullopt: there is no such file.
  static std::optional<FileState> of(const std::string& path);
  bool operator==(const FileState& other) const;
};

/// The file to read for a trace: while it is recorded and an earlier trace has its name, that is
/// the file in the directory of the session.
std::string livePath(const std::string& trace);

}  // namespace tracesmith::cli
