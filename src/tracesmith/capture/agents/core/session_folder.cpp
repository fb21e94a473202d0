// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/core/session_folder.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

namespace tracesmith::agent {

SessionFolder::SessionFolder(const char* path)
    : fd_(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

SessionFolder::~SessionFolder() {
  const int before = errno;
  if (fd_ >= 0) close(fd_);
  errno = before;
}

void reportUnrecorded(const char* session, int error, arena::ArmStep step, const char* suffix) {
  FileName name;
  snprintf(name, sizeof name, "%d.%d.%d%s", getpid(), error, static_cast<int>(step), suffix);
  const SessionFolder folder(session);
  const int fd = openat(folder.fd(), name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0) close(fd);
}

}  // namespace tracesmith::agent
