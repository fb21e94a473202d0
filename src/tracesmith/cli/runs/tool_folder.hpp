// SPDX-License-Identifier: Apache-2.0
// A folder for another tool's output, and functions that run such tools.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/capture/processes/launcher.hpp"

namespace tracesmith::cli {

/// A temporary folder beside a file that will be written. The destructor deletes it with its
/// content.
class ToolFolder {
 public:
  static Result<ToolFolder> beside(const std::string& file);
  ~ToolFolder();
  ToolFolder(ToolFolder&& other) noexcept;
  ToolFolder& operator=(ToolFolder&&) = delete;

  const std::string& path() const { return path_; }
  /// Keeps `part` of the folder ("": all of it) under an unused name, `name` if possible.
  Result<std::string> keepAs(const std::string& part, const std::string& name);

 private:
  explicit ToolFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// The first executable of `places` (a plain name is looked up on PATH); "" if there is none.
std::string findExecutable(const std::vector<std::string>& places);

/// Runs `command` with this process's standard streams. Stop signals are passed to it, as in any
/// recording.
Result<ExitStatus> runToTheEnd(const std::vector<std::string>& command);
/// Runs `command` without input; its output goes to `log`. If it fails, the error has the end of
/// its output.
Status runSilently(const std::vector<std::string>& command, const std::string& log);

}  // namespace tracesmith::cli
