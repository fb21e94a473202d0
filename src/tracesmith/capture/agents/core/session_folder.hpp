// SPDX-License-Identifier: Apache-2.0
// The session directory as agents use it. They open it for each use, because a program may close
// descriptors that it does not know. They address files by short names relative to it, so a path of
// any legal length needs no buffer on the stack of a program's thread.
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/capture/protocol/unrecorded_layout.hpp"

namespace tracesmith::agent {

/// Size of a buffer for the path of a session, NUL included.
constexpr size_t kPathBytes = PATH_MAX;
/// The name of a file in the session directory.
using FileName = char[96];

/// Open during its lifetime.
class SessionFolder {
 public:
  explicit SessionFolder(const char* path);
  ~SessionFolder();
  SessionFolder(const SessionFolder&) = delete;
  SessionFolder& operator=(const SessionFolder&) = delete;
  /// For openat() and the like; -1: opening failed, the constructor set errno.
  int fd() const { return fd_; }

 private:
  int fd_;
};

/// Reports to the collector that this process is not recorded, and why: by a file, or by a message
/// if no file can be created.
void reportUnrecorded(const char* session, int error, arena::ArmStep step, const char* suffix);

}  // namespace tracesmith::agent
