// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/core/session_folder.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith::agent {
namespace {

/// True if a new kind of system call cannot kill the program: it has no seccomp filter, or the
/// directory is another user's, so that the process is not in its owner's sandbox.
bool maySend(const char* session) {
  struct stat s;
  if (stat(session, &s) == 0 && s.st_uid != geteuid()) return true;
  return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0;
}

void sendUnrecorded(const char* session, int error, arena::ArmStep step, const char* suffix) {
  if (!maySend(session)) return;
  const arena::UnrecordedMessage message = {arena::kUnrecordedMagic, error,
                                            static_cast<uint32_t>(step),
                                            strcmp(suffix, arena::kUnrecordedSuffix) != 0, 0};
  sockaddr_un to;
  const socklen_t bytes = arena::unrecordedAddress(session, to);
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  sendto(fd, &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL,
         reinterpret_cast<const sockaddr*>(&to), bytes);
  close(fd);
}

}  // namespace

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
  if (fd >= 0) {
    close(fd);
  } else {
    sendUnrecorded(session, error, step, suffix);
  }
}

}  // namespace tracesmith::agent
