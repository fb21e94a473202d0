// SPDX-License-Identifier: Apache-2.0
// A folder for what another tool writes, and running such tools.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/capture/processes/launcher.hpp"

namespace tracesmith::cli {

/// Lies beside a file that is to be written, and goes with all that is in it, unless it is kept.
class ToolFolder {
 public:
  static Result<ToolFolder> beside(const std::string& file);
  ~ToolFolder();
  ToolFolder(ToolFolder&& other) noexcept;
  ToolFolder& operator=(ToolFolder&&) = delete;

  const std::string& path() const { return path_; }
  /// Leaves `part` of it ("": all) behind under a name that is still free, `name` if possible.
  Result<std::string> keepAs(const std::string& part, const std::string& name);

 private:
  explicit ToolFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// The first of `places` (a name is looked for on PATH) that can be executed; "": none.
std::string findExecutable(const std::vector<std::string>& places);

/// Runs `command` with our streams; signals to stop go to it, as in any recording.
Result<ExitStatus> runToTheEnd(const std::vector<std::string>& command);
/// Runs `command` without input; what it says goes to `log`. Error: it failed, with its last words.
Status runSilently(const std::vector<std::string>& command, const std::string& log);

}  // namespace tracesmith::cli
