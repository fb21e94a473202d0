// SPDX-License-Identifier: Apache-2.0
// The session directory as agents use it: opened for each use (a program may close descriptors that
// it does not know), and its files by their short names, so that no path of any legal length needs
// a buffer on the stack of a thread of the program.
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/capture/protocol/unrecorded_layout.hpp"

namespace tracesmith::agent {

/// Room for the path of a session, its NUL included.
constexpr size_t kPathBytes = PATH_MAX;
/// The name of a file there, without its directory.
using FileName = char[96];

/// Open while it lives.
class SessionFolder {
 public:
  explicit SessionFolder(const char* path);
  ~SessionFolder();
  SessionFolder(const SessionFolder&) = delete;
  SessionFolder& operator=(const SessionFolder&) = delete;
  /// For openat() and the like; -1: it could not be opened, errno said why.
  int fd() const { return fd_; }

 private:
  int fd_;
};

/// Tells the collector that this process goes unrecorded, and why: by a file, or by a message where
/// no file can be made there.
void reportUnrecorded(const char* session, int error, arena::ArmStep step, const char* suffix);

}  // namespace tracesmith::agent
