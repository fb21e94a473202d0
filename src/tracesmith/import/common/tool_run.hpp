// SPDX-License-Identifier: Apache-2.0
// Runs a vendor's tool to convert a file that only that tool can read.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith::import {

/// Path of the executable `name` on PATH; "" if there is none.
std::string findTool(const std::string& name);

/// Runs `command` (argv, where [0] is a path) without input and waits for it. The error of a failed
/// run contains the last lines of the output; otherwise the output is discarded.
Status runTool(const std::vector<std::string>& command);

/// Reads everything from `fd` and returns the last part, for the error of a failed tool.
std::string lastOutputOf(int fd);

/// A new directory below `parent` ("": the directory for temporary files), removed with its
/// content.
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
