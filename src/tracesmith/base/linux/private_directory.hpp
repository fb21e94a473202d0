// SPDX-License-Identifier: Apache-2.0
// A directory that only its user can write to. Programs and the collector share files in it. A file
// placed there by another user would be trusted, or written through.
//
// Files in it are opened relative to the directory's descriptor and never through a symbolic link,
// so that renaming the directory cannot make us write elsewhere.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// Opens `path`; if `directory` is not AT_FDCWD, opens the last part of `path` in that directory.
/// Never follows a symbolic link in the last part. Returns the descriptor, or -1 with errno.
int openWithin(int directory, const std::string& path, int flags);

/// Copies share the descriptor. Any thread may use it.
class PrivateDirectory {
 public:
  PrivateDirectory() = default;
  /// Creates the directory with mode 0700. An existing one is accepted only if it is a real
  /// directory of this user that no other user may write to. Its mode is not changed; see
  /// closeToOthers().
  static Result<PrivateDirectory> makeOrOpen(const std::string& path, bool& made);
  /// Opens an existing directory, under the same conditions.
  static Result<PrivateDirectory> open(const std::string& path);

  int fd() const { return handle_ ? handle_->fd : -1; }
  /// Sets mode 0700. Call this once the content was checked and the directory is to be used.
  Status closeToOthers() const;
  /// False if the directory was removed or renamed, so that its path has something else or nothing.
  bool isAtItsPath() const;
  /// Creates a new file for reading and writing with mode 0600, after removing any file or link
  /// with that name. Returns a descriptor that the caller closes.
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
