// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/traced_programs.hpp"

#include <sys/stat.h>

namespace tracesmith {

TracedPrograms::Key TracedPrograms::keyOf(const std::string& path) {
  struct stat s {};
  if (stat(path.c_str(), &s) != 0) return {path, 0, 0, 0, 0, 0};
  return {path, s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
}

const Result<XRaySymbols>& TracedPrograms::functionsOf(const std::string& path) {
  const Key key = keyOf(path);
  const auto known = programs_.find(key);
  if (known != programs_.end()) return known->second;
  ++files_read_;
  if (progress_) progress_();
  auto functions = XRaySymbols::ofBinary(path, progress_);
  if (progress_) progress_();
  return programs_.emplace(key, std::move(functions)).first->second;
}

}  // namespace tracesmith
