// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/files/live_trace.hpp"

#include <sys/stat.h>

namespace tracesmith::cli {

std::optional<FileState> FileState::of(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileState{found.st_dev, found.st_ino, found.st_size, found.st_mtim};
}

bool FileState::operator==(const FileState& other) const {
  return device == other.device && inode == other.inode && size == other.size &&
         written.tv_sec == other.written.tv_sec && written.tv_nsec == other.written.tv_nsec;
}

std::string livePath(const std::string& trace) {
  std::string in_session = trace + ".session/trace.sbt";
  return FileState::of(in_session) ? in_session : trace;
}

}  // namespace tracesmith::cli
