// SPDX-License-Identifier: Apache-2.0
// Temporary folder for files that drivers write.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace tracesmith {

/// Removes the folder and its content on destruction.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code ec;
    std::string name = (std::filesystem::temp_directory_path(ec) / "tracesmith-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ec;
    if (!path_.empty()) std::filesystem::remove_all(path_, ec);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tracesmith
