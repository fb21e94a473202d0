// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all: what was there before stays until the new one is
// complete, and a process that is killed on the way leaves nothing behind.
//
// The bytes go to a file without a name (O_TMPFILE) that is linked to its place at the end. File
// systems that have no such files (NFS, FAT) get one beside the target, "TARGET.part-…"; should
// its process be killed, it is removed at the signal (removeUnfinishedAtSignals()), or by the next
// process that writes TARGET on that machine.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// Whether two names lead to the same file that exists.
bool sameFile(const std::string& a, const std::string& b);

/// Writes the bytes of one file over those of another, for a place that rename() cannot replace (a
/// file that is mounted there). A failure may leave a part of them.
Status copyInPlace(const std::string& from, const std::string& to);

/// For a command: what ends it (SIGINT, SIGTERM, SIGHUP, unless they are ignored or handled) first
/// removes the files beside their targets.
void removeUnfinishedAtSignals();

/// One thread at a time.
class TargetFile {
 public:
  enum class Way : uint8_t { kBest, kNamed };  ///< kNamed: as where O_TMPFILE is not known

  /// Symbolic links at `path` are followed and stay; a file of ours that is there keeps its mode.
  /// Errors: an empty name, "-", what is no regular file (replacing a device or pipe by a file
  /// would break it), what may not be written, and what another user has put there
  /// (output_place.hpp).
  static Result<TargetFile> open(const std::string& path, Way way = Way::kBest);

  TargetFile(TargetFile&& other) noexcept;
  TargetFile& operator=(TargetFile&&) = delete;
  ~TargetFile();  ///< without a successful finish() the target is as before

  int fd() const { return fd_; }
  /// Where this process can open what has been written so far.
  const std::string& place() const { return place_; }
  /// An error of something that wrote to place(), with the name that the user knows.
  Error named(Error error) const;
  /// Closes the file and puts it in its place.
  Status finish();
  /// Closes the file and gives it another name, which must be in the same file system and free.
  /// ErrorCode::kInvalidArgument: something has that name, and the file is as before.
  Status finishAs(const std::string& path);

 private:
  TargetFile() = default;
  bool openNameless(const std::string& directory);
  Status openNamed();
  Status link();
  void discard();

  int fd_ = -1;
  bool exists_ = false;    // the target, when this was opened
  std::string name_;       // the path the user gave
  std::string target_;     // the same with its links followed
  std::string place_;      // "/proc/self/fd/N", or as temporary_
  std::string temporary_;  // a name that is to be removed, or empty
};

}  // namespace tracesmith
