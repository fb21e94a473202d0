// SPDX-License-Identifier: Apache-2.0
// The directory beside the output that holds the files of a running session ("out.sbt.session").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/base/linux/private_directory.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/protocol/unrecorded_layout.hpp"
#include "tracesmith/capture/session_directory/session_info.hpp"

namespace tracesmith {

/// While this object (or a copy) and its process live, no other process can use the directory: two
/// collectors would write one file.
class SessionDir {
 public:
  /// Creates the directory for `output`, which must be a writable regular file of this user, or not
  /// exist. A directory left by a dead session stays untouched if it has records or an unreadable
  /// trace; the error then says what to do.
  static Result<SessionDir> create(const std::string& output);
  /// Opens an existing directory that nobody uses. Its path must end in ".session"; the part before
  /// that is the output, whatever session.txt says.
  static Result<SessionDir> open(const std::string& path);

  /// Where create() has the directory of an output.
  static std::string pathFor(const std::string& output);

  const std::string& path() const { return path_; }
  const SessionInfo& info() const { return info_; }
  /// Writes session.txt. The output, the id and the entries about replaced files are not changed.
  Status writeInfo(const SessionInfo& info);
  /// Path of the trace until it is finished, and of the recording beside it.
  std::string tracePath() const { return path_ + "/trace.sbt"; }
  std::string recordingPath() const { return path_ + "/trace.sbr"; }
  const PrivateDirectory& files() const { return files_; }
  std::string processLog() const { return path_ + "/processes.log"; }

  /// Full paths of the current arenas.
  std::vector<std::string> arenas() const;
  /// Full paths of the files that CUDA agents share with the collector, in addition to arenas.
  std::vector<std::string> cudaFiles() const;
  /// Full paths of the channels of processes that are recorded for replay.
  std::vector<std::string> channels() const;
  /// Processes that could not create an arena, or can no longer write to theirs.
  struct Unrecorded {
    uint32_t pid = 0;
    int error = 0;  ///< errno
    arena::ArmStep step{};
  };
  std::vector<Unrecorded> unrecorded() const;
  /// The same for channels.
  std::vector<Unrecorded> unchanneled() const;
  /// Whether the process has given up this file (arena::kGivenUpMode). Keep such a file: nothing
  /// else tells that.
  bool isGivenUp(const std::string& name) const;
  /// Removes our files in the directory, and the directory.
  void remove();
  /// False when the collector was killed before it had written session.txt.
  bool begun() const { return begun_; }

 private:
  Status lock();
  /// Fails when an existing directory has records that are nowhere else, or files that were not
  /// created by a session of this version.
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
