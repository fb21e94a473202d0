// SPDX-License-Identifier: Apache-2.0
// The capturing side of a process that waits to be captured (`tracesmith arm`, control_layout.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/protocol/control_layout.hpp"
#include "tracesmith/capture/protocol/unrecorded_layout.hpp"

namespace tracesmith {

/// The directory of this user's armed processes: $TRACESMITH_CONTROL, else a directory of the
/// user's own, which is created. Errors: another user owns it, or others may write there.
Result<std::string> controlDirectory();
/// Fails unless it is a real directory that only this user can enter.
Status checkControlDirectory(const std::string& path);

/// The mapped page of one process in a control directory. While this object lives nobody else can
/// capture the process.
class ArmedProcess {
 public:
  /// kNotFound: the process is gone, or the file is not (yet) a control page; kInvalidArgument:
  /// another tool captures the process.
  static Result<ArmedProcess> open(const std::string& path);
  ArmedProcess(ArmedProcess&& other) noexcept;
  ArmedProcess& operator=(ArmedProcess&& other) noexcept;
  ~ArmedProcess();

  const std::string& path() const { return path_; }
  uint32_t pid() const { return pid_; }
  uint64_t startTicks() const { return start_ticks_; }
  bool isAlive() const;
  /// Whether the process has executed another program, which does not know of this page.
  bool executedAnother() const;

  using Settings = std::vector<std::pair<std::string, std::string>>;
  /// Asks the process to start capture with `settings`. Fails when they are too long.
  Status begin(const Settings& settings);
  /// Asks the process to end capture.
  void end();
  /// Whether the process has done what was last asked.
  bool hasAnswered() const;
  /// errno of a failure to do so; 0: none.
  int error() const;
  /// The step that failed.
  arena::ArmStep failedStep() const;
  bool isCaptured() const;

 private:
  ArmedProcess() = default;
  void ask(control::CaptureState wanted);

  std::string path_;
  int fd_ = -1;
  control::Page* page_ = nullptr;
  uint32_t pid_ = 0;
  uint64_t start_ticks_ = 0;
};

/// An armed process that is alive. Another tool may have changed its state since.
struct ArmedProcessInfo {
  std::string path;
  uint32_t pid = 0;
  bool is_captured = false;
};
/// The armed processes of a control directory that are alive and in our pid namespace. Removes
/// pages of dead ones.
std::vector<ArmedProcessInfo> listArmed(const std::string& control_directory);

/// A live process that is armed, but in which the agent could not start to wait.
struct UnarmedProcessInfo {
  std::string path;
  uint32_t pid = 0;
  int error = 0;  ///< errno
  arena::ArmStep step{};
};
/// Such processes of a control directory. Removes the files of dead ones.
std::vector<UnarmedProcessInfo> listUnarmed(const std::string& control_directory);

}  // namespace tracesmith
