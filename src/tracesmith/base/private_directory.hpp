// SPDX-License-Identifier: Apache-2.0
// A directory that only its user can write to. Programs and the collector share files in it, so a
// file that another user had put there would be believed, or written through.
//
// Files in it are opened by the directory's descriptor and never through a symbolic link: whoever
// can rename the directory cannot make us write elsewhere.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// Opens `path`; with a `directory` other than AT_FDCWD the last part of `path` in that directory.
/// Never follows a symbolic link in the last part. Returns the descriptor, or -1 with errno.
int openWithin(int directory, const std::string& path, int flags);

/// Copies share the descriptor. Any thread.
class PrivateDirectory {
 public:
  PrivateDirectory() = default;
  /// Makes the directory with mode 0700. One that is there already is accepted only if it is a real
  /// directory of this user that no other user may write to. Its mode stays: see closeToOthers().
  static Result<PrivateDirectory> makeOrOpen(const std::string& path, bool& made);
  /// Opens one that is there, with the same conditions.
  static Result<PrivateDirectory> open(const std::string& path);

  int fd() const { return handle_ ? handle_->fd : -1; }
  /// Gives it mode 0700. For the caller that has seen what is in it, and takes it for its own.
  Status closeToOthers() const;
  /// False where the directory has been removed or renamed: something else, or nothing, has its
  /// path now.
  bool isAtItsPath() const;
  /// Makes a file that was not there, for reading and writing with mode 0600. Removes a file or
  /// link of that name first. Returns a descriptor that the caller closes.
  Result<int> createFile(const std::string& name) const;
  std::vector<std::string> names() const;
  bool has(const std::string& name) const;
  void removeFile(const std::string& name) const;

 private:
  struct Handle {
    explicit Handle(int f) : fd(f) {}
    ~Handle();
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    int fd;
  };
  static Result<PrivateDirectory> openChecked(const std::string& path, bool made);

  std::shared_ptr<const Handle> handle_;
  std::string path_;
};

}  // namespace tracesmith
