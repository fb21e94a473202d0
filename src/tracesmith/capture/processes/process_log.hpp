// SPDX-License-Identifier: Apache-2.0
// Reads the preload library's log while it is being written. Programs may write anything to it, and
// a full disk may cut a record: damaged parts are skipped and counted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/protocol/process_log_layout.hpp"

namespace tracesmith {

/// A program that started or a process that forked, as it logged itself.
struct LoggedProcess {
  process_log::Kind kind = process_log::Kind::kExec;
  uint32_t pid = 0;  ///< in its own pid namespace
  uint32_t parent_pid = 0;
  uint64_t start_ticks = 0;
  int64_t time_ns = 0;  ///< CLOCK_MONOTONIC of the record: after the exec or fork
  uint64_t pid_namespace = 0;
  std::string command_line;  ///< quoted for a shell
  std::string executable;
  uint64_t offset = 0;  ///< of the record in the file, for ProcessLogReader::exitOf()
};

struct LoggedExit {
  int64_t time_ns = 0;
  int status = 0;  ///< argument of exit(3), & 0xff
};

class ProcessLogReader {
 public:
  using Callback = std::function<void(const LoggedProcess&)>;

  /// Creates the file, accessible only by its owner, if it does not exist.
  static Result<ProcessLogReader> open(const std::string& path);
  ProcessLogReader(ProcessLogReader&& other) noexcept;
  ProcessLogReader& operator=(ProcessLogReader&& other) noexcept;
  ~ProcessLogReader();

  /// Passes on the records added since the last call; returns their number.
  Result<size_t> drain(const Callback& callback);
  /// The exit that the process wrote to its record in exit(3), if it did.
  std::optional<LoggedExit> exitOf(uint64_t offset) const;

  /// Number of damaged parts of the file.
  uint64_t damaged() const { return damaged_; }

 private:
  explicit ProcessLogReader(int fd) : fd_(fd) {}

  int fd_ = -1;
  uint64_t position_ = 0;  // everything before is passed on or counted as damaged
  uint64_t damaged_ = 0;
};

/// Decodes the complete records of `bytes`. Sets `consumed` to the start of the unfinished record,
/// or to bytes.size(). Adds the number of skipped parts to `damaged`.
size_t decodeProcessLog(ByteView bytes, const ProcessLogReader::Callback& callback,
                        size_t& consumed, uint64_t& damaged);

}  // namespace tracesmith
