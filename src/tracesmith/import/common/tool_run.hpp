// SPDX-License-Identifier: Apache-2.0
// Another vendor's tool, run to convert a file that only it can read.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith::import {

/// The executable `name` on PATH; "" where there is none.
std::string findTool(const std::string& name);

/// Runs `command` (argv, [0] a path) to its end, with no input; what it says is shown only when it
/// fails, in the error, by its last lines.
Status runTool(const std::vector<std::string>& command);

/// A directory of its own below `parent` ("": that for temporary files), removed with all in it.
class WorkFolder {
 public:
  static Result<WorkFolder> create(const std::string& parent = {});
  ~WorkFolder();
  WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  WorkFolder& operator=(WorkFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  const std::string& path() const { return path_; }

 private:
  explicit WorkFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace tracesmith::import
