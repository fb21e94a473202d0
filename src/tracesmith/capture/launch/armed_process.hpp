// SPDX-License-Identifier: Apache-2.0
// The other side of a process that waits to be captured (`tracesmith arm`, control_layout.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/protocol/control_layout.hpp"
#include "tracesmith/capture/protocol/unrecorded_layout.hpp"

namespace tracesmith {

/// Where armed processes of this user are found: $TRACESMITH_CONTROL, else a directory of the
/// user's own, which is made. Errors: it belongs to somebody else, or others may write there.
Result<std::string> controlDirectory();
/// Fails unless it is a real directory that only this user can enter.
Status checkControlDirectory(const std::string& path);

/// A page in a control directory, mapped. While it lives nobody else can capture the process.
class ArmedProcess {
 public:
  /// kNotFound: the process is gone, or the page is not (yet) one; kInvalidArgument: somebody else
  /// captures it.
  static Result<ArmedProcess> open(const std::string& path);
  ArmedProcess(ArmedProcess&& other) noexcept;
  ArmedProcess& operator=(ArmedProcess&& other) noexcept;
  ~ArmedProcess();

  const std::string& path() const { return path_; }
  uint32_t pid() const { return pid_; }
  uint64_t startTicks() const { return start_ticks_; }
  bool isAlive() const;
  /// It runs another program now, which knows nothing of this.
  bool executedAnother() const;

  using Settings = std::vector<std::pair<std::string, std::string>>;
  /// Asks it to begin with `settings`. Fails when they are too long.
  Status begin(const Settings& settings);
  /// Asks it to end.
  void end();
  /// It has done what it was asked for last.
  bool hasAnswered() const;
  /// errno that kept it from doing so; 0: none.
  int error() const;
  /// What could not be done then.
  arena::ArmStep failedStep() const;
  bool isCaptured() const;

 private:
  ArmedProcess() = default;
  void ask(control::Wish wish);

  std::string path_;
  int fd_ = -1;
  control::Page* page_ = nullptr;
  uint32_t pid_ = 0;
  uint64_t start_ticks_ = 0;
};

/// One that is alive; what other tools make of it may have changed since.
struct ArmedProcessInfo {
  std::string path;
  uint32_t pid = 0;
  bool is_captured = false;
};
/// Those in a control directory that live in our pid namespace. Removes pages of dead ones.
std::vector<ArmedProcessInfo> listArmed(const std::string& control_directory);

/// One that is alive and armed, and in which the agent cannot wait.
struct UnarmedProcessInfo {
  std::string path;
  uint32_t pid = 0;
  int error = 0;  ///< errno
  arena::ArmStep step{};
};
/// Those in a control directory. Removes the files of dead ones.
std::vector<UnarmedProcessInfo> listUnarmed(const std::string& control_directory);

}  // namespace tracesmith
