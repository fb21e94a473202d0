// SPDX-License-Identifier: Apache-2.0
// The directory beside the output in which the arenas of a session live ("out.sbt.session").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/base/private_directory.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/protocol/unrecorded_layout.hpp"
#include "tracesmith/capture/session_directory/session_info.hpp"

namespace tracesmith {

/// While it (or a copy of it) lives and this process does, nobody else can have the same directory:
/// two collectors would write one file.
class SessionDir {
 public:
  /// Makes the directory for `output`, which must be writable, a regular file, and not another
  /// user's. A directory of that name left by a session that died is not touched when it holds
  /// records, or a trace that cannot be read: the error says what to do.
  static Result<SessionDir> create(const std::string& output);
  /// Opens an existing one that nobody uses. Its path must end in ".session": what is before that
  /// is the output, whatever session.txt says.
  static Result<SessionDir> open(const std::string& path);

  const std::string& path() const { return path_; }
  const SessionInfo& info() const { return info_; }
  /// Writes session.txt. The output, the id and what the output replaces stay as they are.
  Status writeInfo(const SessionInfo& info);
  /// Where the trace is written until it is finished, and the recording beside it.
  std::string tracePath() const { return path_ + "/trace.sbt"; }
  std::string recordingPath() const { return path_ + "/trace.sbr"; }
  const PrivateDirectory& files() const { return files_; }
  std::string processLog() const { return path_ + "/processes.log"; }

  /// Full paths of the arenas that are there now.
  std::vector<std::string> arenas() const;
  /// Of what CUDA agents share with the collector beside their arenas.
  std::vector<std::string> cudaFiles() const;
  /// Of the channels of processes that are recorded for replay.
  std::vector<std::string> channels() const;
  /// Processes that could not make an arena, or can write theirs no more.
  struct Unrecorded {
    uint32_t pid = 0;
    int error = 0;  ///< errno
    arena::ArmStep step{};
  };
  std::vector<Unrecorded> unrecorded() const;
  /// The same of channels.
  std::vector<Unrecorded> unchanneled() const;
  /// The process has given up this file (arena::kGivenUpMode). Keep it: it is the only word of
  /// that.
  bool isGivenUp(const std::string& name) const;
  /// Removes the directory and the files of ours in it.
  void remove();
  /// False for one whose collector was killed before it had written down what it is.
  bool begun() const { return begun_; }

 private:
  Status lock();
  /// Fails when a directory that was there already has records that are nowhere else, or files that
  /// no session of this version has made.
  Status checkLeftover() const;
  std::vector<std::string> withSuffix(const char* suffix) const;
  std::vector<Unrecorded> reported(const char* suffix, const char* file_suffix) const;
  void removeFiles() const;

  PrivateDirectory files_;  // holds the lock
  std::string path_;
  SessionInfo info_;
  bool begun_ = true;
};

}  // namespace tracesmith
