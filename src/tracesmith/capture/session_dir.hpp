// SPDX-License-Identifier: Apache-2.0
// The directory beside the output in which the arenas of a session live ("out.sbt.session").
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// What `recover` must know of a session; kept in the directory as lines "name=value".
struct SessionInfo {
  std::string output;        // absolute path of the trace
  std::string command_line;  // as text for people
  uint32_t root_pid = 0;
  // What was asked to be left out of the trace; a directory of an older version does not say.
  bool keep_kernels = true;
  bool keep_memory = true;
  int64_t shortest_call_ns = 0;
};

/// While it (or a copy of it) lives and this process does, nobody else can have the same directory:
/// two collectors would write one file.
class SessionDir {
 public:
  /// Makes the directory for `output`. A directory of that name left by a session that died is not
  /// touched when it holds arenas: the error says how to recover it.
  static Result<SessionDir> create(const std::string& output);
  /// An existing one that nobody uses, by its path. One whose session.txt was never written is
  /// known by its name.
  static Result<SessionDir> open(const std::string& path);

  const std::string& path() const { return path_; }
  const SessionInfo& info() const { return info_; }
  Status writeInfo(const SessionInfo& info);
  std::string processLog() const { return path_ + "/processes.log"; }

  /// Full paths of the arenas that are there now.
  std::vector<std::string> arenas() const;
  /// Of what CUDA agents share with the collector beside their arenas.
  std::vector<std::string> cudaFiles() const;
  /// Of the channels of processes that are recorded for replay.
  std::vector<std::string> channels() const;
  /// Processes that could not make an arena.
  struct Unrecorded {
    uint32_t pid = 0;
    int error = 0;  ///< errno
  };
  std::vector<Unrecorded> unrecorded() const;
  /// Processes that could not make a channel.
  std::vector<Unrecorded> unchanneled() const;
  /// Removes the directory and the files of ours in it.
  void remove();
  /// False for one whose collector was killed before it had written down what it is.
  bool begun() const { return begun_; }

 private:
  class Lock;
  Status lock();
  std::vector<std::string> withSuffix(const char* suffix) const;
  std::vector<Unrecorded> reported(const char* suffix) const;
  void removeFiles() const;

  std::shared_ptr<const Lock> lock_;
  std::string path_;
  SessionInfo info_;
  bool begun_ = true;
};

}  // namespace tracesmith
