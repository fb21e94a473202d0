// SPDX-License-Identifier: Apache-2.0
// Starts the program to be recorded so that it notices nothing: its own standard streams, working
// directory, signals and exit code; only a few environment variables are added.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// How a program ended.
struct ExitStatus {
  int exit_code = 0;  ///< its own, or 128 + signal
  int signal = 0;
};

class Launcher {
 public:
  /// Starts `command` (argv; found on PATH as a shell does) with `environment` added to ours.
  /// Errors: kNotFound (no such command), kPermission (not executable), anything else (no start).
  static Result<Launcher> start(
      const std::vector<std::string>& command,
      const std::vector<std::pair<std::string, std::string>>& environment);

  pid_t pid() const { return pid_; }
  /// Its exit status once it has ended; never waits.
  std::optional<ExitStatus> poll();
  void send(int signal) const;

 private:
  explicit Launcher(pid_t pid) : pid_(pid) {}
  pid_t pid_;
  std::optional<ExitStatus> status_;
};

/// While it lives, SIGINT, SIGTERM and SIGHUP do not end us: they are noted, and passed on to the
/// program unless the terminal has sent them to it already. Make it before the session, and before
/// threads: until follow() they wait, so that none finds us with half a session and no program to
/// stop.
class SignalRelay {
 public:
  SignalRelay();
  ~SignalRelay();
  void follow(const Launcher& program);
  /// They are for us alone.
  void followNobody();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;
  /// How many stop signals have come so far.
  int stops() const;
};

/// While it lives, a file that hits RLIMIT_FSIZE gives an error, not a signal that ends us.
class FileSizeSignalIgnored {
 public:
  FileSizeSignalIgnored();
  ~FileSizeSignalIgnored();
  FileSizeSignalIgnored(const FileSizeSignalIgnored&) = delete;
  FileSizeSignalIgnored& operator=(const FileSizeSignalIgnored&) = delete;
};

/// Directory of the agents' libraries: $TRACESMITH_AGENT_DIR, or lib/tracesmith beside our
/// executable's directory, or the installed one. kNotFound names the places.
Result<std::string> findAgentLibrary(const std::string& file_name);

/// What names the library that the CUDA driver loads within cuInit().
constexpr const char* kCudaInjection = "CUDA_INJECTION64_PATH";
/// What names the library that a program with NVTX loads; the same agent.
constexpr const char* kNvtxInjection = "NVTX_INJECTION64_PATH";
constexpr const char* kCudaAgent = "libtracesmith-cuda.so";

/// True when the installed OpenCL ICD loader knows OPENCL_LAYERS.
bool icdLoaderHasLayers();

}  // namespace tracesmith
