// SPDX-License-Identifier: Apache-2.0
// Starts the program to be recorded so that it notices no difference. Standard streams, working
// directory, signals and exit code are as in a direct start; only a few environment variables are
// added.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// How a program ended.
struct ExitStatus {
  int exit_code = 0;  ///< the program's, or 128 + signal
  int signal = 0;
};

class Launcher {
 public:
  /// Starts `command` (argv; found on PATH as a shell does) with `environment` added to ours.
  /// `before_exec` is called when the process is there and before it becomes the program; if it
  /// fails, nothing was started.
  /// Errors: kNotFound (no such command), kPermission (not executable), other codes (cannot be
  /// started).
  static Result<Launcher> start(const std::vector<std::string>& command,
                                const std::vector<std::pair<std::string, std::string>>& environment,
                                const std::function<Status(pid_t)>& before_exec = {});

  pid_t pid() const { return pid_; }
  /// Its exit status once it has ended; does not wait.
  std::optional<ExitStatus> poll();
  void send(int signal) const;

 private:
  explicit Launcher(pid_t pid) : pid_(pid) {}
  pid_t pid_;
  std::optional<ExitStatus> status_;
};

/// Replaces this process by a program, as Launcher starts one. Returns only if that fails.
Error execProgram(const std::vector<std::string>& command,
                  const std::vector<std::pair<std::string, std::string>>& environment);

/// While this object lives, SIGINT, SIGTERM and SIGHUP do not end this process. They are counted,
/// and passed on to the program unless the terminal has already sent them to it. Create it before
/// the session and before any threads. Signals are held back until follow(), so that none arrives
/// while there is half a session and no program to stop.
class SignalRelay {
 public:
  SignalRelay();
  ~SignalRelay();
  void follow(const Launcher& program);
  /// Takes the signals for this process only; none is passed on.
  void followNobody();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;
  /// Number of stop signals so far.
  int stops() const;
};

/// While this object lives, a file that reaches RLIMIT_FSIZE causes an error instead of a fatal
/// signal.
class FileSizeSignalIgnored {
 public:
  FileSizeSignalIgnored();
  ~FileSizeSignalIgnored();
  FileSizeSignalIgnored(const FileSizeSignalIgnored&) = delete;
  FileSizeSignalIgnored& operator=(const FileSizeSignalIgnored&) = delete;
};

/// Path of the agent library `file_name`: in $TRACESMITH_AGENT_DIR, or in lib/tracesmith beside our
/// executable's directory, or in the installed directory. kNotFound names the places.
Result<std::string> findAgentLibrary(const std::string& file_name);

/// Environment variable naming the library that the CUDA driver loads in cuInit().
constexpr const char* kCudaInjection = "CUDA_INJECTION64_PATH";
/// Environment variable naming the library that a program with NVTX loads: the same agent.
constexpr const char* kNvtxInjection = "NVTX_INJECTION64_PATH";
constexpr const char* kCudaAgent = "libtracesmith-cuda.so";

/// True when the installed OpenCL ICD loader knows OPENCL_LAYERS.
bool icdLoaderHasLayers();

}  // namespace tracesmith
