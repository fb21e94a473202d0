// SPDX-License-Identifier: Apache-2.0
// A file that appears complete or not at all. The previous file stays until the new one is
// complete, and a process that is killed leaves nothing behind.
//
// The bytes go to an unnamed file (O_TMPFILE) that is linked to its destination at the end. On file
// systems without unnamed files (NFS, FAT) they go to a file beside the target, "TARGET.part-…". If
// its process is killed, that file is removed by the signal handler (removeUnfinishedAtSignals()),
// or by the next process that writes TARGET on that machine.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// Overwrites one file with the bytes of another, for a destination that rename() cannot replace
/// (such as a mounted file). On failure, part of the bytes may have been written.
Status copyInPlace(const std::string& from, const std::string& to);

/// For commands: a signal that ends the process (SIGINT, SIGTERM, SIGHUP, unless ignored or
/// handled) first removes the unfinished files beside their targets.
void removeUnfinishedAtSignals();

/// Not thread-safe: one thread at a time.
class TargetFile {
 public:  ///< kNamed: as on file systems without O_TMPFILE
  enum class CreationMode : uint8_t { kBest, kNamed };  ///< kNamed: as where O_TMPFILE is not known

  /// Opens a new file for `path`. Symbolic links at `path` are followed and kept; an existing file
  /// of this user keeps its mode. Errors: an empty name; "-"; something other than a regular file
  /// (replacing a device or pipe by a file would break it); no write permission; a file placed
  /// there by another user (output_place.hpp).
  static Result<TargetFile> open(const std::string& path, CreationMode way = CreationMode::kBest);

  TargetFile(TargetFile&& other) noexcept;
  TargetFile& operator=(TargetFile&&) = delete;
  ~TargetFile();  ///< unless finish() succeeded, the target is unchanged

  int fd() const { return fd_; }
  /// A path at which this process can open what has been written so far.
  const std::string& place() const { return place_; }
  /// Rewrites an error from code that wrote to place(), so that it has the path the user knows.
  Error named(Error error) const;
  /// Closes the file and moves it to the target.
  Status finish();
  /// Closes the file and gives it another name, which must be unused and in the same file system.
  /// ErrorCode::kInvalidArgument: the name is in use; the file is then unchanged.
  Status finishAs(const std::string& path);

 private:
  TargetFile() = default;
  bool openNameless(const std::string& directory);
  Status openNamed();
  Status link();
  void discard();

  int fd_ = -1;
  bool exists_ = false;    // whether the target existed when this was opened
  std::string name_;       // the path the user gave
  std::string target_;     // name_ with its links followed
  std::string place_;      // "/proc/self/fd/N", or temporary_
  std::string temporary_;  // a name that must be removed; or empty
};

}  // namespace tracesmith
