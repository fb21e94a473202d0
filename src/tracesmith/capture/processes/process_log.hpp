// SPDX-License-Identifier: Apache-2.0
// Reads the log that the preload library keeps, while it is being written. Programs may leave
// anything in it (a full disk cuts a record): what is damaged is skipped and counted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/protocol/process_log_layout.hpp"

namespace tracesmith {

/// A program that started, or a process that forked, as it told us itself.
struct LoggedProcess {
  process_log::Kind kind = process_log::Kind::kExec;
  uint32_t pid = 0;  ///< in its own pid namespace
  uint32_t parent_pid = 0;
  uint64_t start_ticks = 0;
  int64_t time_ns = 0;  ///< CLOCK_MONOTONIC, when it said so: after the exec or fork
  uint64_t pid_namespace = 0;
  std::string command_line;  ///< quoted for a shell
  std::string executable;
  uint64_t offset = 0;  ///< of the record in the file, for ProcessLogReader::exitOf()
};

struct LoggedExit {
  int64_t time_ns = 0;
  int status = 0;  ///< what was given to exit(3), & 0xff
};

class ProcessLogReader {
 public:
  using Callback = std::function<void(const LoggedProcess&)>;

  /// Creates the file (for its owner only) when it is not there.
  static Result<ProcessLogReader> open(const std::string& path);
  ProcessLogReader(ProcessLogReader&& other) noexcept;
  ProcessLogReader& operator=(ProcessLogReader&& other) noexcept;
  ~ProcessLogReader();

  /// Hands over the records that are new since the last call; returns how many.
  Result<size_t> drain(const Callback& callback);
  /// What the process wrote into its record when it left through exit(3), if it did.
  std::optional<LoggedExit> exitOf(uint64_t offset) const;

  /// Stretches of the file that are no record.
  uint64_t damaged() const { return damaged_; }

 private:
  explicit ProcessLogReader(int fd) : fd_(fd) {}

  int fd_ = -1;
  uint64_t position_ = 0;  // everything before has been handed over or counted as damaged
  uint64_t damaged_ = 0;
};

/// Decodes as many records of `bytes` as are whole. `consumed`: where an unfinished record begins
/// (or bytes.size()); `damaged` counts the stretches that were skipped.
size_t decodeProcessLog(ByteView bytes, const ProcessLogReader::Callback& callback,
                        size_t& consumed, uint64_t& damaged);

}  // namespace tracesmith
